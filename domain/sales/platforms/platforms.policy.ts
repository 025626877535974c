/** The words of sales: platforms, states, and why a notice did not lead to anything. */

export const salesPlatforms = ['generic', 'hotmart', 'kiwify'] as const;
export type SalesPlatform = (typeof salesPlatforms)[number];

export type NoticeStatus = 'pending' | 'processed' | 'ignored' | 'failed';
export type PurchaseStatus = 'paid' | 'refunded' | 'chargeback';
export type SubscriptionStatus = 'active' | 'past_due' | 'canceled';

/** Why a notice failed, was ignored, or is still being tried. */
export const noticeErrorCodes = [
  'bad_shape',
  'proof_refused',
  'unknown_product',
  'sale_mismatch',
  'unknown_currency',
  'limit_reached',
  'feature_not_in_plan',
  'not_accessible',
  'payload_purged',
  'event_without_meaning',
  'student_removed',
  'internal_error',
] as const;
export type NoticeErrorCode = (typeof noticeErrorCodes)[number];
