/** Finds the language of the person who reads a refusal (DEC-188). */
import { acceptedLanguage } from '../../domain/language/chosen.ts';
import { findClubLanguage } from '../../domain/clubs/settings.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { clubNamedBy } from './session.ts';
import type { ApiDeps, Context } from './context.ts';

/** These paths are for students. All other operations are for administrators and programs. */
const ofStudents = /^\/v1\/(?:auth\/(?!admin\/)|clubs\/[^/]+\/classroom\/)/;

/**
 * Only the browser decides the language of these errors: either Postgres must not be used, or the answer must not reveal whether the club
 * exists.
 */
const byBrowserAlone: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'rate_limited',
  'rate_limit_unavailable',
  'busy',
  'internal_error',
  'unauthenticated',
  'invalid_credentials',
  'token_gone',
]);

/**
 * Finds the languages for `languageOf`, the best first. A student with a session reads their own language, otherwise the browser's; then
 * the club's. @returns
 * undefined for administrators and programs, because they read English
 */
export async function languagesOfReader(
  { deps }: Pick<ApiDeps, 'deps'>,
  context: Context,
  code: ErrorCode,
): Promise<readonly (string | null)[] | undefined> {
  const { caller } = context.state;
  if (caller?.kind === 'student') return [caller.student.language, caller.student.clubLanguage];
  if (caller || !ofStudents.test(context.path)) return undefined;
  return languagesOfBrowser({ deps }, context, code);
}

/** @returns the browser's languages, or else the club's, for public pages */
export async function languagesOfBrowser(
  { deps }: Pick<ApiDeps, 'deps'>,
  context: Context,
  code: ErrorCode,
): Promise<readonly (string | null)[]> {
  const accepted = acceptedLanguage(context.get('accept-language'));
  if (accepted !== null || byBrowserAlone.has(code)) return [accepted];
  const ofClub = await findClubLanguage(deps.db, clubNamedBy(context)).catch(() => null);
  return [ofClub];
}
