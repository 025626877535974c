/** The step of a notice: claim, apply in one transaction, record (ENG-2). */
import { inTransaction, violates, type Transaction } from '../../../platform/infra/postgres/transaction.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Platform } from '../../deps.ts';
import type { NoticeContent, SalesEvent } from '../platforms/events.ts';
import { carryOut, holdKnownOwner, type KnownOwner } from './ledger.ts';
import {
  noticeErrorCodes,
  type NoticeErrorCode,
  type NoticeStatus,
  type SalesPlatform,
} from '../../../entities/sales/values.ts';
import { salesAdapters } from '../platforms/index.ts';
import { NoticeRefusal, SaleJustTaken } from './refusal.ts';

/** A transaction of some ten statements. One that waits longer for its locks is overtaken, and by its fence records nothing. */
const leaseSeconds = 10;

export type NoticeOutcome = Exclude<NoticeStatus, 'pending'>;
export type NoticeStep = { done: true; outcome: NoticeOutcome } | { done: false; at: number; attempt: number };

export interface NoticePlatform extends Platform {
  /** Told how each notice ended, for metrics. */
  onOutcome: (outcome: NoticeOutcome) => void;
  /** A place where tests stop the process; does nothing otherwise. */
  failpoint: (name: 'notice_claimed' | 'notice_recorded') => Promise<void>;
}

