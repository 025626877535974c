/** Defines which roles a member may give to other members or take from them (DEC-17). */
import type { Role } from '../../entities/clubs/values.ts';

/** Only owners can give the role `owner`. Editors and supporters can give no role. */
const givenBy: Readonly<Record<Role, readonly Role[]>> = {
  owner: ['owner', 'admin', 'editor', 'support'],
  admin: ['admin', 'editor', 'support'],
  editor: [],
  support: [],
};

/**
 * @param giver the role of the member; undefined for a person who is not a member
 * @returns the roles that a member with this role may give to other members
 */
export function rolesGivenBy(giver: Role | undefined): readonly Role[] {
  return giver === undefined ? [] : givenBy[giver];
}

/**
 * @returns the roles that a member can no longer give after a change of the member's role. `after` is undefined if the member was removed
 */
export function rolesNoLongerGiven(before: Role, after: Role | undefined): readonly Role[] {
  const remainingRoles = rolesGivenBy(after);
  return rolesGivenBy(before).filter((role) => !remainingRoles.includes(role));
}
