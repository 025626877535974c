/** The receiver: it refuses a few first attempts, so that there are timers to be lost, and counts what it has accepted. */
import type { Certificate } from '../../../dev/stack/certificates.ts';
import { startReceiver, type Answer } from '../../../dev/clients/receiver.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { breakerRules } from '../../../domain/webhooks/endpoints/breaker.policy.ts';

export interface Receipts {
  urlOf(endpointId: Id): string;
  /** Requests that were answered with a 2xx. */
  readonly accepted: number;
  /** Of these, the ones that had been accepted before, by the same endpoint. */
  readonly duplicates: number;
  /** Requests that were not accepted. */
  readonly refused: number;
  /** Events that at least one endpoint has accepted. */
  readonly events: number;
  has(endpointId: Id, eventId: Id): boolean;
  /** When this endpoint has accepted it, in Unix milliseconds, oldest first. */
  acceptedAt(endpointId: Id, eventId: Id): readonly number[];
  /** From now on this endpoint refuses as many requests in a row as arm its circuit breaker, whichever they are. */
  breakDown(endpointId: Id): void;
  stop(): Promise<void>;
}

/**
 * Of the first attempts, the shares that are refused. None of the later ones is: after a second failure the schedule waits
 * 5 minutes, which the run would have to wait too.
 */
const refusals: readonly { share: number; answer: () => Answer }[] = [
  {
    share: 0.04,
    answer: () => ({ status: 503, headers: { 'Retry-After': String(15 + Math.floor(Math.random() * 30)) } }),
  },
  { share: 0.02, answer: () => 'drop' },
];

/** @param onRequest gets the headers of each request, by name in lower case */
export async function startCounting(
  certificate: Certificate,
  onRequest: (headers: Readonly<Record<string, string>>) => void = () => {},
): Promise<Receipts> {
  const seen = new Set<string>();
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
      const left = broken.get(endpointId) ?? 0;
      if (left > 0) {
        broken.set(endpointId, left - 1);
        seen.add(key);
        refused++;
        return { status: 500 };
      }
      const refusal = seen.has(key) ? undefined : refusalOf(Math.random());
      seen.add(key);
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

/** @param chance from 0 up to 1 */
function refusalOf(chance: number) {
  let sum = 0;
  return refusals.find(({ share }) => chance < (sum += share));
}
