/** The limits of session links, and the check of the page on which a student lands (ENTRY-3, ENTRY-5). */

const second = 1_000;

export const sessionLinkRules = {
  lifetimeMs: 60 * second,
  /** A further link makes the oldest one void. */
  openPerStudent: 5,
  /** An expired link stays this long, because the clocks of processes differ. */
  retentionMs: 3_600 * second,
  /** In characters. */
  longestPath: 500,
} as const;

/** Any origin: the check asks only whether a browser would leave it. */
const anyOrigin = 'https://classroom.invalid';
/** A router that decodes its path would see a slash or a backslash. */
const encodedSlash = /%(?:2f|5c)/i;

/**
 * A path that a browser would change is refused, and so are dot segments, `//host`, backslashes and blanks. So the path means the same page
 * to this service, to the browser and to the classroom, and can never lead to another site.
 * @returns whether the text is a path inside the classroom, with an optional query and fragment
 */
export function isClassroomPath(text: string): boolean {
  if (!text.startsWith('/') || text.startsWith('//') || text.length > sessionLinkRules.longestPath) return false;
  const url = URL.parse(text, anyOrigin);
  return url?.href === anyOrigin + text && !encodedSlash.test(url.pathname);
}
