/** Finds a slot for a mail that a club sends on its own initiative. The slot is on the first day that has a free slot (DEC-65). */
import { TransactionalMail } from '../../../entities/mail/transactional-mail.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import type { Claim } from '../../../platform/engine/lease.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { dayOf, mailsOfDay, timeOfSlot } from './pace.policy.ts';

/**
 * The number of days in which the service searches for a free slot. If no day has a free slot, the mail is sent on the last day. The
 * warm-up and the largest backlog end long before that day.
 */
const daysAhead = 365;

interface PacedMail extends Claim {
  clubId: Id;
  plan: PlanName;
  clubCreatedAt: Date;
  tokenId: Id | null;
}

/**
 * Reserves a slot and records it in the mail's row in one transaction, so a retry reserves no second slot. If the mail must wait, the
 * function extends the validity of the mail's token by the length of the wait.
 * @param warmUp see `mailsOfDay`
 * @returns true if the mail may be sent now. If false, the function has released the lease of the mail
 * @throws LeaseLost if another worker has claimed the mail; then nothing was written
 */
export async function takeSlotOfDay(
  db: Database,
  mail: PacedMail,
  warmUp: readonly number[],
  now: Date,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { date, at } = await firstDayWithSlot(tx, mail, warmUp, now);
    const waits = at > now;
    const { affected } = await tx.manager.update(
      TransactionalMail,
      { id: mail.id, fence: mail.fence, status: 'pending' },
      { placedOn: date.toISOString().slice(0, 10), ...(waits && { nextAttemptAt: at, leaseUntil: null }) },
    );
    if (affected === 0) throw new LeaseLost();
    if (waits && mail.tokenId !== null)
      await tx.run(
        sql`UPDATE one_time_tokens SET expires_at = expires_at + (${at}::timestamptz - ${now}::timestamptz) WHERE id = ${mail.tokenId}`,
      );
    return !waits;
  });
}

async function firstDayWithSlot(
  tx: Transaction,
  { clubId, plan, clubCreatedAt }: PacedMail,
  warmUp: readonly number[],
  now: Date,
): Promise<{ date: Date; at: Date }> {
  for (let later = 0; later < daysAhead; later++) {
    const date = dayOf(now, later);
    const mails = mailsOfDay({ plan, createdAt: clubCreatedAt }, warmUp, date);
    if (mails === null) return { date, at: later === 0 ? now : date };
    const row = await tx.one<{ slot: number }>(sql`
      INSERT INTO club_mail_days AS counted (club_id, day, mails) VALUES (${clubId}, ${date.toISOString().slice(0, 10)}, 1)
      ON CONFLICT (club_id, day) DO UPDATE SET mails = counted.mails + 1 WHERE counted.mails < ${mails}
      RETURNING mails AS slot`);
    if (row) return { date, at: later === 0 ? now : timeOfSlot(date, row.slot, mails) };
  }
  return { date: dayOf(now, daysAhead), at: dayOf(now, daysAhead) };
}
