/** Opening a club: whoever opens it is its owner. */
import { Membership } from '../../entities/clubs/membership.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { tidyName } from '../../platform/core/text.policy.ts';
import type { Organization } from '../identity/memberships.ts';
import { slugOf } from './slug.policy.ts';

/** How many suffixes are tried before giving up; the last ones are random, so giving up does not happen. */
const slugTries = 5;

/** @returns the new club, seen by its owner */
export async function createOrganization(tx: Transaction, ownerId: Id, name: string, now: Date): Promise<Organization> {
  const tidy = tidyName(name);
  for (let tries = 0; tries < slugTries; tries++) {
    const slug = slugOf(tidy, tries === 0 ? '' : crypto.randomUUID().slice(0, 6));
    const club = await tx.one<{ id: Id }>(
      sql`INSERT INTO clubs (id, name, slug, created_at) VALUES (${newId()}, ${tidy}, ${slug}, ${now}) ON CONFLICT (slug) DO NOTHING RETURNING id`,
    );
    if (!club) continue;
    await tx.manager.insert(Membership, { clubId: club.id, administratorId: ownerId, role: 'owner', joinedAt: now });
    return { organization_id: club.id, name: tidy, slug, role: 'owner' };
  }
  throw new DomainError('internal_error', 'No free address was found for the organization.');
}

/** The same for an administrator who has an account. @returns the new club, seen by its owner */
export async function openOrganization(
  { db }: DatabaseDeps,
  ownerId: Id,
  name: string,
  now: Date,
): Promise<Organization> {
  return db.transaction((tx) => createOrganization(tx, ownerId, name, now));
}

export async function clubExists(db: Queries, clubId: Id): Promise<boolean> {
  const club = await db.one(sql`SELECT 1 FROM clubs WHERE id = ${clubId}`);
  return club !== undefined;
}
