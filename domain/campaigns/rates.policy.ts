/** Decides at which rates of bounces and complaints a campaign pauses automatically (CAMP-16). The functions are pure. */

/** The numbers of mails of a campaign since an administrator last resumed the campaign. */
export interface Rates {
  sent: number;
  /** Refused permanently. */
  bounced: number;
  complained: number;
}

/** The rates of fewer mails say little, so they do not pause the campaign. */
const minSent = 200;
const maxBounceRate = 0.05;
const maxComplaintRate = 0.003;

/** @returns the reason why the campaign must pause; undefined if it may continue */
export function reasonInRates({ sent, bounced, complained }: Rates): 'bounces' | 'complaints' | undefined {
  if (sent < minSent) return undefined;
  if (complained > sent * maxComplaintRate) return 'complaints';
  return bounced > sent * maxBounceRate ? 'bounces' : undefined;
}
