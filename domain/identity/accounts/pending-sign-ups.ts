/**
 * Handles pending sign-ups: accounts that a sign-up opened and that are not confirmed yet (DEC-62). Any person can sign up with any
 * address, so a pending sign-up uses no seat of the club's plan. The club or a sale can turn it into an account of a student. The account
 * then loses its password.
 */
import { randomUUID } from 'node:crypto';
import { SignUpNetwork } from '../../../entities/identity/sign-up-network.ts';
import type { AccountOpener } from '../../../entities/identity/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { StaleRead, type Queries, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { lockSeats, takeSeats, type Addressee, type LockedSeats } from '../../billing/allowances.ts';
import { tokenLifetimeMs } from '../../mail/codes/one-time-tokens.ts';
import { pendingSignUpRules } from './pending-sign-ups.policy.ts';
import { RefusalToPerson, minutesOf } from '../../language/refusal.ts';

/** An SQL condition on a row of `students`: the account is a pending sign-up. */
export const pendingSignUp = sql`opened_by = 'sign_up' AND verified_at IS NULL`;

interface Account {
  id: Id;
  clubId: Id;
  email: string;
  isPending: boolean;
}

/**
 * Locks a student whom the transaction may add to the club's count of students. If the count does not include the student yet, the function
 * locks the count before the student (docs/explanation/architecture.md#locks). The transaction must not have locked a student.
 * @param which an SQL condition that selects the student among the students who were not removed
 * @returns the account, if it exists. `seats` is present if the account is a pending sign-up. It is also present if there is no account and
 * `orNewIn` names the club of a new account
 * @throws DomainError limit_reached; StaleRead
 */
export async function lockAccount(
  tx: Transaction,
  which: Sql,
  options: { addressee?: Addressee; orNewIn?: Id },
): Promise<{ account: Account | undefined; seats: LockedSeats | undefined }> {
  const find = sql`SELECT id, club_id AS "clubId", email, ${pendingSignUp} AS "isPending" FROM students WHERE removed_at IS NULL AND ${which}`;
  const unlocked = await tx.one<Account>(find);
  const clubId = unlocked === undefined ? options.orNewIn : unlocked.isPending ? unlocked.clubId : undefined;
  const seats = clubId === undefined ? undefined : await lockSeats(tx, clubId, 1, options.addressee);
  const account = await tx.one<Account>(sql`${find} FOR NO KEY UPDATE`);
  const needsSeat = account === undefined ? options.orNewIn !== undefined : account.isPending;
  if (needsSeat && !seats) throw new StaleRead();
  return { account, seats: needsSeat ? seats : undefined };
}

/** Records that a confirmed sign-up uses a seat. */
export async function takeSeatOf(
  tx: Transaction,
  { account, seats }: { account: Pick<Account, 'clubId'>; seats: LockedSeats | undefined },
  now: Date,
): Promise<void> {
  if (seats) await takeSeats(tx, account.clubId, seats, now);
}

/**
 * Turns pending sign-ups into accounts that count as students, because the club or a sale has named their addresses. A password may come
 * from a stranger, so the function removes the passwords. A person who signs in with such a password still gets `email_not_verified`. So
 * the answer does not show that the account was taken over (ADR 5). The caller holds the locks of the students and has reserved their
 * seats.
 */
export async function takeOver(
  tx: Transaction,
  studentIds: readonly Id[],
  by: Exclude<AccountOpener, 'sign_up'>,
  now: Date,
): Promise<void> {
  if (studentIds.length === 0) return;
  const purpose = 'student_sign_up_again';
  const expiresAt = new Date(now.getTime() + tokenLifetimeMs[purpose]);
  const ids = studentIds.map(() => randomUUID());
  await tx.run(sql`
    INSERT INTO one_time_tokens (id, purpose, student_id, password_hash, created_at, expires_at)
    SELECT offer.id, ${purpose}, student.id, student.password_hash, ${now}, ${expiresAt}
      FROM unnest(${ids}::uuid[], ${studentIds}::uuid[]) AS offer (id, student_id) JOIN students student ON student.id = offer.student_id
     WHERE student.password_hash IS NOT NULL AND ${pendingSignUp}
       AND NOT EXISTS (SELECT FROM one_time_tokens token WHERE token.student_id = student.id AND token.purpose = ${purpose})`);
  await tx.run(
    sql`UPDATE students SET opened_by = ${by}, password_hash = NULL WHERE id = ANY (${studentIds}) AND ${pendingSignUp}`,
  );
}

