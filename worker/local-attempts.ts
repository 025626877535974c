/**
 * Local first attempts: which deliveries make their first attempt as a local activity (HOOK-15, ADR 4). That halves the engine's
 * work, but the attempt holds a workflow task while it runs, so hung receivers would stop everything else. Places are
 * bounded in all and for each endpoint, and closed to endpoints that were slow or failed lately. The relay starts deliveries
 * through `start`, which asks for a place; the activities give it back and report how each endpoint answers. One for a process.
 */
import { webhookDeliveryActivities, type WebhookDeliveryActivities } from '../activities/webhook-delivery.ts';
import { timeOfStep } from '../activities/clock.ts';
import { endpointOf, putOff } from '../domain/webhooks/deliveries/put-off.ts';
import type { DeliveryDeps } from '../domain/webhooks/deliveries/attempts.ts';
import type { Id } from '../platform/core/ids.ts';
import { createEndpointPlaces } from './endpoint-places.ts';
import { slots } from './task-queues.ts';

export interface LocalAttempts {
  /**
   * Starts the run of a delivery, once it has a place or will get none.
   * @param endpointId of an endpoint whose last attempt did not fail; undefined for any other: no local attempt
   * @param start starts it; gets whether the first attempt is to be local
   */
  start(deliveryId: Id, endpointId: Id | undefined, start: (local: boolean) => Promise<void>): Promise<void>;
  /**
   * The activities of deliveries, local or not: the end of a step frees its place, and each attempt is reported. An ordinary
   * attempt whose endpoint has too many under way is put off (HOOK-16).
   */
  activities(deps: DeliveryDeps): WebhookDeliveryActivities;
}

/** Of a worker that does not serve the queue of webhooks: nobody would give a place back. */
export const noLocalAttempts: Pick<LocalAttempts, 'start'> = { start: (_delivery, _endpoint, start) => start(false) };

export function createLocalAttempts(): LocalAttempts {
  const admission = createAdmission(bounds);
  const endpointPlaces = createEndpointPlaces(Math.random);
  return {
    async start(deliveryId, endpointId, start) {
      const local = endpointId !== undefined && (await admission.enter(deliveryId, endpointId));
      await start(local).catch((error: unknown) => {
        admission.leave(deliveryId);
        throw error;
      });
    },
    activities(deps) {
      const { attemptDelivery } = webhookDeliveryActivities({
        ...deps,
        onAttempt(attempt) {
          deps.onAttempt(attempt);
          endpointPlaces.report(attempt.endpointId, attempt.durationMs);
          admission.report(attempt.endpointId, { ok: attempt.outcome === 'succeeded', tookMs: attempt.durationMs });
        },
      });
      return {
        async attemptDelivery(deliveryId, now) {
          if (admission.holds(deliveryId))
            return attemptDelivery(deliveryId, now).finally(() => admission.leave(deliveryId));
          const { source } = deps.db;
          const endpointId = await endpointOf(source, deliveryId);
          if (endpointId === undefined) return attemptDelivery(deliveryId, now);
          if (endpointPlaces.enter(endpointId))
            return attemptDelivery(deliveryId, now).finally(() => endpointPlaces.leave(endpointId));
          const time = timeOfStep(now);
          const later = await putOff(source, deliveryId, time, endpointPlaces.comeAgainAt(endpointId, time));
          return later ?? attemptDelivery(deliveryId, now);
        },
      };
    },
  };
}

export interface Bounds {
  /** Local attempts at a time that are not yet slow. */
  total: number;
  /** Local attempts at a time with the slow ones: what may hold workflow tasks while others still get theirs. */
  totalWithSlow: number;
  /** Local attempts at a time to endpoints that have not answered quickly yet: whatever these do, the quick ones have places. */
  unknown: number;
  /** Local attempts at a time to one endpoint. */
  perEndpoint: number;
}

/**
 * A quarter of the webhook queue's workflow tasks for local attempts, half with the slow ones, an eighth for endpoints that
 * have not answered yet; two for each endpoint.
 */
const bounds: Bounds = {
  total: slots.webhooks.workflowTasks / 4,
  totalWithSlow: slots.webhooks.workflowTasks / 2,
  unknown: slots.webhooks.workflowTasks / 8,
  perEndpoint: 2,
};

/** A receiver that takes longer than this gets ordinary activities: while it answers, a workflow task would be held for it. */
const slowReceiverMs = 100;
/** A place held for longer than this, whatever for, closes its endpoint and counts as slow. */
const slowPlaceMs = 1_000;
/** How long a delivery waits for a place: by then each that is taken has been given back or is slow. */
const patienceMs = slowPlaceMs;
/** A place that nobody gave back (the run went to another worker) is free again after this: longer than an attempt. */
const placeHeldMs = 30_000;
/** Endpoints remembered as slow, and as quick; the oldest is forgotten first. */
const remembered = 10_000;

