/**
 * Permits of local first attempts (HOOK-15, ADR 4). A local attempt runs inside a workflow task. This halves the work of the engine, but
 * holds the task while the attempt runs. Hanging receivers must not hold all workflow tasks. So permits are limited in total, for each
 * endpoint, and for unknown endpoints.
 */
import type { Id } from '../../platform/core/ids.ts';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import { slots } from '../temporal/task-queues.ts';
import { remember } from './keyed-permits.ts';

export interface LocalPermitBounds {
  /** The maximum number of concurrent local attempts that are not slow yet. */
  total: number;
  /** The maximum number of concurrent local attempts, including slow attempts. The remaining slots for workflow tasks stay free. */
  totalWithSlow: number;
  /**
   * The maximum number of concurrent local attempts to unknown endpoints, which have not answered quickly yet. The other permits stay for
   * quick endpoints.
   */
  unknown: number;
  /** The maximum number of concurrent local attempts to one endpoint. The endpoint can also have at most this number of reservations. */
  perEndpoint: number;
}

/**
 * The limits are shares of the workflow tasks of the queue `webhooks`. Quick local attempts use at most a quarter of the tasks, and all
 * local attempts use at most half. Unknown endpoints use at most an eighth.
 */
export const localPermitBounds: LocalPermitBounds = {
  total: slots.webhooks.workflowTasks / 4,
  totalWithSlow: slots.webhooks.workflowTasks / 2,
  unknown: slots.webhooks.workflowTasks / 8,
  perEndpoint: 8,
};

/** A slower receiver gets ordinary activities and no local attempts, because a local attempt holds a workflow task until the answer. */
const slowReceiverMs = 100;
/** After this time in milliseconds a held permit counts as slow, and its endpoint gets no further local attempts. */
const slowPermitMs = 1_000;
/**
 * The longest time that a delivery waits for a permit, in milliseconds. Every permit is released or counts as slow after this time.
 */
const patienceMs = slowPermitMs;
/**
 * A permit becomes free after this time, in milliseconds, if no step releases it because the run went to a different worker. The time is
 * longer than an attempt.
 */
const expiryMs = 30_000;

export interface LocalPermits {
  /**
   * Acquires or reserves a permit for a delivery before the delivery is claimed. A delivery with a reservation waits for its permit in
   * `acquire`. This wait is so short that the claim can still be used afterwards. Therefore the fan-outs of a burst can claim in batches.
   * @returns false if no permit and no reservation is free, or if the delivery already has a permit or a reservation
   */
  reserve(deliveryId: Id, endpointId: Id): boolean;
  /** Stores the claim of a delivery next to the permit of the delivery. */
  keepClaim(claimed: ClaimedDelivery): void;
  /** @returns the stored claim. It is returned only once, and only while the delivery has the permit */
  takeClaim(deliveryId: Id): ClaimedDelivery | undefined;
  /**
   * Acquires a permit, and waits at most one second for it. The wait slows the relay down to the speed of the engine. It keeps the backlog
   * in Postgres. From there, the relay takes work fairly for all clubs.
   * @returns true if the delivery has got a permit, so that its attempt can be local
   */
  acquire(deliveryId: string, endpointId: string): Promise<boolean>;
  /** @returns whether the delivery has a permit, so that its attempt is local */
  has(deliveryId: string): boolean;
  /** Releases the permit of the delivery, if it has one, because its step has ended. */
  release(deliveryId: string): void;
  /** Records how any attempt ended, not only a local one. The result decides whether the endpoint gets further local attempts. */
  report(endpointId: string, attempt: { ok: boolean; durationMs: number }): void;
}

interface Permit {
  endpointId: string;
  slow: boolean;
  claimed?: ClaimedDelivery;
  /** A timer that first marks the permit as slow, and later releases it. */
  timer: NodeJS.Timeout;
}

interface Waiter {
  deliveryId: string;
  endpointId: string;
  end: (acquired: boolean) => void;
}

