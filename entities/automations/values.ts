/** The values that columns of automations may hold. */

export const automationStatuses = ['draft', 'active', 'paused', 'archived'] as const;
export type AutomationStatus = (typeof automationStatuses)[number];

/** The triggers that start a run: an event type, with an underscore instead of its dot, or an administrator (DEC-44). */
export const triggerKinds = [
  'student_created',
  'access_granted',
  'access_revoked',
  'purchase_paid',
  'purchase_refunded',
  'subscription_past_due',
  'subscription_canceled',
  'lesson_completed',
  'course_completed',
  'certificate_issued',
  'student_tagged',
  'student_untagged',
  'student_level_reached',
  'manual',
] as const;
export type TriggerKind = (typeof triggerKinds)[number];

export const reentries = ['once', 'after_exit', 'always'] as const;
export type Reentry = (typeof reentries)[number];

export const runStatuses = ['active', 'completed', 'exited', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** The reasons why a run ended before its last step. */
export const exitReasons = ['exit_step', 'exit_when', 'access_lost', 'archived', 'by_hand', 'student_removed'] as const;
export type ExitReason = (typeof exitReasons)[number];

/** The kinds of records to which a definition or a run can refer. */
export const referredKinds = ['delivery', 'cohort', 'product', 'tag', 'lesson', 'course', 'level'] as const;
export type ReferredKind = (typeof referredKinds)[number];

/** The kinds of access that a run can be about. */
export const accessKinds = ['delivery', 'course', 'product'] as const;
export type AccessKind = (typeof accessKinds)[number];
