/**
 * Looks up and changes the slugs of a club. The table `club_slugs` has a row for the current slug of a club, and for each former slug that
 * still finds the club.
 */
import type { RecordOf } from '../../contract/contract.ts';
import { Club } from '../../entities/clubs/club.ts';
import { ClubSlug } from '../../entities/clubs/club-slug.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { violates } from '../../platform/infra/postgres/errors.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { findBranding, presentPublicBranding } from '../branding/branding.ts';
import { isOfErasedClub } from '../erasures/planned.ts';
import { languageOf, offeredLanguages } from '../language/languages.ts';
import { isReserved, readSlug } from './slug.policy.ts';

export const slugRules = {
  /** The time for which a former slug still finds its club. During this time no other club may use the slug (DEC-178). */
  answersForDays: 90,
  /**
   * The maximum number of former slugs that a club has at the same time, so that no club reserves an unlimited number of names (DEC-179).
   */
  former: 3,
} as const;

const dayMs = 86_400_000;

const frontColumns = columns(Club, ['id', 'name', 'slug', 'language'], 'club');
type FrontRow = RowOf<typeof frontColumns>;

/**
 * @param typed the slug in a host name. The function also looks up an invalid slug, so that the answer takes as long as for a valid slug
 * @returns the data that a front end shows before the sign-in (ACC-8)
 * @throws DomainError not_found, with the same answer for a malformed, an unknown and an expired slug
 */
export async function findClubFront(
  { db, publicUrl }: { db: Queries; publicUrl: string },
  typed: string,
  now: Date,
): Promise<RecordOf<'ClubFront'>> {
  const row = await db.one<FrontRow>(
    sql`SELECT ${frontColumns} FROM club_slugs held JOIN clubs club ON club.id = held.club_id
         WHERE held.slug = ${readSlug(typed) ?? 'no slug'} AND (held.answers_until IS NULL OR held.answers_until > ${now})
           AND club.erasing_at IS NULL`,
  );
  if (!row) throw new DomainError('not_found', 'No club has this slug.');
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    language: languageOf(row.language),
    languages: [...offeredLanguages],
    branding: presentPublicBranding(await findBranding(db, publicUrl, row.id)),
  };
}

const slugColumns = columns(ClubSlug, ['slug', 'clubId', 'answersUntil']);
type SlugRow = RowOf<typeof slugColumns>;

/**
 * Changes the slug of the club. The old slug still finds the club for 90 days (ACC-9). The caller holds the lock of the club's row.
 * @param change.from the current slug
 * @param change.to a slug that matches the pattern of the contract
 * @throws DomainError slug_taken if the slug is reserved, or if another club uses it, or used it less than 90 days ago (ACC-9, ERS-8);
 * slug_limit_reached
 */
export async function changeSlug(
  tx: Transaction,
  clubId: Id,
  { from, to }: { from: string; to: string },
  now: Date,
): Promise<void> {
  if (from === to) return;
  const rows = await tx.rows<SlugRow>(
    sql`SELECT ${slugColumns} FROM club_slugs WHERE slug = ${to} OR club_id = ${clubId} ORDER BY slug FOR UPDATE`,
  );
  requireFree(rows, clubId, to, now);
  if (await isOfErasedClub(tx, to)) throw slugTaken();
  requireRoomForFormer(rows, clubId, to, now);
  await tx.run(
    sql`DELETE FROM club_slugs WHERE slug = ${to} OR (club_id = ${clubId} AND answers_until <= ${now})`, // removes expired slugs
  );
  const answersUntil = new Date(now.getTime() + slugRules.answersForDays * dayMs);
  try {
    // Writes the tables in the same order as the code that opens a club. So a concurrent transaction that wants the same slug waits, and
    // does not deadlock.
    await tx.manager.update(Club, { id: clubId }, { slug: to });
    await tx.manager.update(ClubSlug, { slug: from, clubId }, { answersUntil });
    await tx.manager.insert(ClubSlug, { slug: to, clubId, answersUntil: null });
  } catch (error) {
    throw slugKeys.some((key) => violates(error, key)) ? slugTaken() : error;
  }
}

/** The unique keys of `clubs` and `club_slugs`. A violation means that a concurrent transaction has taken the slug. */
const slugKeys = ['UQ_11a81774605896dbb29c9e53605', 'PK_30ad84059888a9fc1d793b717cc'] as const;

const answers = ({ answersUntil }: SlugRow, now: Date) => answersUntil === null || answersUntil > now;

function requireFree(rows: readonly SlugRow[], clubId: Id, slug: string, now: Date): void {
  const holder = rows.find((row) => row.slug === slug);
  if (holder?.clubId === clubId) return;
  if (isReserved(slug) || (holder && answers(holder, now))) throw slugTaken();
}

const slugTaken = () =>
  new DomainError('slug_taken', 'The slug is reserved, or another club has it or had it less than 90 days ago.');

function requireRoomForFormer(rows: readonly SlugRow[], clubId: Id, slug: string, now: Date): void {
  const former = rows
    .filter((row) => row.clubId === clubId && row.slug !== slug && answers(row, now))
    .flatMap(({ answersUntil }) => answersUntil ?? []);
  if (former.length < slugRules.former) return;
  const free = new Date(Math.min(...former.map((date) => date.getTime())));
  throw new DomainError(
    'slug_limit_reached',
    `The club has ${former.length} former slugs. It may have at most ${slugRules.former}. The next one ends at ${free.toISOString()}. The club may take a former slug back earlier.`,
  );
}
