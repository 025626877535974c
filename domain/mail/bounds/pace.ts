/** Gives mails that a club sends on its own account a place in a day, the first with room (DEC-65). */
import { TransactionalMail } from '../../../entities/mail/transactional-mail.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import type { Claim } from '../../../platform/engine/lease.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { dayOf, mailsOfDay, timeOfPlace } from './pace.policy.ts';

/** A warm-up and the largest backlog end long before; a club without any place in so many days waits for the last. */
const daysAhead = 365;

/** A claimed mail, with its club. */
interface PacedMail extends Claim {
  clubId: Id;
  plan: PlanName;
  clubCreatedAt: Date;
  tokenId: Id | null;
}

/**
 * Takes the place and records it with the mail, in one transaction: a mail takes one place, however often it is tried. What the
 * mail carries stays good as long from then on.
 * @param warmUp as `mailsOfDay`
 * @returns true if the mail goes now; false if it waits, and its lease is given back
 * @throws LeaseLost, having written nothing
 */
export async function takePlaceInDay(
  db: Database,
  mail: PacedMail,
  warmUp: readonly number[],
  now: Date,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { date, at } = await firstRoom(tx, mail, warmUp, now);
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

async function firstRoom(
  tx: Transaction,
  { clubId, plan, clubCreatedAt }: PacedMail,
  warmUp: readonly number[],
  now: Date,
): Promise<{ date: Date; at: Date }> {
  for (let later = 0; later < daysAhead; later++) {
    const date = dayOf(now, later);
    const mails = mailsOfDay({ plan, createdAt: clubCreatedAt }, warmUp, date);
    if (mails === null) return { date, at: later === 0 ? now : date };
    const taken = await tx.one<{ place: number }>(sql`
      INSERT INTO club_mail_days AS taken (club_id, day, mails) VALUES (${clubId}, ${date.toISOString().slice(0, 10)}, 1)
      ON CONFLICT (club_id, day) DO UPDATE SET mails = taken.mails + 1 WHERE taken.mails < ${mails}
      RETURNING mails AS place`);
    if (taken) return { date, at: later === 0 ? now : timeOfPlace(date, taken.place, mails) };
  }
  return { date: dayOf(now, daysAhead), at: dayOf(now, daysAhead) };
}
