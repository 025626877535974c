/** Finds the language of the person who reads a refusal (DEC-188). */
import { acceptedLanguage } from '../../domain/language/chosen.ts';
import { findClubLanguage } from '../../domain/clubs/settings.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { clubNamedBy } from './session.ts';
import type { ApiDeps, Context } from './context.ts';

/** Matches the paths of students' operations. All other operations are for administrators and programs. */
const ofStudents = /^\/v1\/(?:auth\/(?!admin\/)|clubs\/[^/]+\/classroom\/)/;

/**
 * For these errors only the browser decides the language, and the service does not read the club's language. Either Postgres must not be
 * used, or the answer must not reveal whether the club exists.
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
 * Finds the languages for `languageOf`, the best first. A student with a session reads their own language, or else the club's language. A
 * student without a session reads the browser's language, or else the club's language. @returns undefined for administrators and programs,
 * which read English
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

/** @returns the languages of the browser, or else the language of the club, for public pages */
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
