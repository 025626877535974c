/** Lists the clubs of an administrator. */
import type { Role } from '../../entities/clubs/values.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';

export interface Organization {
  organization_id: Id;
  name: string;
  slug: string;
  role: Role;
}

/** @returns the clubs of an administrator, sorted by name */
export function listOrganizations(db: Queries, administratorId: Id): Promise<Organization[]> {
  return db.rows<Organization>(sql`SELECT club.id AS organization_id, club.name, club.slug, membership.role
       FROM memberships membership JOIN clubs club ON club.id = membership.club_id
      WHERE membership.administrator_id = ${administratorId} AND club.erasing_at IS NULL ORDER BY club.name, club.id`);
}