interface ClaimedNotice {
  id: Id;
  fence: number;
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
export async function processNotice(platform: NoticePlatform, id: Id, now: number): Promise<NoticeStep> {
  const claimed = await claim(platform, id, now);
  if (!claimed) return lookAt(platform, id, now);
  await platform.failpoint('notice_claimed');
  try {
    await carryOutAnew(platform, claimed, new Date(now));
  } catch (error) {
    if (error instanceof Overtaken) return lookAt(platform, id, now);
    await recordFailure(platform, claimed, refusalOf(error), new Date(now));
    if (refusalOf(error) === undefined) throw error;
  }
  await platform.failpoint('notice_recorded');
  const next = await lookAt(platform, id, now);
  if (next.done) platform.onOutcome(next.outcome);
  return next;
}

async function claim({ database }: NoticePlatform, id: Id, now: number): Promise<ClaimedNotice | undefined> {
  const [claimed] = await database.source.query<ClaimedNotice[]>(
    `WITH claimed AS (
       UPDATE sales_notices
          SET fence = fence + 1, attempt_count = attempt_count + 1, lease_until = clock_timestamp() + make_interval(secs => $3)
        WHERE id = $1 AND status = 'pending' AND next_attempt_at <= $2
          AND (lease_until IS NULL OR lease_until < clock_timestamp())
    RETURNING *)
     SELECT claimed.id, claimed.fence, claimed.club_id AS "clubId", claimed.platform, claimed.body, claimed.proof,
            connection.id AS "connectionId", connection.secret
       FROM claimed JOIN sales_connections connection ON connection.id = claimed.connection_id`,
    [id, new Date(now), leaseSeconds],
  );
  return claimed;
}

/** Two first notices of one sale may come at once, and name two buyers: then whoever was later begins again, and knows. */
const mostBeginnings = 3;

async function carryOutAnew(platform: NoticePlatform, claimed: ClaimedNotice, now: Date): Promise<void> {
  for (let beginning = 1; ; beginning++) {
    try {
      await carryOutNotice(platform, claimed, now);
      return;
    } catch (error) {
      if (beginning === mostBeginnings || !isJustTaken(error)) throw error;
    }
  }
}

/** Found out in time, or by the constraint that keeps a sale one. */
function isJustTaken(error: unknown): boolean {
  return (
    error instanceof SaleJustTaken || violates(error, 'purchases_identity') || violates(error, 'subscriptions_identity')
  );
}

async function carryOutNotice(platform: NoticePlatform, claimed: ClaimedNotice, now: Date): Promise<void> {
  const events = eventsOf(platform, claimed);
  await inTransaction(platform.database, async (tx) => {
    let about: { studentId: Id; removed: boolean } | undefined;
    for (const event of events) about = await carryOut(tx, platform.vault, claimed, event, now);
    const errorCode = endOfNothing(events, about);
    const recorded = await tx.query<[unknown[], number]>(
      `UPDATE sales_notices
          SET status = $3, error_code = $4, error_path = NULL, student_id = coalesce($5, student_id), processed_at = $6, lease_until = NULL,
              body = CASE WHEN $7 THEN NULL ELSE body END, proof = CASE WHEN $7 THEN NULL ELSE proof END,
              addresses = CASE WHEN $7 THEN '{}' ELSE addresses END
        WHERE id = $1 AND fence = $2 AND status = 'pending'`,
      [
        claimed.id,
        claimed.fence,
        errorCode === null ? 'processed' : 'ignored',
        errorCode,
        about?.studentId ?? null,
        now,
        about?.removed ?? false,
      ],
    );
    // Somebody else has claimed it since, or its student was removed: what was just done is theirs to do, or nobody's.
    if (recorded[1] === 0) throw new Overtaken();
  });
}

class Overtaken extends Error {}

function endOfNothing(events: readonly SalesEvent[], about: { removed: boolean } | undefined): NoticeErrorCode | null {
  if (events.length === 0) return 'event_without_meaning';
  return about?.removed ? 'student_removed' : null;
}

/** @throws NoticeRefusal */
function eventsOf(
  { vault }: Platform,
  { platform, body, proof, secret, id, connectionId }: ClaimedNotice,
): SalesEvent[] {
  if (body === null) throw new NoticeRefusal('payload_purged');
  const adapter = salesAdapters[platform];
  const content: NoticeContent = {
    raw: body,
    body: JSON.parse(body.toString('utf8')) as unknown,
    proof: proof === null ? '' : vault.open(proof, id),
  };
  if (secret !== null && !adapter.isProven(content, vault.open(secret, connectionId)))
    throw new NoticeRefusal('proof_refused');
  return adapter.parse(content.body);
}

/** @returns why the notice itself cannot be carried out; undefined for a fault of ours */
function refusalOf(error: unknown): NoticeRefusal | undefined {
  if (error instanceof NoticeRefusal) return error;
  if (!(error instanceof DomainError)) return undefined;
  const code = noticeErrorCodes.find((known) => known === error.code);
  return new NoticeRefusal(code ?? 'not_accessible');
}

/**
 * A refusal ends the notice, until somebody replays it; a fault of ours leaves it to be tried again, and says so. Where the
 * sale is known so is the student, whatever address the notice has: for their removal, or because they are removed already.
 */
async function recordFailure(
  platform: NoticePlatform,
  claimed: ClaimedNotice,
  refusal: NoticeRefusal | undefined,
  now: Date,
): Promise<void> {
  await inTransaction(platform.database, async (tx) => {
    const owner = refusal?.code === 'sale_mismatch' ? undefined : await ownerOfUnread(tx, claimed);
    const gone = owner?.removed ?? false;
    await tx.query(
      `UPDATE sales_notices
          SET status = $3, error_code = $4, error_path = $5, processed_at = $6, student_id = coalesce($7, student_id),
              lease_until = NULL, body = CASE WHEN $8 THEN NULL ELSE body END,
              proof = CASE WHEN $8 THEN NULL ELSE proof END, addresses = CASE WHEN $8 THEN '{}' ELSE addresses END
        WHERE id = $1 AND fence = $2 AND status = 'pending'`,
      [
        claimed.id,
        claimed.fence,
        gone ? 'ignored' : refusal ? 'failed' : 'pending',
        gone ? 'student_removed' : (refusal?.code ?? 'internal_error'),
        gone ? null : (refusal?.path ?? null),
        gone || refusal ? now : null,
        owner?.studentId ?? null,
        gone,
      ],
    );
  });
}

async function ownerOfUnread(tx: Transaction, claimed: ClaimedNotice): Promise<KnownOwner | undefined> {
  if (claimed.body === null) return undefined;
  const body = JSON.parse(claimed.body.toString('utf8')) as unknown;
  const { purchaseId, subscriptionId } = salesAdapters[claimed.platform].identify(body);
  return (await holdKnownOwner(tx, claimed, { purchaseId })) ?? (await holdKnownOwner(tx, claimed, { subscriptionId }));
}

/** What the row says now: whoever acted on it, and whether or not it was us. */
async function lookAt({ database }: Platform, id: Id, now: number): Promise<NoticeStep> {
  const [row] = await database.source.query<{ status: NoticeStatus; attemptCount: number; at: Date }[]>(
    `SELECT status, attempt_count AS "attemptCount", greatest(next_attempt_at, lease_until) AS at FROM sales_notices WHERE id = $1`,
    [id],
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'ignored' };
}
