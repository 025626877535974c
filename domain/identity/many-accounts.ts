/** Students' accounts found or opened for many people at once, in a number of statements that does not grow with theirs. */
import { lockStudentCount } from '../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../platform/core/ids.ts';

/** Somebody of a list; the address is folded, the name tidy. */
export interface ListedPerson {
  email: string;
  name: string;
}

export interface FoundAccount {
  studentId: Id;
  created: boolean;
}

/**
 * Finds the students of these addresses, opens accounts for the others, and holds the rows of all. In the order of locks: the
 * club's count where a look without a lock misses somebody, then the students who are there, by their ids. Facts and mails about
 * those who are created are the caller's.
 * @param people no address twice
 * @param room how many of so many new accounts may be opened; the first in the list are
 * @returns by address; without those for whom there was no room
 * @throws StaleRead (an account came or went since the look)
 */
export async function findOrOpenAccounts(
  tx: Transaction,
  clubId: Id,
  people: readonly ListedPerson[],
  room: (wanted: number) => Promise<number>,
  now: Date,
): Promise<Map<string, FoundAccount>> {
  const accounts = new Map<string, FoundAccount>();
  const note = (found: readonly { id: Id; email: string }[], created: boolean) => {
    for (const { id, email } of found) accounts.set(email, { studentId: id, created });
  };
  const isCountHeld = (await countByAddress(tx, clubId, people)) < people.length;
  if (isCountHeld) await lockStudentCount(tx, clubId);
  note(await lockByAddress(tx, clubId, people), false);
  const unknown = people.filter(({ email }) => !accounts.has(email));
  if (unknown.length === 0) return accounts;
  // Somebody was removed, or has another address, since the look: students are held by now, it is too late for the count.
  if (!isCountHeld) throw new StaleRead();

  const opened = unknown.slice(0, await room(unknown.length));
  note(await insert(tx, clubId, opened, now), true);
  // Somebody was given one of the addresses by a correction: nobody is added by others while the count is held.
  if (opened.some(({ email }) => !accounts.has(email))) throw new StaleRead();
  return accounts;
}

async function countByAddress(tx: Transaction, clubId: Id, people: readonly ListedPerson[]): Promise<number> {
  const row = await tx.one<{ known: number }>(
    sql`SELECT count(*)::int AS known FROM students WHERE club_id = ${clubId} AND email = ANY (${people.map(({ email }) => email)})`,
  );
  return row?.known ?? 0;
}

async function lockByAddress(
  tx: Transaction,
  clubId: Id,
  people: readonly ListedPerson[],
): Promise<{ id: Id; email: string }[]> {
  return tx.rows<{ id: Id; email: string }>(
    sql`SELECT id, email FROM students WHERE club_id = ${clubId} AND email = ANY (${people.map(({ email }) => email)}) ORDER BY id FOR NO KEY UPDATE`,
  );
}

/** In the order of the addresses, so that two lists with the same people wait for one another and not in a circle. */
async function insert(
  tx: Transaction,
  clubId: Id,
  people: readonly ListedPerson[],
  now: Date,
): Promise<{ id: Id; email: string }[]> {
  const rows = people
    .map(({ email, name }) => ({ id: newId(), email, name }))
    .toSorted((a, b) => (a.email < b.email ? -1 : 1));
  return tx.rows<{ id: Id; email: string }>(sql`INSERT INTO students (id, club_id, name, email, created_at)
     SELECT person.id, ${clubId}, person.name, person.email, ${now}
       FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ name }) => name)}::text[], ${rows.map(({ email }) => email)}::text[]) WITH ORDINALITY AS person (id, name, email, place) ORDER BY place
     ON CONFLICT (club_id, email) DO NOTHING RETURNING id, email`);
}
