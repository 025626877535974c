/** The values that columns of plans, add-ons and billing events may hold. */

/** `trial` is the plan of a new club until it pays: all features, and small amounts of costly resources. */
export const planNames = ['trial', 'starter', 'professional', 'business'] as const;
export type PlanName = (typeof planNames)[number];

/**
 * A club with `past_due` keeps its plan while the processor retries the charge. A club with `canceled` changes to `planAfterCancellation`.
 */
export const planStatuses = ['active', 'past_due', 'canceled'] as const;
export type PlanStatus = (typeof planStatuses)[number];

/** The resources that a plan limits: students, bytes of storage, and the AI budget of a month in cents (US dollars). */
export const resources = ['students', 'storage_bytes', 'ai_budget'] as const;
export type Resource = (typeof resources)[number];

export const addOnKinds = ['storage', 'ai_budget', 'students'] as const;
export type AddOnKind = (typeof addOnKinds)[number];

/**
 * A package of AI budget counts only for the month of its payment, in the club's time zone. Packages of other resources do not end with the
 * month.
 */
export const addOnStatuses = ['pending', 'active', 'failed'] as const;
export type AddOnStatus = (typeof addOnStatuses)[number];

/** The resources whose overage a plan may bill. The AI budget is never exceeded (LIM-13). */
export const billedResources = ['students', 'storage_bytes'] as const satisfies readonly Resource[];
export type BilledResource = (typeof billedResources)[number];

/**
 * `pending` until the charge is on an invoice of the payment processor. `waived` charges nothing, for a lasting reason. `failed` gave up
 * after many days.
 */
export const overageChargeStatuses = ['pending', 'invoiced', 'waived', 'failed'] as const;
export type OverageChargeStatus = (typeof overageChargeStatuses)[number];

/** The reasons why a charge was waived, or why its last attempt did not go through. */
export const overageChargeReasons = [
  /** No event has ever named a customer of the club. */
  'no_customer',
  'customer_deleted',
  /** A person removed the item at the payment processor. */
  'item_removed',
  'not_configured',
  /** The table of prices lacks the customer's currency. */
  'currency_without_price',
  /** The processor accepts no amount of this size. */
  'amount_too_large',
  'refused_by_processor',
  'processor_unreachable',
] as const;
export type OverageChargeReason = (typeof overageChargeReasons)[number];

/** The outcomes of a billing event: it was applied, or the reason why it was not applied. */
export const eventOutcomes = [
  'applied',
  /** An event with a later time has already decided the plan. */
  'outdated',
  /** The event does not affect a plan. */
  'ignored',
  'unknown_club',
  'unknown_price',
  'customer_of_another_club',
] as const;
export type EventOutcome = (typeof eventOutcomes)[number];

/** The outcomes of those events that the club's plan follows. */
export const followedOutcomes = ['applied', 'outdated'] as const satisfies readonly EventOutcome[];
