/** Finds or opens accounts for many people. The number of statements does not grow with the number of people. */
import { lockStudentCount } from '../../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { followAccess } from '../../joining/joining.ts';
import { pendingSignUp, takeOver } from './pending-sign-ups.ts';

/** A person in the list of the caller. The address is in lower case and the name is normalized. */
export interface ListedPerson {
  email: string;
  name: string;
}

export interface FoundAccount {
  studentId: Id;
  created: boolean;
  /** Whether this act of the club confirms a pending sign-up (DEC-62). */
  takenOver: boolean;
}

/**
 * Finds the students with these addresses, opens accounts for the other addresses, and locks all rows. The function first reads the
 * students without a lock. If one of the people is not in the club's count of students yet, the function locks this count before any
 * student. It
 * then locks the existing students, ordered by id. The caller records the facts and mails of new students, and the mails to students whose
 * pending sign-up was confirmed.
 * @param people the people, without duplicate addresses
 * @param room a function that reserves seats. It receives the number of people whom the club's count does not include yet, and returns the
 * number of seats for them. The first people in the list get these seats
 * @returns the accounts by address. The result has no entry for people who got no seat
 * @throws StaleRead if an account was created or deleted after the read
 */
export async function findOrOpenAccounts(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  people: readonly ListedPerson[],
  room: (requested: number) => Promise<number>,
  now: Date,
): Promise<Map<string, FoundAccount>> {
  const isCountHeld = (await countByAddress(tx, clubId, people)) < people.length;
  if (isCountHeld) await lockStudentCount(tx, clubId);
  const existingAccounts = new Map(
    (await lockByAddress(tx, clubId, people)).map((account) => [account.email, account]),
  );
  const uncounted = people.filter(({ email }) => existingAccounts.get(email)?.isPending ?? true);
  // A student was removed or got another address after the first read. The count must be locked before any student, so this transaction
  // cannot lock it any more.
  if (uncounted.length > 0 && !isCountHeld) throw new StaleRead();

  const admitted = uncounted.length === 0 ? [] : uncounted.slice(0, await room(uncounted.length));
  const accounts = new Map<string, FoundAccount>();
  for (const { id, email, isPending } of existingAccounts.values())
    if (!isPending) accounts.set(email, { studentId: id, created: false, takenOver: false });
  const pending = admitted.flatMap(({ email }) => existingAccounts.get(email) ?? []);
  await takeOver(
    tx,
    pending.map(({ id }) => id),
    'club',
    now,
  );
  for (const { id, email } of pending) accounts.set(email, { studentId: id, created: false, takenOver: true });
  const newPeople = admitted.filter(({ email }) => !existingAccounts.has(email));
  if (newPeople.length > 0)
    for (const { id, email } of await insert(tx, vault, clubId, newPeople, now))
      accounts.set(email, { studentId: id, created: true, takenOver: false });
  // A sign-up or a correction has taken one of the addresses after the students were locked.
  if (newPeople.some(({ email }) => !accounts.has(email))) throw new StaleRead();
  return accounts;
}

/** @returns the number of these addresses that belong to students whom the club's count includes */
async function countByAddress(tx: Transaction, clubId: Id, people: readonly ListedPerson[]): Promise<number> {
  const row = await tx.one<{ known: number }>(
    sql`SELECT count(*)::int AS known FROM students
         WHERE club_id = ${clubId} AND email = ANY (${people.map(({ email }) => email)}) AND NOT (${pendingSignUp})`,
  );
  return row?.known ?? 0;
}

async function lockByAddress(
  tx: Transaction,
  clubId: Id,
  people: readonly ListedPerson[],
): Promise<{ id: Id; email: string; isPending: boolean }[]> {
  return tx.rows<{ id: Id; email: string; isPending: boolean }>(
    sql`SELECT id, email, ${pendingSignUp} AS "isPending" FROM students
         WHERE club_id = ${clubId} AND email = ANY (${people.map(({ email }) => email)}) ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** Inserts the accounts in the order of their addresses, so that two lists with the same people cause no deadlock. */
async function insert(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  people: readonly ListedPerson[],
  now: Date,
): Promise<{ id: Id; email: string }[]> {
  const rows = people
    .map(({ email, name }) => ({ id: newId(), email, name, key: addressKeyOf(vault, email) }))
    .toSorted((a, b) => (a.email < b.email ? -1 : 1));
  const newRows = await tx.rows<{
    id: Id;
    email: string;
  }>(sql`INSERT INTO students (id, club_id, name, email, email_key, opened_by, created_at)
     SELECT person.id, ${clubId}, person.name, person.email, person.key, 'club', ${now}
       FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ name }) => name)}::text[], ${rows.map(({ email }) => email)}::text[], ${rows.map(({ key }) => key)}::bytea[]) WITH ORDINALITY AS person (id, name, email, key, position) ORDER BY position
     ON CONFLICT (club_id, email) DO NOTHING RETURNING id, email`);
  await followAccess(tx, { clubId, studentIds: newRows.map(({ id }) => id) }, now);
  return newRows;
}
