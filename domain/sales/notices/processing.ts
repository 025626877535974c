/** The step that processes a notice: it claims the notice, applies it in one transaction, and records the outcome (ENG-2). */
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
import { applyEvent, lockKnownOwner, type KnownOwner } from './ledger.ts';
import {
  noticeErrorCodes,
  type NoticeErrorCode,
  type NoticeStatus,
  type SalesPlatform,
} from '../../../entities/sales/values.ts';
import { salesAdapters } from '../platforms/index.ts';
import { NoticeRefusal, SaleJustTaken } from './refusal.ts';

/** Long enough for the transaction of about ten statements. If it waits too long for locks, it loses its lease and records nothing. */
const lease = defineLease(SalesNotice, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: 10,
  counts: 'attemptCount',
});

export type NoticeOutcome = Exclude<NoticeStatus, 'pending'>;
export type NoticeStep = { done: true; outcome: NoticeOutcome } | { done: false; at: number; attempt: number };

export interface NoticeDeps extends VaultDeps {
  onOutcome: (outcome: NoticeOutcome) => void;
  /** A hook at which tests stop the process. */
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
 * @throws Error, when an internal error occurs. The row of the notice then records that the notice will be tried again
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

/** @throws LeaseLost, and internal errors */
async function applyOrFail(deps: NoticeDeps, claimed: ClaimedNotice, now: Date): Promise<void> {
  await deps.failpoint('notice_claimed');
  // The ids of the sale are set as soon as the body has been read. So a later failure can be recorded without a second reading of the body.
  const sale: SaleIds = {};
  const outcome = await applyWithRetries(deps, claimed, sale, now).catch(async (error: unknown) => {
    if (error instanceof LeaseLost) throw error;
    const refusal = refusalOf(error);
    if (refusal !== undefined) return recordFailure(deps, claimed, sale, refusal, now);
    // Temporal must get an internal error to repeat the step, even if it could not be recorded.
    await recordFailure(deps, claimed, sale, undefined, now).catch(ignoreLostLease);
    throw error;
  });
  await deps.failpoint('notice_recorded');
  if (outcome !== 'pending') deps.onOutcome(outcome);
}

/**
 * The first two notices of a sale may arrive at the same time and name different buyers. Then one of the two transactions
 * fails and is tried again. The second try sees the sale that the other transaction has recorded.
 */
const maxTries = 3;

async function applyWithRetries(
  deps: NoticeDeps,
  claimed: ClaimedNotice,
  sale: SaleIds,
  now: Date,
): Promise<NoticeOutcome> {
  const events = eventsOf(deps, claimed, sale);
  for (let beginning = 1; ; beginning++) {
    try {
      return await apply(deps, claimed, events, now);
    } catch (error) {
      if (beginning === maxTries || !isJustTaken(error)) throw error;
    }
  }
}

/**
 * Returns whether the error means that another transaction has recorded the sale first. This is true for an error of the class
 * `SaleJustTaken`, and for a violation of the constraint that makes a sale unique.
 */
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
    let affected: { studentId: Id; removed: boolean } | undefined;
    for (const event of events) affected = await applyEvent(tx, deps.vault, claimed, event, now);
    const errorCode = codeOfIgnored(events, affected);
    const status = errorCode === null ? 'processed' : 'ignored';
    // If another worker has claimed the notice, or if the student was removed, this call throws, and the changes above are rolled back.
    await lease.record(tx, claimed, {
      status,
      errorCode,
      errorPath: null,
      processedAt: now,
      ...(affected && { studentId: affected.studentId }),
      ...(affected?.removed && purged),
    });
    return status;
  });
}

/** Deletes the personal data of a notice about a removed student. */
const purged = { body: null, proof: null, addresses: [] };

function codeOfIgnored(events: readonly SalesEvent[], about: { removed: boolean } | undefined): NoticeErrorCode | null {
  if (events.length === 0) return 'event_without_meaning';
  return about?.removed ? 'student_removed' : null;
}

/**
 * @param sale gets the ids of the sale, even if the rest of the body is refused
 * @throws NoticeRefusal, UnreadableJson
 */
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

/** @returns why the notice itself cannot be applied; undefined for an internal error */
function refusalOf(error: unknown): NoticeRefusal | undefined {
  if (error instanceof NoticeRefusal) return error;
  if (error instanceof UnreadableJson) return new NoticeRefusal('bad_shape');
  if (!(error instanceof DomainError)) return undefined;
  const code = noticeErrorCodes.find((known) => known === error.code);
  return new NoticeRefusal(code ?? 'not_accessible');
}

/**
 * Records a failure. After a refusal, the notice is not processed again until an administrator replays it. After an internal error, the
 * notice stays pending. If the sale is known, the notice's row also gets the student of the sale, even if the notice contains a different
 * address. So a removal of the student finds the notice.
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
    const isRemoved = owner?.removed ?? false;
    const status = isRemoved ? 'ignored' : refusal ? 'failed' : 'pending';
    await lease.record(tx, claimed, {
      status,
      errorCode: isRemoved ? 'student_removed' : (refusal?.code ?? 'internal_error'),
      errorPath: isRemoved ? null : (refusal?.path ?? null),
      processedAt: isRemoved || refusal ? now : null,
      ...(owner && { studentId: owner.studentId }),
      ...(isRemoved && purged),
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
