/** The step of a notice: claim, apply in one transaction, record (ENG-2). */
import { SalesConnection } from '../../../entities/sales/sales-connection.ts';
import { SalesNotice } from '../../../entities/sales/sales-notice.ts';
import { defineLease, ignoreLostLease, LeaseLost, runStep, type Claim } from '../../../platform/engine/lease.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { noticeBounds, readJson, UnreadableJson } from '../../../platform/core/json.ts';
import type { VaultDeps } from '../../deps.ts';
import type { NoticeContent, SaleIds, SalesEvent } from '../platforms/events.ts';
import { carryOut, lockKnownOwner, type KnownOwner } from './ledger.ts';
import {
  noticeErrorCodes,
  type NoticeErrorCode,
  type NoticeStatus,
  type SalesPlatform,
} from '../../../entities/sales/values.ts';
import { salesAdapters } from '../platforms/index.ts';
import { NoticeRefusal, SaleJustTaken } from './refusal.ts';

/** A transaction of some ten statements. One that waits longer for its locks loses its lease and records nothing. */
const lease = defineLease(SalesNotice, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: 10,
  counts: 'attemptCount',
});

export type NoticeOutcome = Exclude<NoticeStatus, 'pending'>;
export type NoticeStep = { done: true; outcome: NoticeOutcome } | { done: false; at: number; attempt: number };

export interface NoticeDeps extends VaultDeps {
  /** Called with how each notice ended, for metrics. */
  onOutcome: (outcome: NoticeOutcome) => void;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'notice_claimed' | 'notice_recorded') => Promise<void>;
}

interface ClaimedNotice extends Claim {
  clubId: Id;
  platform: SalesPlatform;
  body: Buffer | null;
  proof: Buffer | null;
  connectionId: Id;
  secret: Buffer | null;
}

/**
 * @param now Unix milliseconds
 * @throws Error for faults of our own: the notice then says that it is still being tried
 */
export function processNotice(deps: NoticeDeps, id: Id, now: number): Promise<NoticeStep> {
  return runStep({
    claim: () => lease.claim<ClaimedNotice>(deps.db, id, now, withConnection),
    act: (claimed) => applyOrFail(deps, claimed, new Date(now)),
    state: () => readState(deps.db, id, now),
  });
}

const claimedColumns = columns(SalesNotice, ['id', 'fence', 'clubId', 'platform', 'body', 'proof'], 'claimed').and(
  columns(SalesConnection, { connectionId: 'id', secret: 'secret' }, 'connection'),
);
const withConnection = sql`
     SELECT ${claimedColumns}
       FROM claimed JOIN sales_connections connection ON connection.id = claimed.connection_id`;

/** @throws LeaseLost, and faults of our own */
async function applyOrFail(deps: NoticeDeps, claimed: ClaimedNotice, now: Date): Promise<void> {
  await deps.failpoint('notice_claimed');
  // Known as soon as the body is read: recording a failure must not depend on reading it once more.
  const sale: SaleIds = {};
  const outcome = await applyAnew(deps, claimed, sale, now).catch(async (error: unknown) => {
    if (error instanceof LeaseLost) throw error;
    const refusal = refusalOf(error);
    if (refusal !== undefined) return recordFailure(deps, claimed, sale, refusal, now);
    // A fault must reach Temporal, which repeats the step, also where its record was lost.
    await recordFailure(deps, claimed, sale, undefined, now).catch(ignoreLostLease);
    throw error;
  });
  await deps.failpoint('notice_recorded');
  if (outcome !== 'pending') deps.onOutcome(outcome);
}

/** Two first notices of one sale may come at once and name two buyers. The loser restarts and sees the winner's sale. */
const maxBeginnings = 3;

async function applyAnew(deps: NoticeDeps, claimed: ClaimedNotice, sale: SaleIds, now: Date): Promise<NoticeOutcome> {
  const events = eventsOf(deps, claimed, sale);
  for (let beginning = 1; ; beginning++) {
    try {
      return await apply(deps, claimed, events, now);
    } catch (error) {
      if (beginning === maxBeginnings || !isJustTaken(error)) throw error;
    }
  }
}

/** Found out in time, or by the constraint that keeps a sale one. */
function isJustTaken(error: unknown): boolean {
  return (
    error instanceof SaleJustTaken || violates(error, 'purchases_identity') || violates(error, 'subscriptions_identity')
  );
}

