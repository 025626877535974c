/** Makes and checks a club's slug, the club's own part of the classroom's host name. */
import { withoutEnds } from '../../platform/core/text/ends.policy.ts';

/** A DNS label may have 63 characters, so there is room for a suffix. */
const maxLength = 40;

/**
 * Names that a club must not have as its slug. Some are host names of the operator's sites, some are looked up by programs (`wpad`,
 * `autodiscover`), and some seem to belong to the operator (`login`).
 */
const reserved = new Set(
  'account accounts admin api app assets auth autoconfig autodiscover billing blog cdn classroom club dashboard dev docs email files ftp help imap localhost login mail media ns1 ns2 payments pop postmaster security smtp sso staging static status support test webmail wpad www'.split(
    ' ',
  ),
);

export function isReserved(slug: string): boolean {
  return reserved.has(slug);
}

/**
 * @returns a slug of lower-case letters, digits and single hyphens. A reserved name gets the prefix `club-`, and a name without letters
 *   becomes `club`
 */
export function slugOf(name: string, suffix: string): string {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = withoutEnds(letters.replace(/[^a-z0-9]+/g, '-').slice(0, maxLength), '-');
  const parts = slug === '' || reserved.has(slug) ? ['club', slug] : [slug];
  return [...parts, suffix].filter((part) => part !== '').join('-');
}

/**
 * @param typed a label of a host name, in any case, with or without dots around it
 * @returns the slug as it is stored; undefined if no club can have such a slug
 */
export function readSlug(typed: string): string | undefined {
  const label = withoutEnds(typed, '.');
  return /^[A-Za-z0-9-]{1,63}$/.test(label) ? label.toLowerCase() : undefined;
}