export interface Admission {
  /**
   * Asks for a place, waiting a little where there is none. The wait is what keeps the relay from starting more than
   * the engine carries: a start is quick, so a burst would all be started at once, and nearly all of it the slow way.
   * Meanwhile the backlog stays in Postgres, where the clubs take turns.
   * @returns whether this delivery may be attempted locally; it then holds a place
   */
  enter(deliveryId: string, endpointId: string): Promise<boolean>;
  /** Whether this delivery holds a place: its attempt is local. */
  holds(deliveryId: string): boolean;
  /** The step of this delivery ended: its place, if it held one, is free. */
  leave(deliveryId: string): void;
  /** How an attempt ended, local or not: decides whether its endpoint is open to local attempts. */
  report(endpointId: string, attempt: { ok: boolean; tookMs: number }): void;
}

interface Place {
  endpointId: string;
  slow: boolean;
  /** Ends when the place is given back. */
  watch: NodeJS.Timeout;
}

interface Waiter {
  deliveryId: string;
  endpointId: string;
  answer: (admitted: boolean) => void;
}

export function createAdmission({ total, totalWithSlow, unknown, perEndpoint }: Bounds): Admission {
  const places = new Map<string, Place>();
  const slowEndpoints = new Set<string>();
  const quickEndpoints = new Set<string>();
  const waiters = new Set<Waiter>();
  const count = (counts: (place: Place) => boolean) => [...places.values()].filter(counts).length;

  /** Nothing is known of it, and as many such as there may be hold places: it does not wait for one. */
  const isOneUnknownTooMany = (endpointId: string) =>
    !quickEndpoints.has(endpointId) && count((place) => !quickEndpoints.has(place.endpointId)) >= unknown;
  const endpointIsFull = (endpointId: string) => count((place) => place.endpointId === endpointId) >= perEndpoint;

  const take = (deliveryId: string, endpointId: string): boolean => {
    if (slowEndpoints.has(endpointId) || isOneUnknownTooMany(endpointId) || endpointIsFull(endpointId)) return false;
    if (places.size >= totalWithSlow || count((place) => !place.slow) >= total) return false;
    const watch = setTimeout(() => becomeSlow(deliveryId), slowPlaceMs);
    places.set(deliveryId, { endpointId, slow: false, watch });
    return true;
  };

  const giveBack = (deliveryId: string) => {
    clearTimeout(places.get(deliveryId)?.watch);
    if (places.delete(deliveryId)) admitWaiters();
  };

  const becomeSlow = (deliveryId: string) => {
    const place = places.get(deliveryId);
    if (!place) return;
    place.slow = true;
    place.watch = setTimeout(() => giveBack(deliveryId), placeHeldMs - slowPlaceMs);
    close(place.endpointId);
    admitWaiters();
  };

  const close = (endpointId: string) => {
    quickEndpoints.delete(endpointId);
    remember(slowEndpoints, endpointId);
    for (const waiter of waiters) if (waiter.endpointId === endpointId) waiter.answer(false);
  };

  const admitWaiters = () => {
    for (const waiter of waiters) if (take(waiter.deliveryId, waiter.endpointId)) waiter.answer(true);
  };

  return {
    enter(deliveryId, endpointId) {
      if (take(deliveryId, endpointId)) return Promise.resolve(true);
      if (slowEndpoints.has(endpointId) || isOneUnknownTooMany(endpointId)) return Promise.resolve(false);
      return new Promise((resolve) => {
        const waiter: Waiter = {
          deliveryId,
          endpointId,
          answer(admitted) {
            waiters.delete(waiter);
            clearTimeout(patience);
            resolve(admitted);
          },
        };
        const patience = setTimeout(() => waiter.answer(false), patienceMs);
        waiters.add(waiter);
      });
    },
    holds: (deliveryId) => places.has(deliveryId),
    leave: giveBack,
    report(endpointId, { ok, tookMs }) {
      if (!ok || tookMs > slowReceiverMs) return close(endpointId);
      slowEndpoints.delete(endpointId);
      remember(quickEndpoints, endpointId);
    },
  };
}

function remember(endpoints: Set<string>, endpointId: string): void {
  endpoints.delete(endpointId); // so that it counts as the newest
  endpoints.add(endpointId);
  const [oldest] = endpoints;
  if (endpoints.size > remembered && oldest !== undefined) endpoints.delete(oldest);
}
