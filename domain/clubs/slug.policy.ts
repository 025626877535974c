/** A club's slug: the part of the classroom's host name that is its own. */
import { withoutEnds } from '../../platform/core/ends.policy.ts';

/** A DNS label holds 63 characters; this leaves room for a suffix. */
const longest = 40;

/**
 * Host names that the operator's own sites are likely to have beside the classrooms', names that programs look up by themselves
 * (`wpad`, `autodiscover`), and names that people take for the operator's (`login`).
 */
const reserved = new Set(
  'account accounts admin api app assets auth autoconfig autodiscover billing blog cdn classroom club dashboard dev docs email files ftp help imap localhost login mail media ns1 ns2 payments pop postmaster security smtp sso staging static status support test webmail wpad www'.split(
    ' ',
  ),
);

/** Whether no club may choose the slug. */
export function isReserved(slug: string): boolean {
  return reserved.has(slug);
}

/** @returns lower-case letters, digits and single hyphens; with `club` before it where the name is a reserved one, and alone where it has no letters */
export function slugOf(name: string, suffix: string): string {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = withoutEnds(letters.replace(/[^a-z0-9]+/g, '-').slice(0, longest), '-');
  const own = slug === '' || reserved.has(slug) ? ['club', slug] : [slug];
  return [...own, suffix].filter((part) => part !== '').join('-');
}

/**
 * @param typed a label of a host name, in any case, with dots around it or not
 * @returns the slug as it is stored; undefined for a text that no club can have
 */
export function readSlug(typed: string): string | undefined {
  const label = withoutEnds(typed, '.');
  return /^[A-Za-z0-9-]{1,63}$/.test(label) ? label.toLowerCase() : undefined;
}
