/** Builds sources in a club's index of agents' material, and their passages. */
import type { Language } from '../../../entities/clubs/values.ts';
import type { SourceStatus } from '../../../entities/knowledge/values.ts';
import { storedWords } from '../../../domain/knowledge/indexing/passage-words.policy.ts';
import { readerVersion } from '../../../domain/knowledge/indexing/indexing.policy.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildClub } from './clubs.ts';
import { buildCourse, buildLesson } from './courses.ts';
import { buildMedia } from './media.ts';

export interface TestSource {
  id: Id;
  clubId: Id;
  lessonId: Id | null;
  mediaId: Id | null;
}

/** A string is a passage with only this text. */
export type NewPassage =
  | string
  | {
      text: string;
      headings?: string[];
      page?: number | null;
      /** Leaves the column `words` null, as an old release did. */
      isFormer?: boolean;
    };

interface SourceOptions {
  lessonId?: Id;
  mediaId?: Id;
  title?: string;
  status?: Extract<SourceStatus, 'ready' | 'pending'>;
  passages?: readonly NewPassage[];
}

/** A lesson or file in the index, by default a new file. If the source is pending, its reading is due. */
export async function buildSource(
  clubId: Id,
  { lessonId, mediaId: given, title = 'Handbook', status = 'ready', passages = [] }: SourceOptions = {},
): Promise<TestSource> {
  const source = await testDatabase();
  const id = newId();
  const mediaId = lessonId === undefined ? (given ?? (await buildMedia(clubId, { title })).id) : null;
  const dueAt = new Date(Date.now() - 1_000);
  await source.query(
    `INSERT INTO agent_sources (id, club_id, kind, lesson_id, media_id, title, status, indexed_version, looks_at, created_at, updated_at, reader_version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11)`,
    [
      id,
      clubId,
      mediaId === null ? 'lesson' : 'media',
      lessonId ?? null,
      mediaId,
      title,
      status,
      status === 'ready' ? 1 : 0,
      status === 'pending' ? dueAt : null,
      dueAt,
      status === 'ready' ? readerVersion : 0,
    ],
  );
  if (passages.length > 0) await buildPassages({ id, clubId }, passages, title);
  return { id, clubId, lessonId: lessonId ?? null, mediaId };
}

/** Inserts passages into a source in one statement, as indexing does. A passage is on page 1 and in the club's language by default. */
export async function buildPassages(
  { id: sourceId, clubId }: Pick<TestSource, 'id' | 'clubId'>,
  passages: readonly NewPassage[],
  title = 'Handbook',
): Promise<void> {
  const source = await testDatabase();
  const rows = passages.map((passage, position) => {
    const {
      text,
      headings = [],
      page = 1,
      isFormer = false,
    }: Exclude<NewPassage, string> = typeof passage === 'string' ? { text: passage } : passage;
    const words = isFormer ? null : [title, headings.join(' '), text].map(storedWords);
    return { id: newId(), position, page, headings, blocks: [text], text, words };
  });
  await source.query(
    `INSERT INTO agent_passages (id, source_id, club_id, position, page, title, headings, blocks, text, words, language)
     SELECT id, $1, $2, position, page, $3, headings, blocks, text, words, (SELECT language FROM clubs WHERE id = $2)
       FROM jsonb_to_recordset($4::jsonb) AS row (id uuid, position int, page int, headings text[], blocks text[], text text, words text[])`,
    [sourceId, clubId, title, JSON.stringify(rows)],
  );
  await source.query(
    `UPDATE agent_sources SET passage_count = (SELECT count(*) FROM agent_passages WHERE source_id = $1) WHERE id = $1`,
    [sourceId],
  );
}

/** A published lesson of a new club. It is in the index, and its reading is due. */
export async function buildLessonSource(content: string, language: Language = 'en'): Promise<TestSource> {
  const { id: clubId } = await buildClub({ language });
  const course = await buildCourse(clubId, { modules: 1, lessons: 0 });
  const lesson = await buildLesson(course, { position: 0, title: 'Knots for all', content });
  return buildSource(clubId, { lessonId: lesson.id, status: 'pending' });
}

/**
 * A file in the library of a new club. It is in the index, and its reading is due. @param bytes the content in the store; null if the store
 * does not contain the file
 */
export async function buildFileSource(
  bytes: Uint8Array | string | null,
  { sizeBytes }: { sizeBytes?: number } = {},
): Promise<TestSource> {
  const { id: clubId } = await buildClub();
  const media = await buildMedia(clubId, {
    title: 'The handbook',
    bytes,
    ...(bytes === null && { sizeBytes: 4 }),
    ...(sizeBytes !== undefined && { sizeBytes }),
  });
  return buildSource(clubId, { mediaId: media.id, status: 'pending' });
}
