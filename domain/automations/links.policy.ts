/** How often automations start one another: a circle of them must end (AUTO-14). Pure. */

const windowMs = 24 * 3_600_000;
/** Links within the window; a run beyond fails. */
const longestChain = 10;

const within = (links: readonly string[], now: Date) =>
  links.filter((at) => new Date(at).getTime() > now.getTime() - windowMs);

/** @returns the links of a fact that a run with these links causes */
export const linksAfter = (links: readonly string[], now: Date): string[] =>
  [...within(links, now), now.toISOString()].slice(-(longestChain + 1));

/** @returns whether a fact with these links is one too many */
export const isTooLong = (links: readonly string[], now: Date): boolean => within(links, now).length > longestChain;