export function createLocalPermits({ total, totalWithSlow, unknown, perEndpoint }: LocalPermitBounds): LocalPermits {
  const permits = new Map<string, Permit>();
  const slowEndpoints = new Set<string>();
  const quickEndpoints = new Set<string>();
  const waiters = new Set<Waiter>();
  const reservations = new Map<string, { endpointId: string; expiry: NodeJS.Timeout }>();
  const count = (counts: (permit: Permit) => boolean) => [...permits.values()].filter(counts).length;

  /**
   * Returns whether the endpoint is unknown and all permits for unknown endpoints are held. A delivery to such an endpoint does not wait
   * for a permit.
   */
  const isBeyondUnknown = (endpointId: string) =>
    !quickEndpoints.has(endpointId) && count((permit) => !quickEndpoints.has(permit.endpointId)) >= unknown;
  const isEndpointFull = (endpointId: string) => count((permit) => permit.endpointId === endpointId) >= perEndpoint;

  const tryAcquire = (deliveryId: string, endpointId: string): boolean => {
    if (permits.has(deliveryId)) return false; // the fact was fanned out again; the first permit stays
    if (slowEndpoints.has(endpointId) || isBeyondUnknown(endpointId) || isEndpointFull(endpointId)) return false;
    if (permits.size >= totalWithSlow || count((permit) => !permit.slow) >= total) return false;
    const timer = setTimeout(() => becomeSlow(deliveryId), slowPermitMs);
    permits.set(deliveryId, { endpointId, slow: false, timer });
    return true;
  };

  const reserve = (deliveryId: string, endpointId: string): boolean => {
    if (permits.has(deliveryId) || reservations.has(deliveryId)) return false;
    if (tryAcquire(deliveryId, endpointId)) return true;
    if (slowEndpoints.has(endpointId) || isBeyondUnknown(endpointId) || reservations.size >= total) return false;
    if ([...reservations.values()].filter((one) => one.endpointId === endpointId).length >= perEndpoint) return false;
    const expiry = setTimeout(() => reservations.delete(deliveryId), expiryMs);
    reservations.set(deliveryId, { endpointId, expiry });
    return true;
  };

  const endReservation = (deliveryId: string) => {
    clearTimeout(reservations.get(deliveryId)?.expiry);
    reservations.delete(deliveryId);
  };

  const release = (deliveryId: string) => {
    endReservation(deliveryId);
    clearTimeout(permits.get(deliveryId)?.timer);
    if (permits.delete(deliveryId)) admitWaiters();
  };

  const becomeSlow = (deliveryId: string) => {
    const permit = permits.get(deliveryId);
    if (!permit) return;
    permit.slow = true;
    permit.timer = setTimeout(() => release(deliveryId), expiryMs - slowPermitMs);
    close(permit.endpointId);
    admitWaiters();
  };

  const close = (endpointId: string) => {
    quickEndpoints.delete(endpointId);
    remember(slowEndpoints, endpointId);
    for (const waiter of waiters) if (waiter.endpointId === endpointId) waiter.end(false);
  };

  const admitWaiters = () => {
    for (const waiter of waiters) if (tryAcquire(waiter.deliveryId, waiter.endpointId)) waiter.end(true);
  };

  const wait = (deliveryId: string, endpointId: string) =>
    new Promise<boolean>((resolve) => {
      const waiter: Waiter = {
        deliveryId,
        endpointId,
        end(acquired) {
          waiters.delete(waiter);
          clearTimeout(patience);
          endReservation(deliveryId);
          resolve(acquired);
        },
      };
      const patience = setTimeout(() => waiter.end(false), patienceMs);
      waiters.add(waiter);
    });

  return {
    reserve,
    keepClaim(claimed) {
      const permit = permits.get(claimed.id);
      if (permit) permit.claimed = claimed;
    },
    takeClaim(deliveryId) {
      const permit = permits.get(deliveryId);
      const claimed = permit?.claimed;
      delete permit?.claimed;
      return claimed;
    },
    acquire(deliveryId, endpointId) {
      const acquired = permits.has(deliveryId) || tryAcquire(deliveryId, endpointId);
      if (!acquired && !slowEndpoints.has(endpointId) && !isBeyondUnknown(endpointId))
        return wait(deliveryId, endpointId);
      endReservation(deliveryId);
      return Promise.resolve(acquired);
    },
    has: (deliveryId) => permits.has(deliveryId),
    release,
    report(endpointId, { ok, durationMs }) {
      if (!ok || durationMs > slowReceiverMs) return close(endpointId);
      slowEndpoints.delete(endpointId);
      remember(quickEndpoints, endpointId);
    },
  };
}
