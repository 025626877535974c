/** Derives the `public_id` of a course, a lesson or an agent from its title, if the author chose no `public_id`. */

export type PublicKind = 'course' | 'lesson' | 'agent' | 'repository' | 'space' | 'mentorship';

/** A `public_id` has at most 32 characters, with its suffix. */
const longest = 24;
/** This many suffixes are numbers; the later ones are random. */
const counted = 5;

/**
 * Yields ids to try in order: the words of the title, then with a number, then with random suffixes, without end.
 * @param kind used instead of a title without Latin letters or digits
 * @param draw returns up to seven random letters and digits
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
