/** How many bounces and complaints a campaign may have before it pauses by itself (CAMP-16). Pure. */

/** What a campaign has come to since somebody resumed it last, in mails. */
export interface Rates {
  sent: number;
  /** Refused for good. */
  bounced: number;
  complained: number;
}

/** Below so many mails a rate says little. */
const leastSent = 200;
const mostBounced = 0.05;
const mostComplained = 0.003;

/** @returns why the campaign must not go on by itself */
export function reasonInRates({ sent, bounced, complained }: Rates): 'bounces' | 'complaints' | undefined {
  if (sent < leastSent) return undefined;
  if (complained > sent * mostComplained) return 'complaints';
  return bounced > sent * mostBounced ? 'bounces' : undefined;
}
