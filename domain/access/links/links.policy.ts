/** Codes of registration links, and when a link can be claimed. */
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/** Codes are compared without regard to case. @returns undefined for what no code can be */
export function foldCode(code: string): string | undefined {
  return /^[A-Za-z0-9_-]{1,64}$/.test(code) ? code.toLowerCase() : undefined;
}

/** Shorter codes of earlier links stay good. */
const leastLength = 8;

/** @throws DomainError invalid_request for a code that could be guessed (LIM-27) */
export function requireLongCode(code: string): void {
  if (code.length < leastLength)
    throw new DomainError(
      'invalid_request',
      `\`code\` has ${code.length} characters; it must have at least ${leastLength}, so that nobody guesses it.`,
    );
}

export interface LinkState {
  revokedAt: Date | null;
  expiresAt: Date | null;
  maxUses: number | null;
  uses: number;
  /** Whether it has a delivery that can be granted at this time. */
  gives: boolean;
}

/** The one answer for a link that is unknown, expired, revoked or gives nothing any more. */
export const noLink = () => notFound('registration link');

/** @throws DomainError not_found, registration_link_used_up */
export function requireClaimable({ revokedAt, expiresAt, maxUses, uses, gives }: LinkState, now: Date): void {
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now) || !gives) throw noLink();
  if (maxUses !== null && uses >= maxUses)
    throw new RefusalToPerson('registration_link_used_up', 'refusal.registration_link_used_up');
}
