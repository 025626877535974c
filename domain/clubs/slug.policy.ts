/** A club's slug: the part of the classroom's host name that is its own. */
import { withoutEnds } from '../../platform/core/ends.policy.ts';

/** A DNS label holds 63 characters; this leaves room for a suffix. */
const longest = 40;

/** Host names that the operator's own sites are likely to have beside the classrooms'. */
const reserved = new Set(
  'admin api app assets auth billing blog cdn classroom club dashboard dev docs ftp help imap mail media ns1 ns2 pop smtp sso staging static status support test www'.split(
    ' ',
  ),
);

/** @returns lower-case letters, digits and single hyphens; with `club` before it where the name is a reserved one, and alone where it has no letters */
export function slugOf(name: string, suffix: string): string {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = withoutEnds(letters.replace(/[^a-z0-9]+/g, '-').slice(0, longest), '-');
  const own = slug === '' || reserved.has(slug) ? ['club', slug] : [slug];
  return [...own, suffix].filter((part) => part !== '').join('-');
}
