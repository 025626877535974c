/** The values that columns of sales may hold: platforms, states, and why a notice did not lead to anything. */

export const salesPlatforms = ['generic', 'hotmart', 'kiwify'] as const;
export type SalesPlatform = (typeof salesPlatforms)[number];

export const noticeStatuses = ['pending', 'processed', 'ignored', 'failed'] as const;
export type NoticeStatus = (typeof noticeStatuses)[number];

export const purchaseStatuses = ['paid', 'refunded', 'chargeback'] as const;
export type PurchaseStatus = (typeof purchaseStatuses)[number];

export const subscriptionStatuses = ['active', 'past_due', 'canceled'] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** What raises an event of a subscription once: a late charge, a cancellation. */
export const markKinds = ['late', 'canceled'] as const;
export type MarkKind = (typeof markKinds)[number];

/** What the access of a subscription is to be. A period end in the past, or none, is an end at once. */
export type SaleTarget =
  | { kind: 'open' }
  | { kind: 'refunded' }
  | { kind: 'canceled'; /** ISO 8601 */ periodEnd: string | null };

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
