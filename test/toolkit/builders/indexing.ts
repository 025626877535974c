/** Sources of agents in tests: rows and files as they stand when a source is to be indexed, and the step that does it. */
import { Readable } from 'node:stream';
import { readConfig } from '../../../config.ts';
import type { Language } from '../../../domain/agents/agents.policy.ts';
import { indexSource, type IndexingPlatform, type SourceStep } from '../../../domain/agents/indexing/source-step.ts';
import { wakeSources, wantedAnew } from '../../../domain/agents/sources.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { createObjectStore, type ObjectStore } from '../../../domain/core/object-store.ts';
import { AgentPassage } from '../../../entities/agents/agent-passage.ts';
import { AgentSource } from '../../../entities/agents/agent-source.ts';
import { buildCourse } from './access.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildClub } from './factories.ts';
import { testStack } from '../stack/stack.ts';

let store: ObjectStore | undefined;
export async function testStore(): Promise<ObjectStore> {
  await testStack();
  store ??= createObjectStore(readConfig().storage);
  return store;
}

/** What the step needs, with parts of it replaced. */
export async function indexingPlatform(replaced: Partial<IndexingPlatform> = {}): Promise<IndexingPlatform> {
  const { database } = await testPlatform();
  return {
    database,
    storage: await testStore(),
    onFault() {},
    onOutcome() {},
    failpoint: async () => {},
    ...replaced,
  };
}

export interface TestSource {
  id: Id;
  clubId: Id;
  lessonId?: Id;
  mediaId?: Id;
}

/** A published lesson in the index, that waits to be read. */
export async function buildLessonSource(
  content: string,
  language: Language = 'en',
  club?: { id: Id },
): Promise<TestSource> {
  const { id: clubId } = club ?? (await buildClub());
  const source = await testDatabase();
  await source.query(`UPDATE clubs SET language = $2 WHERE id = $1`, [clubId, language]);
  const [lesson] = (await buildCourse(clubId, { modules: 1, lessons: 1 })).lessons;
  if (!lesson) throw new Error('There is no lesson.');
  await source.query(`UPDATE lessons SET title = 'Knots for all', content = $2 WHERE id = $1`, [lesson.id, content]);
  return { ...(await insertSource(clubId, 'lesson', lesson.id)), lessonId: lesson.id };
}

/** A file of the library in the index, that waits to be read. @param bytes null: it is not in the store */
export async function buildFileSource(
  bytes: Uint8Array | string | null,
  further: { sizeBytes?: number } = {},
): Promise<TestSource> {
  const { id: clubId } = await buildClub();
  const [mediaId, now, source] = [newId(), new Date(), await testDatabase()];
  const key = `media/${clubId}/${mediaId}`;
  const content = Buffer.from(bytes ?? 'gone');
  if (bytes !== null) await (await testStore()).put(key, 'application/octet-stream', Readable.from([content]));
  await source.query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, file_name, mime, size_bytes, object_key, created_at, updated_at)
     VALUES ($1, $2, 'library', 'document', 'The handbook', 'objstore', 'ready', 'handbook', 'application/octet-stream', $3, $4, $5, $5)`,
    [mediaId, clubId, further.sizeBytes ?? content.length, key, now],
  );
  return { ...(await insertSource(clubId, 'media', mediaId)), mediaId };
}

async function insertSource(clubId: Id, kind: 'lesson' | 'media', itemId: Id): Promise<TestSource> {
  const [id, now, source] = [newId(), new Date(Date.now() - 1_000), await testDatabase()];
  await source.query(
    `INSERT INTO agent_sources (id, club_id, kind, ${kind}_id, title, looks_at, created_at, updated_at) VALUES ($1, $2, $3, $4, 'x', $5, $5, $5)`,
    [id, clubId, kind, itemId, now],
  );
  return { id, clubId };
}

/** One step, now. */
export async function stepSource(
  { id }: { id: Id },
  platform: Partial<IndexingPlatform> = {},
  options: { now?: number; beat?: (progress: string) => void; stop?: AbortSignal } = {},
): Promise<SourceStep> {
  const { now = Date.now(), beat = () => {}, stop = new AbortController().signal } = options;
  return indexSource(await indexingPlatform(platform), id, now, { beat, stop });
}

/** Its content is another now. */
export async function wantAnew({ id, clubId }: TestSource): Promise<void> {
  const { database } = await testPlatform();
  const now = new Date();
  await database.source.transaction(async (tx) => {
    await tx.query(`UPDATE agent_sources SET ${wantedAnew} WHERE id = $2`, [now, id]);
    await wakeSources(tx, clubId, [id], now);
  });
}

export async function changeLesson(source: TestSource, content: string): Promise<void> {
  await (await testDatabase()).query(`UPDATE lessons SET content = $2 WHERE id = $1`, [source.lessonId, content]);
  await wantAnew(source);
}

export async function sourceRow({ id }: { id: Id }): Promise<AgentSource> {
  return (await testDatabase()).manager.findOneByOrFail(AgentSource, { id });
}

/** Its passages that stand, in their order. */
export async function passagesOf({ id }: { id: Id }): Promise<AgentPassage[]> {
  return (await testDatabase()).manager.find(AgentPassage, { where: { sourceId: id }, order: { position: 'ASC' } });
}

export async function textsOf(source: { id: Id }): Promise<string[]> {
  return (await passagesOf(source)).map(({ text }) => text);
}
