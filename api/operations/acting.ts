/** The role and the person of an actor. A program has neither, so rules replace them. */
import type { Role } from '../../entities/clubs/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Actor } from '../operation.ts';

/** A program has the rights of an admin within its scopes, because owners and admins choose them (KEY-3) */
export const roleOf = (actor: Actor): Role => (actor.kind === 'key' ? 'admin' : actor.role);

/**
 * @param field the field of the body in which a program names a person
 * @returns the administrator
 * @throws DomainError invalid_request, if a program names no person
 */
export function personOf(actor: Actor, field: string): Id {
  if (actor.kind === 'administrator') return actor.id;
  throw new DomainError('invalid_request', `${field} is required if an API key calls.`);
}

/** @returns the id of the key, in an operation that permits no role @throws Error for a person */
export function keyOf(actor: Actor): Id {
  if (actor.kind === 'key') return actor.id;
  throw new Error('A person cannot call this operation');
}
