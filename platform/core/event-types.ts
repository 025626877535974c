/** The event types that an endpoint may subscribe to, in the order of the catalogue (WEP-3). */
export const eventTypes = [
  'student.created',
  'student.updated',
  'student.removed',
  'access.granted',
  'access.revoked',
  'access.extended',
  'access.shortened',
  'access.restored',
  'access.moved',
  'purchase.paid',
  'purchase.refunded',
  'subscription.past_due',
  'subscription.canceled',
  'lesson.completed',
  'course.completed',
  'certificate.issued',
  'student.tagged',
  'student.untagged',
  'student.level_reached',
] as const;
export type EventType = (typeof eventTypes)[number];

export type DeliveredEventType = EventType | 'webhook.test';
