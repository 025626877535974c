/** Checks the codes of registration links, and decides whether a link can be claimed. */
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/** Normalizes a code, so that upper and lower case do not matter. @returns undefined if the text cannot be a code */
export function foldCode(code: string): string | undefined {
  return /^[A-Za-z0-9_-]{1,64}$/.test(code) ? code.toLowerCase() : undefined;
}

/** The minimum length of a new code. Shorter codes of older links stay valid. */
const minLength = 8;

/** @throws DomainError invalid_request if the code is so short that it could be guessed (LIM-27) */
export function requireLongCode(code: string): void {
  if (code.length < minLength)
    throw new DomainError(
      'invalid_request',
      `\`code\` has ${code.length} characters. It must have at least ${minLength}, so that it cannot be guessed.`,
    );
}

export interface LinkState {
  revokedAt: Date | null;
  expiresAt: Date | null;
  maxUses: number | null;
  uses: number;
  /** Whether the link has at least one delivery that can be granted at this time. */
  gives: boolean;
}

/** An unknown, expired or revoked link and a link without grantable deliveries all get this error. */
export const noLink = () => notFound('registration link');

/** @throws DomainError not_found, registration_link_used_up */
export function requireClaimable({ revokedAt, expiresAt, maxUses, uses, gives }: LinkState, now: Date): void {
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now) || !gives) throw noLink();
  if (maxUses !== null && uses >= maxUses)
    throw new RefusalToPerson('registration_link_used_up', 'refusal.registration_link_used_up');
}
