/** Records the result of reading a source, if the worker's claim is still valid and the content has not changed. */
import type { QueryDeepPartialEntity } from 'typeorm';
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import type { SourceWarning } from '../../../entities/knowledge/values.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Language } from '../../../entities/clubs/values.ts';
import type { Claim } from './claims.ts';
import { indexingRules, longestWaitMs, readerVersion, waitAfter, type IndexingError } from './indexing.policy.ts';
import { storedWords, type SearchedPassage } from './passage-words.policy.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';

export interface Indexed {
  title: string;
  language: Language;
  pageCount: number | null;
  passages: readonly SearchedPassage[];
  warnings: readonly SourceWarning[];
  /** The time at which OCR of the scanned pages is tried. Null if OCR was tried already, or if the source has no scanned pages. */
  ocrDueAt: Date | null;
}

/**
 * Replaces the source's passages. Until the commit, searches find the old passages. For a large file, this takes seconds. So this
 * transaction locks the source's row only shortly before the commit. A transaction that removes the source then does not have to wait long.
 * @throws LeaseLost if the source was removed, if a different worker has claimed it, or if a newer version of it is wanted. Then the
 * transaction changes nothing
 */
export async function recordPassages(db: Database, claim: Claim, indexed: Indexed, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const old = await tx.rows<{ id: Id }>(sql`SELECT id FROM agent_passages WHERE source_id = ${claim.sourceId}`);
    await insertPassages(tx, claim, indexed);
    await deletePassages(tx, old);
    await endClaim(
      tx,
      claim,
      {
        status: 'ready',
        errorCode: null,
        indexedVersion: claim.version,
        indexedAt: now,
        looksAt: null,
        pageCount: indexed.pageCount,
        passageCount: indexed.passages.length,
        warnings: [...indexed.warnings],
        readerVersion,
        ocrDueAt: indexed.ocrDueAt,
      },
      now,
    );
  });
}

/** Records that the source cannot be indexed. Passages of an earlier version stay. @throws LeaseLost */
export async function recordFailure(
  db: Database,
  claim: Claim,
  { code, warnings = [], ocrDueAt = null }: { code: IndexingError; warnings?: SourceWarning[]; ocrDueAt?: Date | null },
  now: Date,
): Promise<void> {
  const failed = { status: 'failed', errorCode: code, looksAt: null, warnings, readerVersion, ocrDueAt } as const;
  await db.transaction((tx) => endClaim(tx, claim, failed, now));
}

/**
 * Records a failure without a fault of the file. The source is indexed again after a wait, and has the status `failed` after the last
 * attempt. A removal is repeated until it succeeds.
 * @throws LeaseLost
 */
export async function recordFault(db: Database, claim: Claim, now: Date): Promise<void> {
  const wait = waitAfter(claim.attempt) ?? (claim.isRemoved ? longestWaitMs : undefined);
  if (wait === undefined) return recordFailure(db, claim, { code: 'indexing_failed' }, now);
  const due = new Date(now.getTime() + wait);
  await db.transaction((tx) => endClaim(tx, claim, { status: 'pending', looksAt: due }, now));
}

/**
 * Writes the outcome if the claim is valid and no newer version is wanted.
 * @throws LeaseLost if the claim is no longer valid; then nothing was written
 */
async function endClaim(
  tx: Transaction,
  { sourceId: id, fence, version: wantedVersion }: Claim,
  outcome: QueryDeepPartialEntity<AgentSource>,
  now: Date,
): Promise<void> {
  const ended = { ...outcome, leaseUntil: null, updatedAt: now };
  const { affected } = await tx.manager.update(AgentSource, { id, fence, wantedVersion }, ended);
  if (affected === 0) throw new LeaseLost();
}

async function deletePassages(tx: Transaction, old: readonly { id: Id }[]): Promise<void> {
  const { passagesAStatement } = indexingRules;
  for (let from = 0; from < old.length; from += passagesAStatement) {
    const ids = old.slice(from, from + passagesAStatement).map(({ id }) => id);
    await tx.run(sql`DELETE FROM agent_passages WHERE id = ANY (${ids})`);
  }
}

/** Inserts the new passages while the old passages still exist. The inserts do not lock the row of the source. */
export async function insertPassages(
  tx: Transaction,
  claim: Pick<Claim, 'sourceId' | 'clubId'>,
  { title, language, passages }: Pick<Indexed, 'title' | 'language' | 'passages'>,
): Promise<void> {
  await tx.run(sql`SET CONSTRAINTS "agent_passages_source", "FK_0e588396cb9d7d336b157e32724" DEFERRED`);
  const { passagesAStatement } = indexingRules;
  const titleWords = storedWords(title);
  for (let from = 0; from < passages.length; from += passagesAStatement) {
    const rows = passages.slice(from, from + passagesAStatement).map(({ seconds, words, ...passage }, at) => ({
      ...passage,
      words: [titleWords, words.headings, words.text],
      id: newId(),
      position: from + at,
      from_seconds: seconds?.map((one) => one.from) ?? null,
      to_seconds: seconds?.map((one) => one.to) ?? null,
    }));
    await tx.run(
      sql`INSERT INTO agent_passages (id, source_id, club_id, position, page, title, headings, blocks, text, language,
                                      from_seconds, to_seconds, words)
          SELECT row.id, ${claim.sourceId}, ${claim.clubId}, row.position, row.page, ${title}, row.headings, row.blocks, row.text,
                 ${language}, row.from_seconds, row.to_seconds, row.words
            FROM json_to_recordset(${JSON.stringify(rows)})
                 AS row (id uuid, position int, page int, headings text[], blocks text[], text text, from_seconds int[],
                         to_seconds int[], words text[])`,
    );
  }
}
