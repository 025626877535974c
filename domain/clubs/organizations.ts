/** Opening a club: whoever opens it is its owner. */
import { DomainError } from '../../platform/core/errors.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
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
    const [club] = await tx.query<{ id: Id }[]>(
      `INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (slug) DO NOTHING RETURNING id`,
      [newId(), tidy, slug, now],
    );
    if (!club) continue;
    await tx.query(
      `INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($1, $2, 'owner', $3)`,
      [club.id, ownerId, now],
    );
    return { organization_id: club.id, name: tidy, slug, role: 'owner' };
  }
  throw new DomainError('internal_error', 'No free address was found for the organization.');
}

/** The same for an administrator who has an account. @returns the new club, seen by its owner */
export async function openOrganization(
  { database }: DatabaseDeps,
  ownerId: Id,
  name: string,
  now: Date,
): Promise<Organization> {
  return database.transaction((tx) => createOrganization(tx, ownerId, name, now));
}

export async function clubExists(db: Queries, clubId: Id): Promise<boolean> {
  const [club] = await db.query<unknown[]>(`SELECT 1 FROM clubs WHERE id = $1`, [clubId]);
  return club !== undefined;
}
