/** The values that columns of plans, add-ons and billing events may hold. */

/** `trial` is what a new club has until it pays: everything, and little of what costs the operator. */
export const planNames = ['trial', 'starter', 'professional', 'business'] as const;
export type PlanName = (typeof planNames)[number];

/** `past_due` keeps the plan while the processor tries the charge again; `canceled` goes with the plan below. */
export const planStatuses = ['active', 'past_due', 'canceled'] as const;
export type PlanStatus = (typeof planStatuses)[number];

/** What a plan limits: students, bytes of storage, and the AI budget of a month in cents (US dollars). */
export const resources = ['students', 'storage_bytes', 'ai_budget'] as const;
export type Resource = (typeof resources)[number];

export const addOnKinds = ['storage', 'ai_budget', 'students'] as const;
export type AddOnKind = (typeof addOnKinds)[number];

/** A package of the AI budget is for the month (of the club's time zone) in which it was paid; the others stay. */
export const addOnStatuses = ['pending', 'active', 'failed'] as const;
export type AddOnStatus = (typeof addOnStatuses)[number];

/** Whether a billing event was applied, or why not. */
export const eventOutcomes = [
  'applied',
  /** Later events had said the same or otherwise. */
  'outdated',
  /** It says nothing of a plan. */
  'ignored',
  'unknown_club',
  'unknown_price',
  'customer_of_another_club',
] as const;
export type EventOutcome = (typeof eventOutcomes)[number];

/** Outcomes of events that the club's plan follows from. */
export const followedOutcomes = ['applied', 'outdated'] as const satisfies readonly EventOutcome[];
