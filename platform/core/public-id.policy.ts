/** How a course, a lesson or an agent gets a `public_id` that nobody chose: made from its title. */

/** Kinds of records with a `public_id`. */
export type PublicKind = 'course' | 'lesson' | 'agent' | 'repository' | 'space' | 'mentorship';

/** 32 characters, without the longest ending that keeps it apart from others. */
const longest = 24;
/** Endings that are counted; after these they are drawn. */
const counted = 5;

/**
 * The ids to try, one after another: the words of the title, the same with a number, and then with a drawn ending for ever.
 * @param kind stands in for a title without Latin letters and digits
 * @param draw gives up to seven letters and digits
 */
export function* publicIdsFrom(title: string, kind: PublicKind, draw: () => string): Generator<string, never> {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, longest)
    .replace(/-$/, '');
  const base = words === '' ? kind : words;
  yield base;
  for (let number = 2; number <= counted; number++) yield `${base}-${number}`;
  for (;;) yield `${base}-${draw()}`;
}
