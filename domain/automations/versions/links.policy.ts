/** Limits how often automations start one another, so that a cycle of automations ends (AUTO-14). The functions are pure. */

const windowMs = 24 * 3_600_000;
/** The maximum number of links (starts of automations by one another) within the window. A run with more links fails. */
const longestChain = 10;

const within = (links: readonly string[], now: Date) =>
  links.filter((at) => new Date(at).getTime() > now.getTime() - windowMs);

/**
 * @param links the links of the fact that started the run. A link is the time at which one automation started another @returns the links of
 * a fact that this run records now
 */
export const linksAfter = (links: readonly string[], now: Date): string[] =>
  [...within(links, now), now.toISOString()].slice(-(longestChain + 1));

/** @returns whether the chain of a fact with these links is longer than the limit */
export const isTooLong = (links: readonly string[], now: Date): boolean => within(links, now).length > longestChain;
