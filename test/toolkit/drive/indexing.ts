/** Makes the step that indexes a source, and changes the source during the step. */
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { extract } from '../../../domain/knowledge/extraction/extraction.ts';
import { claimSource, type Claim } from '../../../domain/knowledge/indexing/claims.ts';
import { indexSource, type IndexingDeps, type SourceStep } from '../../../domain/knowledge/indexing/source-step.ts';
import { wantedAnew, wakeSources } from '../../../domain/knowledge/sources.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestSource } from '../builders/sources.ts';
import { testDeps, testDatabase } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

export async function indexingDeps(replaced: Partial<IndexingDeps> = {}): Promise<IndexingDeps> {
  const { db } = await testDeps();
  return {
    db,
    storage: await testObjectStore(),
    extract,
    ocr: undefined,
    onFault() {},
    onOutcome() {},
    failpoint: async () => {},
    ...replaced,
  };
}

/** One step, now. */
export async function stepSource(
  { id }: { id: Id },
  deps: Partial<IndexingDeps> = {},
  options: { now?: number; beat?: (progress: string) => void; stop?: AbortSignal } = {},
): Promise<SourceStep> {
  const { now = Date.now(), beat = () => {}, stop = new AbortController().signal } = options;
  return indexSource(await indexingDeps(deps), id, now, { beat, stop });
}

/** @param work a function that runs after the step has read the source, and before the step records a result */
export const whenRead = (work: () => Promise<unknown>): Partial<IndexingDeps> => ({
  async failpoint(place) {
    if (place === 'source_read') await work();
  },
});

export async function claimOf({ id }: TestSource): Promise<Claim> {
  const { db } = await testDeps();
  const claim = await claimSource(db, id, Date.now());
  if (!claim) throw new Error('The source could not be claimed');
  return claim;
}

/** @param changes assignments in SQL */
export async function alterSource({ id }: TestSource, changes: string): Promise<void> {
  await (await testDatabase()).query(`UPDATE agent_sources SET ${changes} WHERE id = $1`, [id]);
}

export async function removeSource({ id }: TestSource): Promise<void> {
  await (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [id]);
}

export async function wantAnew({ id, clubId }: TestSource): Promise<void> {
  const { db } = await testDeps();
  const now = new Date();
  await db.transaction(async (tx) => {
    await tx.run(sql`UPDATE agent_sources SET ${wantedAnew(now)} WHERE id = ${id}`);
    await wakeSources(tx, clubId, [id], now);
  });
}

export async function changeLesson(source: TestSource, content: string): Promise<void> {
  await (await testDatabase()).query(`UPDATE lessons SET content = $2 WHERE id = $1`, [source.lessonId, content]);
  await wantAnew(source);
}
