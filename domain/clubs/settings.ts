/** Reads and changes a club's settings: its name, its slug, its time zone and its language. */
import type { RecordOf } from '../../contract/contract.ts';
import { Club } from '../../entities/clubs/club.ts';
import { clubLanguageOf } from '../language/chosen.ts';
import { syncSources } from '../knowledge/sources.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { findErasesAt } from '../erasures/planned.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import { isZoneName } from '../../platform/core/time/time-zones.ts';
import { changeSlug } from './slugs.ts';

type ClubRecord = RecordOf<'Club'>;

const clubColumns = columns(Club, ['id', 'name', 'slug', 'timeZone', 'language', 'createdAt']);
type ClubRow = RowOf<typeof clubColumns>;

/** @throws Error if there is no such club, because callers have already checked the membership */
export async function findClub(db: Queries, clubId: Id): Promise<ClubRecord> {
  return presentClub(await readClub(db, clubId), await findErasesAt(db, clubId));
}

/** @returns the tag of the club's language; null if there is no such club, or if its erasure has begun */
export async function findClubLanguage(db: Queries, clubId: Id): Promise<string | null> {
  const row = await db.one<{ language: string }>(
    sql`SELECT language FROM clubs WHERE id = ${clubId} AND erasing_at IS NULL`,
  );
  return row?.language ?? null;
}

/**
 * Changes the settings that `input` contains. If the language changes, the whole content of the club is indexed again.
 * @throws DomainError invalid_request (the time zone is unknown), slug_taken, slug_limit_reached
 */
export async function updateClub(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'ClubChange'>,
  now: Date,
): Promise<ClubRecord> {
  return db.transaction(async (tx) => {
    // The slug is a key, so its change needs FOR UPDATE. A transaction that begins with a weaker lock could deadlock later.
    const lock = input.slug === undefined ? sql`FOR NO KEY UPDATE` : sql`FOR UPDATE`;
    const before = await readClub(tx, clubId, lock);
    if (input.time_zone !== undefined) requireTimeZone(input.time_zone);
    const language = input.language ?? before.language;
    await tx.run(
      sql`UPDATE clubs SET name = coalesce(${input.name === undefined ? null : plainName(input.name)}, name), time_zone = coalesce(${input.time_zone ?? null}, time_zone), language = ${language} WHERE id = ${clubId}`,
    );
    if (input.slug !== undefined) await changeSlug(tx, clubId, { from: before.slug, to: input.slug }, now);
    if (language !== before.language) await syncSources(tx, clubId, { wholeClub: true, contentChanged: true }, now);
    return findClub(tx, clubId);
  });
}

async function readClub(db: Queries, clubId: Id, lock = sql``): Promise<ClubRow> {
  const row = await db.one<ClubRow>(sql`SELECT ${clubColumns} FROM clubs WHERE id = ${clubId} ${lock}`);
  if (!row) throw new Error(`There is no club ${clubId}`);
  return row;
}

/** @throws DomainError invalid_request if Node does not know the zone (DEC-154) */
export function requireTimeZone(name: string): void {
  if (!isZoneName(name))
    throw new DomainError('invalid_request', 'time_zone must be a name of the IANA time zone database.');
}

function presentClub(row: ClubRow, erasesAt: Date | undefined): ClubRecord {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    time_zone: row.timeZone,
    language: clubLanguageOf(row.language),
    created_at: row.createdAt.toISOString(),
    ...(erasesAt && { erases_at: erasesAt.toISOString() }),
  };
}
