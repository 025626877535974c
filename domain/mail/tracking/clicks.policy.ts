/** Whether a click is a person's. A person follows one link at a time; a scanner follows them all at once (CAMP-13). */
import type { Id } from '../../../platform/core/ids.ts';

/** Links of one mail that are followed within so many milliseconds are followed by a machine. */
export const burstMs = 2_000;

/** That a link of a mail was followed, by a person or by a machine. Times are Unix milliseconds. */
export interface KnownClick {
  linkId: Id;
  machine: boolean;
  /** For the first time. */
  at: number;
  lastAt: number;
}

/**
 * @param known the clicks of the mail so far
 * @param click its `machine`: what the visit says of itself
 * @returns whether it is a machine's, and which known clicks of people turn out to be a machine's by it
 */
export function judgeClick(
  known: readonly KnownClick[],
  click: { linkId: Id; machine: boolean; at: number },
): { machine: boolean; turned: readonly KnownClick[] } {
  const others = known.filter(({ linkId }) => linkId !== click.linkId);
  const isNear = (at: number) => Math.abs(click.at - at) <= burstMs;
  return {
    machine: click.machine || others.some(({ lastAt }) => isNear(lastAt)),
    turned: others.filter(({ machine, at }) => !machine && isNear(at)),
  };
}