/** The network from which a sign-up comes, and an SQL condition for earlier sign-ups that the limits ignore. */
interface SignUpSource {
  network: string | undefined;
  /** An SQL condition on `students`: a sign-up that these limits do not count. */
  uncounted: Sql;
}

/**
 * Limits the unconfirmed sign-ups of a club, in total and from one network. It runs before the address is looked up, so that the answer
 * does not show whether the address is known. Simultaneous sign-ups do not see each other, so a few of them may exceed the limit.
 * @throws DomainError rate_limited
 */
export async function requireFewPending(
  db: Queries,
  vault: Vault,
  clubId: Id,
  { network, uncounted }: SignUpSource,
  now: Date,
): Promise<void> {
  const { anHour, anHourOfNetwork, hourMs } = pendingSignUpRules;
  const since = new Date(now.getTime() - hourMs);
  const counted = sql`students.club_id = ${clubId} AND students.removed_at IS NULL AND ${pendingSignUp} AND students.created_at > ${since}`;
  const oldestOf = (pending: Sql, most: number) =>
    db.one<{ createdAt: Date }>(
      sql`SELECT students.created_at AS "createdAt" FROM ${pending} ORDER BY students.created_at DESC OFFSET ${most - 1} LIMIT 1`,
    );
  const ofClub = await oldestOf(sql`students WHERE ${counted} AND NOT (${uncounted})`, anHour);
  if (ofClub) throw tooMany('refusal.too_many_sign_ups', ofClub.createdAt, now);
  if (network === undefined) return;
  const ofNetwork = await oldestOf(
    sql`sign_up_networks origin JOIN students ON students.id = origin.student_id
        WHERE origin.club_id = ${clubId} AND origin.network_key = ${networkKeyOf(vault, clubId, network)} AND ${counted}`,
    anHourOfNetwork,
  );
  if (ofNetwork) throw tooMany('refusal.too_many_sign_ups_of_network', ofNetwork.createdAt, now);
}

function tooMany(
  key: 'refusal.too_many_sign_ups' | 'refusal.too_many_sign_ups_of_network',
  since: Date,
  now: Date,
): RefusalToPerson {
  const seconds = Math.max(1, Math.ceil((since.getTime() + pendingSignUpRules.hourMs - now.getTime()) / 1_000));
  return new RefusalToPerson('rate_limited', ({ say }) => say(key, { minutes: minutesOf(seconds) }), {
    retryAfterSeconds: seconds,
  });
}

/** Records the network of a new sign-up as a hash, for an hour, because no limit counts older sign-ups. */
export async function noteNetwork(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, network }: { clubId: Id; studentId: Id; network: string },
  now: Date,
): Promise<void> {
  const networkKey = networkKeyOf(vault, clubId, network);
  await tx.manager.insert(SignUpNetwork, { studentId, clubId, networkKey, createdAt: now });
}

/** Deletes the recorded network of a removed student's sign-up. */
export async function forgetNetwork(tx: Transaction, studentId: Id): Promise<void> {
  await tx.manager.delete(SignUpNetwork, { studentId });
}

/** The hash depends on the club, so that stored hashes do not show that two clubs have the same visitor. */
const networkKeyOf = (vault: Vault, clubId: Id, network: string) =>
  vault.deriveLasting(`network of sign-ups:${clubId}:${network}`);
