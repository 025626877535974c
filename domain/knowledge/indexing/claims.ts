/**
 * Makes and releases claims on sources. A claim is a lease with a fencing token. A worker loses it when another worker claims the source,
 * or when the source changes.
 */
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { SourceKind } from '../../../entities/knowledge/values.ts';
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import { defineLease, holdLease, LeaseLost, type HeldLease } from '../../../platform/engine/lease.ts';
import { indexingRules } from './indexing.policy.ts';

export interface Claim {
  sourceId: Id;
  clubId: Id;
  kind: SourceKind;
  /** The fencing token: a later claim has a higher token. */
  fence: number;
  /** The version of the content that the worker with this claim reads. */
  version: number;
  /** From 1. */
  attempt: number;
  /** The source has left the index, so its rows must be removed. */
  isRemoved: boolean;
  /** The source has pages that are pictures, and OCR was not tried yet. */
  waitsForOcr: boolean;
}

const lease = defineLease(AgentSource, {
  open: {},
  due: 'looksAt',
  seconds: indexingRules.leaseMs / 1_000,
  counts: 'attempts',
  sets: { status: 'indexing', errorCode: null },
  stamps: 'updatedAt',
});

const claimColumns = columns(AgentSource, {
  sourceId: 'id',
  clubId: 'clubId',
  kind: 'kind',
  fence: 'fence',
  version: 'wantedVersion',
  attempt: 'attempts',
}).and<Pick<Claim, 'isRemoved' | 'waitsForOcr'>>(
  sql`removed_at IS NOT NULL AS "isRemoved", ocr_due_at IS NOT NULL AS "waitsForOcr"`,
);

/** @param now Unix milliseconds @returns undefined if the source is not due, or if another worker has a valid claim */
export function claimSource(db: Database, sourceId: Id, now: number): Promise<Claim | undefined> {
  return lease.claim<Claim>(db, sourceId, now, sql`SELECT ${claimColumns} FROM claimed`);
}

/**
 * Renews a claim until it is released. A new version of the content also ends the claim.
 * @param onRenewal called at each renewal, even if Postgres cannot be reached
 * @param stop aborted when the process must stop
 */
export function holdClaim(db: Queries, claim: Claim, onRenewal: () => void, stop: AbortSignal): HeldLease {
  return holdLease(
    db,
    AgentSource,
    { id: claim.sourceId, fence: claim.fence },
    {
      seconds: indexingRules.leaseMs / 1_000,
      everyMs: indexingRules.renewalMs,
      still: sql`wanted_version = ${claim.version}`,
      onRenewal,
      stop,
    },
  );
}

/** Releases a claim of interrupted work. The source is due immediately, and the attempt does not count. */
export async function releaseClaim(db: Queries, { sourceId, fence, version }: Claim): Promise<void> {
  await db.run(
    sql`UPDATE agent_sources
           SET lease_until = NULL, status = CASE WHEN status = 'indexing' THEN 'pending' ELSE status END,
               attempts = CASE WHEN wanted_version = ${version} THEN attempts - 1 ELSE attempts END
         WHERE id = ${sourceId} AND fence = ${fence} AND lease_until IS NOT NULL`,
  );
}

/**
 * Releases a claim because no OCR permit was free. The source is due later, and the attempt does not count. The next claim waits for the
 * permit before it reads the file.
 * @throws LeaseLost
 */
export async function waitForOcr(db: Queries, { sourceId, fence, version }: Claim, at: Date): Promise<void> {
  const changed = await db.run(
    sql`UPDATE agent_sources
           SET lease_until = NULL, status = 'pending', attempts = attempts - 1, looks_at = ${at}, ocr_due_at = ${at}
         WHERE id = ${sourceId} AND fence = ${fence} AND wanted_version = ${version} AND lease_until IS NOT NULL`,
  );
  if (changed === 0) throw new LeaseLost();
}
