/** A club's own settings: its name, its time zone and its language. */
import type { RecordOf } from '../../contract/contract.ts';
import type { Language } from '../../entities/clubs/values.ts';
import { syncSources } from '../knowledge/sources.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { tidyName } from '../../platform/core/text.policy.ts';

type Club = RecordOf<'Club'>;

interface ClubRow {
  id: Id;
  name: string;
  slug: string;
  timeZone: string;
  language: Language;
  createdAt: Date;
}

/** @throws Error if there is no such club: whoever asks acts in it */
export async function findClub(db: Queries, clubId: Id): Promise<Club> {
  return presentClub(await readClub(db, clubId));
}

/**
 * Changes what is given; what is absent stays. Another language has everything in the club's index read anew.
 * @throws DomainError invalid_request (a time zone that is none)
 */
export async function updateClub(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'ClubChange'>,
  now: Date,
): Promise<Club> {
  return db.transaction(async (tx) => {
    const before = await readClub(tx, clubId, 'FOR NO KEY UPDATE');
    if (input.time_zone !== undefined) await requireTimeZone(tx, input.time_zone);
    const language = input.language ?? before.language;
    await tx.run(
      sql`UPDATE clubs SET name = coalesce(${input.name === undefined ? null : tidyName(input.name)}, name), time_zone = coalesce(${input.time_zone ?? null}, time_zone), language = ${language} WHERE id = ${clubId}`,
    );
    if (language !== before.language) await syncSources(tx, clubId, { wholeClub: true, contentChanged: true }, now);
    return findClub(tx, clubId);
  });
}

async function readClub(db: Queries, clubId: Id, lock = ''): Promise<ClubRow> {
  const row = await db.one<ClubRow>(
    sql`SELECT id, name, slug, time_zone AS "timeZone", language, created_at AS "createdAt" FROM clubs WHERE id = ${clubId} ${raw(lock)}`,
  );
  if (!row) throw new Error('There is no such club');
  return row;
}

/** Both must know it: Postgres counts months in it, and Node hours of a day. */
async function requireTimeZone(tx: Transaction, name: string): Promise<void> {
  const known = await tx.rows(sql`SELECT 1 FROM pg_timezone_names WHERE name = ${name}`);
  if (known.length === 0 || !isKnownHere(name))
    throw new DomainError('invalid_request', 'time_zone must be a name of the IANA time zone database.');
}

function isKnownHere(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function presentClub(row: ClubRow): Club {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    time_zone: row.timeZone,
    language: row.language,
    created_at: row.createdAt.toISOString(),
  };
}
