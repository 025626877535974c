/** The person who reads a refusal, and their language (DEC-188). */
import { acceptedLanguage } from '../../domain/language/chosen.ts';
import { findClubLanguage } from '../../domain/clubs/settings.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { clubNamedBy } from './session.ts';
import type { ApiDeps, Context } from './context.ts';

/** Operations of students, with and without a session; the others are read by administrators and programs. */
const ofStudents = /^\/v1\/(?:auth\/(?!admin\/)|clubs\/[^/]+\/classroom\/)/;

/**
 * Refusals that never ask for the club's language: they must cost Postgres nothing, found it away, or must not tell whether there is
 * such a club.
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
 * @returns the languages that a student prefers, the best first, as for `languageOf`: their own and their club's, or without a session
 * the browser's and the club's. Undefined for administrators and programs, which read English.
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

/** @returns the languages of the browser, else of the club: for public pages */
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
