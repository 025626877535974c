/** Agents with indexed material, for tests of what is found in it: rows as indexing leaves them. */
import type { Language } from '../../../domain/agents/agents.policy.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** A passage, or a text alone. */
export type NewPassage = string | { text: string; headings?: string[]; page?: number | null };

export interface IndexedFile {
  id: Id;
  sourceId: Id;
}

/** An agent, published, without material. */
export async function buildAgent(clubId: Id): Promise<Id> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, 'Knot Helper', 'published', 20, 1000, now(), now())`,
    [id, clubId, id.slice(-12)],
  );
  return id;
}

/** A file of the library that is indexed, and no agent's material yet. Passages are on page 1, unless told. */
export async function buildIndexedFile(
  clubId: Id,
  title: string,
  passages: readonly NewPassage[],
): Promise<IndexedFile> {
  const source = await testDatabase();
  const file = { id: newId(), sourceId: newId() };
  await source.query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
     VALUES ($1, $2, 'library', 'document', $3, 'objstore', 'ready', now(), now())`,
    [file.id, clubId, title],
  );
  await addSource(clubId, file.sourceId, 'media', file.id, title);
  await addPassages(clubId, file.sourceId, title, passages);
  return file;
}

/** A lesson's row in the index. @returns the source's id */
export async function buildIndexedLesson(clubId: Id, lessonId: Id, passages: readonly NewPassage[]): Promise<Id> {
  const sourceId = newId();
  await addSource(clubId, sourceId, 'lesson', lessonId, 'A lesson');
  await addPassages(clubId, sourceId, 'A lesson', passages);
  return sourceId;
}

async function addSource(clubId: Id, sourceId: Id, kind: 'media' | 'lesson', ofId: Id, title: string): Promise<void> {
  await (
    await testDatabase()
  ).query(
    `INSERT INTO agent_sources (id, club_id, kind, ${kind}_id, title, status, created_at, updated_at)
     VALUES ($1, $2, '${kind}', $3, $4, 'ready', now(), now())`,
    [sourceId, clubId, ofId, title],
  );
}

/** Puts passages into a source, in the club's language, in one statement as indexing does. */
export async function addPassages(
  clubId: Id,
  sourceId: Id,
  title: string,
  passages: readonly NewPassage[],
): Promise<void> {
  const source = await testDatabase();
  const rows = passages.map((passage, position) => {
    const { text, headings = [], page = 1 } = typeof passage === 'string' ? { text: passage } : passage;
    return { id: newId(), position, page, headings, blocks: [text], text };
  });
  await source.query(
    `INSERT INTO agent_passages (id, source_id, club_id, position, page, title, headings, blocks, text, language)
     SELECT id, $1, $2, position, page, $3, headings, blocks, text, (SELECT language FROM clubs WHERE id = $2)
       FROM jsonb_to_recordset($4::jsonb) AS row (id uuid, position int, page int, headings text[], blocks text[], text text)`,
    [sourceId, clubId, title, JSON.stringify(rows)],
  );
  await source.query(
    `UPDATE agent_sources SET passage_count = (SELECT count(*) FROM agent_passages WHERE source_id = $1) WHERE id = $1`,
    [sourceId],
  );
}

/** @param material what an agent answers from */
export async function giveMaterial(
  agentId: Id,
  material: { courseId: Id } | { lessonId: Id } | { mediaId: Id },
): Promise<void> {
  const { courseId = null, lessonId = null, mediaId = null } = material as Partial<Record<string, Id>>;
  await (
    await testDatabase()
  ).query(`INSERT INTO agent_materials (id, agent_id, course_id, lesson_id, media_id) VALUES ($1, $2, $3, $4, $5)`, [
    newId(),
    agentId,
    courseId,
    lessonId,
    mediaId,
  ]);
}

export async function setLanguage(clubId: Id, language: Language): Promise<void> {
  await (await testDatabase()).query(`UPDATE clubs SET language = $2 WHERE id = $1`, [clubId, language]);
}
