/** Which roles a member may give to others, and take from them (DEC-17). */
import type { Role } from '../../entities/clubs/values.ts';

/** By the role of the giver. Only owners make owners; editors and supporters make nobody anything. */
const givenBy: Readonly<Record<Role, readonly Role[]>> = {
  owner: ['owner', 'admin', 'editor', 'support'],
  admin: ['admin', 'editor', 'support'],
  editor: [],
  support: [],
};

/** @param giver undefined for somebody who is no member @returns the roles that they may give */
export function rolesGivenBy(giver: Role | undefined): readonly Role[] {
  return giver === undefined ? [] : givenBy[giver];
}

/** @returns the roles that somebody may no longer give after a change of their own; `after` is undefined for a removal */
export function rolesNoLongerGiven(before: Role, after: Role | undefined): readonly Role[] {
  const still = rolesGivenBy(after);
  return rolesGivenBy(before).filter((role) => !still.includes(role));
}
