/** A webhook receiver that refuses a few first attempts, so that deliveries wait on timers, and that counts the accepted requests. */
import type { Certificate } from '../../../dev/stack/certificates.ts';
import { startReceiver, type Answer } from '../../../dev/clients/receiver.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { breakerRules } from '../../../domain/webhooks/endpoints/breaker.policy.ts';

export interface Receipts {
  urlOf(endpointId: Id): string;
  readonly accepted: number;
  /** The number of accepted requests that the same endpoint had accepted before. */
  readonly duplicates: number;
  readonly refused: number;
  /** The number of events that at least one endpoint accepted. */
  readonly events: number;
  has(endpointId: Id, eventId: Id): boolean;
  /** In Unix milliseconds, oldest first. */
  acceptedAt(endpointId: Id, eventId: Id): readonly number[];
  /** Makes this endpoint refuse enough of its next requests to open its circuit breaker. */
  breakDown(endpointId: Id): void;
  stop(): Promise<void>;
}

/**
 * The shares of first attempts that are refused. Later attempts are accepted, because the schedule waits 5 minutes after the second
 * failure.
 */
const refusals: readonly { share: number; answer: () => Answer }[] = [
  {
    share: 0.04,
    answer: () => ({ status: 503, headers: { 'Retry-After': String(15 + Math.floor(Math.random() * 30)) } }),
  },
  { share: 0.02, answer: () => 'drop' },
];

/** @param onRequest is called with the headers of each request, by name in lower case */
export async function startCounting(
  certificate: Certificate,
  onRequest: (headers: Readonly<Record<string, string>>) => void = () => {},
): Promise<Receipts> {
  const seenKeys = new Set<string>();
  const accepted = new Map<string, number[]>();
  const events = new Set<string>();
  const broken = new Map<string, number>();
  let requests = 0;
  let refused = 0;

  const receiver = await startReceiver({
    certificate,
    respond({ path, headers }) {
      onRequest(headers);
      const endpointId = path.slice(1);
      const event = headers['webhook-id'] ?? '';
      const key = keyOf(endpointId, event);
      const remainingRefusals = broken.get(endpointId) ?? 0;
      if (remainingRefusals > 0) {
        broken.set(endpointId, remainingRefusals - 1);
        seenKeys.add(key);
        refused++;
        return { status: 500 };
      }
      const refusal = seenKeys.has(key) ? undefined : refusalOf(Math.random());
      seenKeys.add(key);
      if (refusal) {
        refused++;
        return refusal.answer();
      }
      requests++;
      accepted.set(key, [...(accepted.get(key) ?? []), Date.now()]);
      events.add(event);
      return { status: 204 };
    },
  });
  return {
    urlOf: (endpointId) => `${receiver.url}/${endpointId}`,
    get accepted() {
      return requests;
    },
    get duplicates() {
      return requests - accepted.size;
    },
    get refused() {
      return refused;
    },
    get events() {
      return events.size;
    },
    has: (endpointId, eventId) => accepted.has(keyOf(endpointId, eventId)),
    acceptedAt: (endpointId, eventId) => accepted.get(keyOf(endpointId, eventId)) ?? [],
    breakDown: (endpointId) => void broken.set(endpointId, breakerRules.failuresToArm),
    stop: receiver.stop,
  };
}

function keyOf(endpointId: string, eventId: string): string {
  return `${endpointId} ${eventId}`;
}

/** @param chance a number from 0 up to 1 */
function refusalOf(chance: number) {
  let sum = 0;
  return refusals.find(({ share }) => chance < (sum += share));
}
