/** The values that columns of webhook endpoints, deliveries and attempts may hold. */

export const endpointStatuses = ['enabled', 'paused', 'disabled'] as const;
export type EndpointStatus = (typeof endpointStatuses)[number];

/** `failing` means that the receiver accepted no delivery for five days. `gone` means that the receiver answered `410 Gone`. */
export const disabledReasons = ['manual', 'failing', 'gone'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'canceled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export const cancelReasons = ['expired', 'student_removed'] as const;
export type CancelReason = (typeof cancelReasons)[number];

/** The kinds of attempts that an administrator requests in addition to the schedule (DEL-5). */
export const requestTriggers = ['manual', 'recovery', 'test'] as const;
export type RequestTrigger = (typeof requestTriggers)[number];

/** The cause of an attempt: the schedule, which has 8 attempts, or a request of an administrator (DEL-5). */
export const attemptTriggers = ['schedule', ...requestTriggers] as const;
export type AttemptTrigger = (typeof attemptTriggers)[number];

/**
 * `interrupted` means that the worker died before it recorded the outcome, so the service does not know whether the request reached the
 * receiver.
 */
export type AttemptOutcome =
  | 'succeeded'
  | 'http_error'
  | 'timeout'
  | 'connection_error'
  | 'tls_error'
  | 'dns_error'
  | 'address_refused'
  | 'interrupted';

/** The reasons why an attempt got no answer. The contract documents them at `WebhookAttempt.error_code`. */
export const failureCauses = [
  'name_not_found',
  'name_server_failed',
  'address_refused',
  'connection_refused',
  'connection_reset',
  'connection_closed',
  'connection_timed_out',
  'host_unreachable',
  'connection_failed',
  'certificate_expired',
  'certificate_not_yet_valid',
  'certificate_name_mismatch',
  'certificate_untrusted',
  'client_certificate_required',
  'tls_failed',
  'header_overflow',
  'invalid_response',
  'connect_timeout',
  'response_timeout',
] as const;
export type FailureCause = (typeof failureCauses)[number];

/** The period for which a tally counts: a day or an hour. */
export const tallySpans = ['day', 'hour'] as const;
export type TallySpan = (typeof tallySpans)[number];
