/**
 * Decides whether a click came from a person or a machine. A person follows one link at a time; a scanner follows all links of a mail
 * almost at the same time (CAMP-13).
 */
import type { Id } from '../../../platform/core/ids.ts';

/** If two links of one mail are followed within this time, in milliseconds, the visitor is a machine. */
export const burstMs = 2_000;

/** A recorded click on a link of a mail. Times are Unix milliseconds. */
export interface KnownClick {
  linkId: Id;
  machine: boolean;
  /** The time at which the link was first clicked. */
  at: number;
  lastAt: number;
}

/**
 * @param known the recorded clicks of the mail
 * @param click `machine` is true if the headers of the visit name a machine
 * @returns `machine`: whether a machine clicked. `turned`: the recorded clicks that counted as clicks of a person until now, and from now
 * on count as clicks of a machine
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
