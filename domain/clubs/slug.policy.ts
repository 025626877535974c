/** A club's slug: the part of the classroom's host name that is its own. */

/** A DNS label holds 63 characters; this leaves room for a suffix. */
const longest = 40;

/** @returns lower-case letters, digits and single hyphens; `club` where the name has none of them */
export function slugOf(name: string, suffix: string): string {
  const letters = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const slug = letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replace(/^-+|-+$/g, '');
  return [slug === '' ? 'club' : slug, suffix].filter((part) => part !== '').join('-');
}
