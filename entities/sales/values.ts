/** The values that columns of sales may hold: platforms, states, and reasons of unsuccessful notices. */

export const salesPlatforms = ['generic', 'hotmart', 'kiwify'] as const;
export type SalesPlatform = (typeof salesPlatforms)[number];

export const noticeStatuses = ['pending', 'processed', 'ignored', 'failed'] as const;
export type NoticeStatus = (typeof noticeStatuses)[number];

export const purchaseStatuses = ['paid', 'refunded', 'chargeback'] as const;
export type PurchaseStatus = (typeof purchaseStatuses)[number];

export const subscriptionStatuses = ['active', 'past_due', 'canceled'] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** The kinds of marks: a late charge, and a cancellation. Each mark raises an event of its subscription only once. */
export const markKinds = ['late', 'canceled'] as const;
export type MarkKind = (typeof markKinds)[number];

/**
 * The target of a subscription's access: the access that the subscription should have. After a cancellation, the access ends at
 * `periodEnd`. It ends immediately if `periodEnd` is null or in the past.
 */
export type SaleTarget =
  | { kind: 'open' }
  | { kind: 'refunded' }
  | { kind: 'canceled'; /** ISO 8601 */ periodEnd: string | null };

/** The reasons why a notice failed, was ignored, or is being tried again. */
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
