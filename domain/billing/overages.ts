/**
 * Records how far a club exceeds the allowances for which its plan bills overage. An excess is recorded when a student or a file is added,
 * and again at the beginning of each month (BILL-7). When a month has ended, it is closed, and its highest excess is charged (BILL-8).
 */
import { OverageTurn } from '../../entities/billing/overage-turn.ts';
import type { Resource } from '../../entities/billing/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { readClubMonth } from './club-month.ts';
import { beginCharges } from './overage/beginning.ts';
import { limitOf, planOf, termsOf, type Terms } from './terms.ts';

/**
 * Records how far a club exceeds an allowance. The highest excess of each month counts, in the club's time zone. If the club has moved to a
 * time zone in which a closed month has not ended yet, the excess counts for the following month. Also stores the end of the month, because
 * the excess may continue ({@link turnMonths}).
 * @param excess the excess in the resource's unit; 0 records nothing
 */
export async function recordOverage(
  tx: Transaction,
  clubId: Id,
  resource: Resource,
  excess: number,
  now: Date,
): Promise<void> {
  if (excess <= 0) return;
  const { month, endsAt } = await readClubMonth(tx, clubId, now);
  await keepMonthOpen(tx, clubId, endsAt);
  await tx.run(sql`INSERT INTO overages AS recorded (club_id, resource, month, excess, reached_at, plan)
     SELECT ${clubId}, ${resource},
            CASE WHEN EXISTS (SELECT FROM overages WHERE club_id = ${clubId} AND resource = ${resource} AND month = ${month} AND closed_at IS NOT NULL)
                 THEN (${month}::date + interval '1 month')::date ELSE ${month}::date END,
            ${excess}, ${now}, ${planOf(clubId)}
     ON CONFLICT (club_id, resource, month) DO UPDATE SET excess = excluded.excess, reached_at = excluded.reached_at, plan = excluded.plan
      WHERE recorded.excess < excluded.excess AND recorded.closed_at IS NULL`);
}

/**
 * Stores the end of the club's month, and locks the row until the transaction ends. So no month is closed while an excess is recorded. The
 * transactions that record do not wait for each other.
 */
async function keepMonthOpen(tx: Transaction, clubId: Id, endsAt: Date): Promise<void> {
  for (;;) {
    await tx.run(
      sql`INSERT INTO overage_turns (club_id, turns_at) VALUES (${clubId}, ${endsAt}) ON CONFLICT (club_id) DO NOTHING`,
    );
    // If another transaction has deleted the row meanwhile, it is inserted again.
    const locked = await tx.one(sql`SELECT 1 FROM overage_turns WHERE club_id = ${clubId} FOR KEY SHARE`);
    if (locked !== undefined) return;
  }
}

/**
 * Records a club's current excess of every allowance when a new plan or a new month begins. It does not lock the counts of students and
 * files.
 */
export async function recordPresentOverages(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  const students = await tx.one<Terms & { used: string }>(sql`
    SELECT ${termsOf(clubId, 'students')},
           (SELECT coalesce(sum(students), 0) FROM club_student_counts WHERE club_id = ${clubId})
           + (SELECT coalesce(sum(students), 0) FROM club_student_changes WHERE club_id = ${clubId}) AS used`);
  const storage = await tx.one<Terms & { used: string }>(sql`
    SELECT ${termsOf(clubId, 'storage')},
           (SELECT coalesce(sum(bytes), 0) FROM club_storage WHERE club_id = ${clubId})
           + (SELECT coalesce(sum(bytes), 0) FROM club_storage_changes WHERE club_id = ${clubId}) AS used`);
  for (const [resource, row] of [['students', students] as const, ['storage_bytes', storage] as const]) {
    if (!row) throw new Error(`The ${resource} of club ${clubId} cannot be read`);
    const { limit, overage } = limitOf(row, resource);
    if (overage === 'billed') await recordOverage(tx, clubId, resource, Number(row.used) - limit, now);
  }
}

/** The maximum number of clubs in a round. For each club, one transaction runs for some milliseconds. */
const turnsPerRound = 200;

/**
 * Begins a new month for clubs that exceeded an allowance: closes and charges the ended months, and records the remaining excess for the
 * new month. If no worker ran for some months, each of them gets its record. Repeated or simultaneous calls do no harm.
 */
export async function turnMonths(db: Database, now: Date): Promise<{ turned: number; more: boolean }> {
  const due = await db.rows<Pick<OverageTurn, 'clubId'>>(sql`
    SELECT ${columns(OverageTurn, ['clubId'])} FROM overage_turns WHERE turns_at <= ${now} ORDER BY turns_at LIMIT ${turnsPerRound}`);
  for (const { clubId } of due) await db.transaction((tx) => turnMonth(tx, clubId, now));
  return { turned: due.length, more: due.length === turnsPerRound };
}

async function turnMonth(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  const monthTurn = await tx.one<Pick<OverageTurn, 'turnsAt'>>(sql`
    DELETE FROM overage_turns WHERE club_id = ${clubId} AND turns_at <= ${now} RETURNING ${columns(OverageTurn, ['turnsAt'])}`);
  if (!monthTurn) return;
  // The club may have moved since to a time zone in which the month has not ended yet. Then the month ends later.
  const { month, endsAt } = await readClubMonth(tx, clubId, monthTurn.turnsAt);
  const hasOpenMonth = await beginCharges(tx, clubId, month, now);
  await recordPresentOverages(tx, clubId, monthTurn.turnsAt);
  if (hasOpenMonth) await keepMonthOpen(tx, clubId, endsAt);
}
