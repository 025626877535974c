/** Opening a club: the administrator who opens it is its owner. */
import { Membership } from '../../entities/clubs/membership.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/names.ts';
import type { PlanName } from '../../entities/billing/values.ts';
import type { Organization } from '../identity/memberships.ts';
import { slugOf } from './slug.policy.ts';

/** How many suffixes are tried before giving up; the last ones are random, so giving up does not happen. */
const slugTries = 5;

/** What the operator decides of clubs that are opened. */
export interface NewClubs {
  /** Until billing says otherwise. */
  plan: PlanName;
  /** Of which one administrator may be an owner. */
  perAdministrator: number;
}

/** @returns the new club, seen by its owner @throws DomainError invalid_request (a web address in the name) */
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
  throw new DomainError('internal_error', 'No free address was found for the organization.');
}

/**
 * The same for an administrator who has an account. Two requests at once take turns at the administrator's row.
 * @returns the new club, seen by its owner
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
    const owned = await tx.manager.countBy(Membership, { administratorId: ownerId, role: 'owner' });
    if (owned >= newClubs.perAdministrator)
      throw new DomainError(
        'organization_limit_reached',
        `You own ${owned} organizations, and may own ${newClubs.perAdministrator}.`,
      );
    return createOrganization(tx, ownerId, { name, plan: newClubs.plan }, now);
  });
}

export async function clubExists(db: Queries, clubId: Id): Promise<boolean> {
  const club = await db.one(sql`SELECT 1 FROM clubs WHERE id = ${clubId}`);
  return club !== undefined;
}
