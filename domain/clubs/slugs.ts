/** The slugs under which a club answers: the current one, and former ones for some time. `club_slugs` has a row for each. */
import type { RecordOf } from '../../contract/contract.ts';
import { Club } from '../../entities/clubs/club.ts';
import { ClubSlug } from '../../entities/clubs/club-slug.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { violates } from '../../platform/infra/postgres/errors.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { findBranding, presentPublicBranding } from '../branding/branding.ts';
import { languageOf, offeredLanguages } from '../language/languages.ts';
import { isReserved, readSlug } from './slug.policy.ts';

export const slugRules = {
  /** For so long a former slug leads to its club, and no other club may take it (DEC-178). */
  answersForDays: 90,
  /** So many former slugs of a club answer at a time, so that nobody reserves names without end (DEC-179). */
  former: 3,
} as const;

const dayMs = 86_400_000;

const frontColumns = columns(Club, ['id', 'name', 'slug', 'language'], 'club');
type FrontRow = RowOf<typeof frontColumns>;

/**
 * @param typed a slug as it stands in a host name. A text that is no slug is looked up like every other, so that its answer takes as long
 * @returns what a front end shows before anybody signs in (ACC-8)
 * @throws DomainError not_found, the same for a malformed, an unknown and an expired slug
 */
export async function findClubFront(
  { db, publicUrl }: { db: Queries; publicUrl: string },
  typed: string,
  now: Date,
): Promise<RecordOf<'ClubFront'>> {
  const row = await db.one<FrontRow>(
    sql`SELECT ${frontColumns} FROM club_slugs held JOIN clubs club ON club.id = held.club_id
         WHERE held.slug = ${readSlug(typed) ?? 'no slug'} AND (held.answers_until IS NULL OR held.answers_until > ${now})`,
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
 * Gives the club another slug; the one that it leaves answers for 90 days (ACC-9). The caller has locked the club's row.
 * @param change.from the current slug
 * @param change.to matches the pattern of the contract
 * @throws DomainError slug_taken (reserved, of another club, or left by one less than 90 days ago), slug_limit_reached
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
  requireRoomForFormer(rows, clubId, to, now);
  await tx.run(
    sql`DELETE FROM club_slugs WHERE slug = ${to} OR (club_id = ${clubId} AND answers_until <= ${now})`, // so a club has few rows
  );
  const answersUntil = new Date(now.getTime() + slugRules.answersForDays * dayMs);
  try {
    // In the order in which the insertion of a club writes the two tables: a rival waits, and does not deadlock.
    await tx.manager.update(Club, { id: clubId }, { slug: to });
    await tx.manager.update(ClubSlug, { slug: from, clubId }, { answersUntil });
    await tx.manager.insert(ClubSlug, { slug: to, clubId, answersUntil: null });
  } catch (error) {
    throw slugKeys.some((key) => violates(error, key)) ? slugTaken() : error;
  }
}

/** Of `clubs` and of `club_slugs`: a rival took the slug while this transaction was under way. */
const slugKeys = ['UQ_11a81774605896dbb29c9e53605', 'PK_30ad84059888a9fc1d793b717cc'] as const;

const answers = ({ answersUntil }: SlugRow, now: Date) => answersUntil === null || answersUntil > now;

function requireFree(rows: readonly SlugRow[], clubId: Id, slug: string, now: Date): void {
  const holder = rows.find((row) => row.slug === slug);
  if (holder?.clubId === clubId) return;
  if (isReserved(slug) || (holder && answers(holder, now))) throw slugTaken();
}

const slugTaken = () =>
  new DomainError('slug_taken', 'slug is reserved, or another club has it or had it less than 90 days ago.');

function requireRoomForFormer(rows: readonly SlugRow[], clubId: Id, slug: string, now: Date): void {
  const former = rows
    .filter((row) => row.clubId === clubId && row.slug !== slug && answers(row, now))
    .flatMap(({ answersUntil }) => answersUntil ?? []);
  if (former.length < slugRules.former) return;
  const free = new Date(Math.min(...former.map((date) => date.getTime())));
  throw new DomainError(
    'slug_limit_reached',
    `The club has ${former.length} former slugs, and may have ${slugRules.former}. The next one ends at ${free.toISOString()}. A former slug may be taken back before.`,
  );
}
