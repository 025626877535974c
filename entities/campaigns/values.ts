/** The values that columns of campaigns may hold. */

export const campaignStatuses = ['draft', 'scheduled', 'sending', 'paused', 'sent', 'canceled'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

export const pauseReasons = [
  'by_hand',
  'provider',
  'bounces',
  'complaints',
  'plan',
  'problems',
  'missed_start',
] as const;
export type PauseReason = (typeof pauseReasons)[number];
