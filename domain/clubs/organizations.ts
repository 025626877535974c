/** Opens clubs. The administrator who opens a club becomes its owner. */
import { Membership } from '../../entities/clubs/membership.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import type { PlanName } from '../../entities/billing/values.ts';
import { isOpenClub } from '../open-clubs.ts';
import { listOrganizations, type Organization } from '../identity/memberships.ts';
import { slugOf } from './slug.policy.ts';

/**
 * The number of slugs to try, each with a different suffix. All suffixes except the first are random, so a failure is practically
 * impossible.
 */
const slugTries = 5;

export interface NewClubs {
  plan: PlanName;
  /** The maximum number of clubs of which one administrator may be an owner. */
  perAdministrator: number;
}

/** @returns the new club as its owner sees it @throws DomainError invalid_request (the name contains a web address) */
export async function createOrganization(
  tx: Transaction,
  ownerId: Id,
  { name, plan, field = 'name' }: { name: string; plan: PlanName; field?: string },
  now: Date,
): Promise<Organization> {
  const tidy = plainName(name, field);
  for (let tries = 0; tries < slugTries; tries++) {
    const slug = slugOf(tidy, tries === 0 ? '' : crypto.randomUUID().slice(0, 6));
    const club = await tx.one<{ id: Id }>(
      sql`INSERT INTO clubs (id, name, slug, opening_plan, created_at) VALUES (${newId()}, ${tidy}, ${slug}, ${plan}, ${now}) ON CONFLICT (slug) DO NOTHING RETURNING id`,
    );
    if (!club) continue;
    await tx.manager.insert(Membership, { clubId: club.id, administratorId: ownerId, role: 'owner', joinedAt: now });
    return { organization_id: club.id, name: tidy, slug, role: 'owner' };
  }
  throw new DomainError('internal_error', 'No free slug was found for the organization.');
}

/**
 * Opens a club for an administrator with an account. The function locks the administrator's row, so requests of one administrator run one
 * after another.
 * @returns the new club as its owner sees it
 * @throws DomainError organization_limit_reached, invalid_request
 */
export async function openOrganization(
  { db, newClubs }: DatabaseDeps & { newClubs: NewClubs },
  ownerId: Id,
  name: string,
  now: Date,
): Promise<Organization> {
  return db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM administrators WHERE id = ${ownerId} FOR NO KEY UPDATE`);
    const ownedClubs = (await listOrganizations(tx, ownerId)).filter(({ role }) => role === 'owner').length;
    if (ownedClubs >= newClubs.perAdministrator)
      throw new DomainError(
        'organization_limit_reached',
        `You own ${ownedClubs} organizations. You may own at most ${newClubs.perAdministrator}.`,
      );
    return createOrganization(tx, ownerId, { name, plan: newClubs.plan }, now);
  });
}

/** @returns false also for a club whose erasure has begun (ERS-5) */
export async function clubExists(db: Queries, clubId: Id): Promise<boolean> {
  const club = await db.one(sql`SELECT 1 WHERE ${isOpenClub(clubId)}`);
  return club !== undefined;
}