async function apply(
  deps: NoticeDeps,
  claimed: ClaimedNotice,
  events: readonly SalesEvent[],
  now: Date,
): Promise<NoticeOutcome> {
  return deps.db.transaction(async (tx) => {
    let about: { studentId: Id; removed: boolean } | undefined;
    for (const event of events) about = await carryOut(tx, deps.vault, claimed, event, now);
    const errorCode = endOfNothing(events, about);
    const status = errorCode === null ? 'processed' : 'ignored';
    // Undoes everything above if another worker has claimed the notice since, or its student was removed.
    await lease.record(tx, claimed, {
      status,
      errorCode,
      errorPath: null,
      processedAt: now,
      ...(about && { studentId: about.studentId }),
      ...(about?.removed && purged),
    });
    return status;
  });
}

/** A notice about a removed student keeps nothing of the person. */
const purged = { body: null, proof: null, addresses: [] };

function endOfNothing(events: readonly SalesEvent[], about: { removed: boolean } | undefined): NoticeErrorCode | null {
  if (events.length === 0) return 'event_without_meaning';
  return about?.removed ? 'student_removed' : null;
}

/** @param sale gets the ids of the sale, also if the rest of the body is refused @throws NoticeRefusal, UnreadableJson */
function eventsOf(
  { vault }: VaultDeps,
  { platform, body, proof, secret, id, connectionId }: ClaimedNotice,
  sale: SaleIds,
): SalesEvent[] {
  if (body === null) throw new NoticeRefusal('payload_purged');
  const adapter = salesAdapters[platform];
  const content: NoticeContent = {
    raw: body,
    body: readJson(body, noticeBounds),
    proof: proof === null ? '' : vault.open(proof, id),
  };
  Object.assign(sale, adapter.identify(content.body));
  if (secret !== null && !adapter.isProven(content, vault.open(secret, connectionId)))
    throw new NoticeRefusal('proof_refused');
  return adapter.parse(content.body);
}

/** @returns why the notice itself cannot be carried out; undefined for a fault of ours */
function refusalOf(error: unknown): NoticeRefusal | undefined {
  if (error instanceof NoticeRefusal) return error;
  if (error instanceof UnreadableJson) return new NoticeRefusal('bad_shape');
  if (!(error instanceof DomainError)) return undefined;
  const code = noticeErrorCodes.find((known) => known === error.code);
  return new NoticeRefusal(code ?? 'not_accessible');
}

/**
 * A refusal ends the notice, until somebody replays it; a fault of ours leaves it to be tried again, and says so. Where the
 * sale is known so is the student, whatever address the notice has: for their removal, or because they are removed already.
 */
async function recordFailure(
  deps: NoticeDeps,
  claimed: ClaimedNotice,
  sale: SaleIds,
  refusal: NoticeRefusal | undefined,
  now: Date,
): Promise<NoticeStatus> {
  return deps.db.transaction(async (tx) => {
    const owner = refusal?.code === 'sale_mismatch' ? undefined : await ownerOf(tx, claimed, sale);
    const gone = owner?.removed ?? false;
    const status = gone ? 'ignored' : refusal ? 'failed' : 'pending';
    await lease.record(tx, claimed, {
      status,
      errorCode: gone ? 'student_removed' : (refusal?.code ?? 'internal_error'),
      errorPath: gone ? null : (refusal?.path ?? null),
      processedAt: gone || refusal ? now : null,
      ...(owner && { studentId: owner.studentId }),
      ...(gone && purged),
    });
    return status;
  });
}

async function ownerOf(
  tx: Transaction,
  claimed: ClaimedNotice,
  { purchaseId, subscriptionId }: SaleIds,
): Promise<KnownOwner | undefined> {
  return (await lockKnownOwner(tx, claimed, { purchaseId })) ?? (await lockKnownOwner(tx, claimed, { subscriptionId }));
}

async function readState(db: Queries, id: Id, now: number): Promise<NoticeStep> {
  const row = await db.one<{ status: NoticeStatus; attemptCount: number; at: Date }>(
    sql`SELECT ${columns(SalesNotice, ['status', 'attemptCount'])}, greatest(next_attempt_at, lease_until) AS at
          FROM sales_notices WHERE id = ${id}`,
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'ignored' };
}
