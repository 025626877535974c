/**
 * How many attempts this process makes at once, and which of them are local. A local first attempt (HOOK-15, ADR 4) halves the
 * engine's work, but occupies a workflow task while it runs; an ordinary one occupies a slot of the worker for up to 15 s.
 * Receivers that hang must not use up either, so places are bounded for each endpoint (HOOK-16), for each host (HOOK-17) and in all.
 * The relay starts deliveries through `start`; the step takes its places and gives them back. A process has one instance.
 */
import type { AttemptPlaces, DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { ClaimedDelivery, Lane } from '../../domain/webhooks/attempts/claims.ts';
import type { Id } from '../../platform/core/ids.ts';
import { attempts } from '../reports/metrics.ts';
import { slots } from '../temporal/task-queues.ts';

export interface LocalStarts {
  /** Where the fan-out takes the places of attempts that it claims; absent: none begins here. */
  lane?: Lane;
  /**
   * Starts the run of a delivery, once it has a place for a local attempt or will get none.
   * @param ways.start gets whether the first attempt is to be local; tells whether this process does the run's first task
   * @param ways.giveBack for a claim that the run does not find here
   */
  start(
    delivery: StartedDelivery,
    ways: { start: (local: boolean) => Promise<boolean>; giveBack: (claimed: ClaimedDelivery) => Promise<void> },
  ): Promise<void>;
}

/** A delivery whose run is to be started. */
interface StartedDelivery {
  id: Id;
  /** Of an endpoint whose last attempt did not fail; undefined for any other: no local attempt. */
  endpointId: Id | undefined;
  /** Its first attempt, which has a place already. */
  claimed: ClaimedDelivery | undefined;
}

/** For a worker that does not serve the queue `webhooks`: no step would give a place back. */
export const noLocalAttempts: LocalStarts = {
  async start(_delivery, { start }) {
    await start(false);
  },
};

/**
 * Ordinary attempts of one endpoint at a time (HOOK-16). A receiver that answers within 100 ms still gets 80 attempts a second,
 * about what a process carries; slower ones make no local attempts. And it takes 75 endpoints that hang at once to fill the
 * 600 slots.
 */
export const placesOfAnEndpoint = 8;
/** Attempts to one host at a time, whatever clubs they are of (HOOK-17): a tenth of the slots, and eight full endpoints. */
export const placesOfAHost = 64;

/** @returns the places of the step and what they share with the direct lane, the callback for ended attempts, and the starts of the relay */
export function createAttemptPlaces(
  { ofAnEndpoint, ofAHost } = { ofAnEndpoint: placesOfAnEndpoint, ofAHost: placesOfAHost },
): LocalStarts & { places: AttemptPlaces; ofEndpoints: Places; ofHosts: Places; records: Records } & Pick<
    DeliveryDeps,
    'onAttempt'
  > {
  const admission = createAdmission(bounds);
  const ofEndpoints = createPlaces(ofAnEndpoint, Math.random);
  const ofHosts = createPlaces(ofAHost, Math.random);
  const held = new Map<Id, () => void>();
  const records = watchRecords();
  let refusals = 0; // of eager starts, one after the other
  let claimsAgainAt = -Infinity;
  const leave = (deliveryId: Id) => {
    held.get(deliveryId)?.();
    held.delete(deliveryId);
  };
  return {
    lane: {
      take: ({ deliveryId, endpointId }) =>
        performance.now() >= claimsAgainAt && admission.reserve(deliveryId, endpointId),
      giveBack: (deliveryIds) => deliveryIds.forEach(admission.leave),
    },
    async start({ id, claimed, endpointId = claimed?.claim.endpointId }, { start, giveBack }) {
      const isLocal = endpointId !== undefined && (await admission.enter(id, endpointId));
      if (claimed && isLocal) admission.keep(claimed);
      if (claimed && !isLocal) await giveBack(claimed);
      const giveClaimBack = async () => {
        const unused = admission.takeClaim(id);
        if (unused) await giveBack(unused);
      };
      try {
        const isEager = await start(isLocal);
        if (claimed && isLocal) refusals = isEager ? 0 : refusals + 1;
        if (refusals >= refusalsInARow && !isEager) claimsAgainAt = performance.now() + claimsAgainAfterMs;
        // Elsewhere, or later here by the queue: its local attempt keeps the place.
        if (!isEager) await giveClaimBack();
      } catch (error) {
        await giveClaimBack();
        admission.leave(id);
        throw error;
      }
    },
    ofEndpoints,
    ofHosts,
    records,
    places: {
      take({ deliveryId, endpointId, host, asked }, now) {
        const isLocal = admission.holds(deliveryId); // it has a place of its endpoint already
        if (!asked && !isLocal && ofEndpoints.isFull(endpointId)) return ofEndpoints.comeAgainAt(endpointId, now);
        if (!asked && ofHosts.isFull(host)) return ofHosts.comeAgainAt(host, now);
        if (!asked && records.areLate()) return records.comeAgainAt(now);
        leave(deliveryId); // an attempt of it that outlived its lease
        records.enter();
        ofHosts.enter(host);
        if (!isLocal) ofEndpoints.enter(endpointId);
        held.set(deliveryId, () => {
          records.leave();
          ofHosts.leave(host);
          if (!isLocal) ofEndpoints.leave(endpointId);
        });
        return undefined;
      },
      recorded: records.report,
      takeClaim: admission.takeClaim,
      leave(deliveryId) {
        admission.leave(deliveryId);
        leave(deliveryId);
      },
    },
    onAttempt({ endpointId, host, outcome, durationMs }) {
      attempts.inc({ outcome });
      ofEndpoints.report(endpointId, durationMs);
      ofHosts.report(host, durationMs);
      admission.report(endpointId, { ok: outcome === 'succeeded', tookMs: durationMs });
    },
  };
}

/** Connections that only records of attempts take. */
export const connectionsForRecords = 4;
/** What a lease leaves for the record after the longest attempt, with a margin. */
const timeForRecordMs = 8_000;
/** Weight of the newest record while records get quicker; a slower one counts at once. */
const weightOfNewest = 0.2;

/** Attempts under way, of both lanes, which are all to be recorded in time. */
interface Records {
  enter(): void;
  leave(): void;
  /** Whether one more could be too late. */
  areLate(): boolean;
  /** @param now Unix milliseconds @returns when to come again */
  comeAgainAt(now: number): number;
  /** How long a record took, in milliseconds. */
  report(tookMs: number): void;
}

/**
 * Attempts under way must all be recorded before their leases end, also if all end at the same moment: what is posted and not
 * recorded is posted again. So their number is bounded by how long a record takes (ENG-18): thousands at some milliseconds,
 * 32 at a second.
 */
function watchRecords(): Records {
  let recordMs = 0;
  let underWay = 0;
  const allTakeMs = () => (underWay / connectionsForRecords) * recordMs;
  return {
    enter: () => void underWay++,
    leave: () => void underWay--,
    areLate: () => allTakeMs() >= timeForRecordMs,
    comeAgainAt: (now) => Math.round(now + Math.min(longestWaitMs, allTakeMs() * (1 + Math.random()))),
    report(tookMs) {
      recordMs = Math.max(tookMs, recordMs + (tookMs - recordMs) * weightOfNewest);
    },
  };
}

/** Endpoints and hosts that are remembered with how they answer; the oldest is forgotten first. */
const remembered = 10_000;
/** Of an endpoint or a host of which no attempt has ended yet: the time limit of an attempt. */
const unknownMs = 15_000;
/** Nobody is put off for longer: the receiver may answer quickly again. As long as the wait after the first refusal (DEL-3). */
const longestWaitMs = 5 * 60_000;

/** Places of each of many keys: endpoints, or hosts. */
export interface Places {
  isFull(key: string): boolean;
  /** Takes a place, also beyond the bound: until `leave`. */
  enter(key: string): void;
  leave(key: string): void;
  /** For an attempt without a place. @param now Unix milliseconds @returns when to come again: after those put off before it */
  comeAgainAt(key: string, now: number): number;
  /** How long an attempt took. */
  report(key: string, tookMs: number): void;
}

/** @param capacity of each key @param random from 0 to 1: spreads the attempts with the longest wait */
export function createPlaces(capacity: number, random: () => number): Places {
  const taken = new Map<string, number>();
  const durations = new Map<string, number>();
  /** When the last one who was put off comes again. */
  const lastTurns = new Map<string, number>();
  return {
    isFull: (key) => (taken.get(key) ?? 0) >= capacity,
    enter: (key) => void taken.set(key, (taken.get(key) ?? 0) + 1),
    leave(key) {
      const count = (taken.get(key) ?? 1) - 1;
      if (count > 0) return void taken.set(key, count);
      taken.delete(key);
      lastTurns.delete(key);
    },
    comeAgainAt(key, now) {
      const tookMs = durations.get(key) ?? unknownMs;
      const turn = Math.max(lastTurns.get(key) ?? 0, now + tookMs) + tookMs / capacity;
      if (turn - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      lastTurns.set(key, turn);
      return Math.round(turn);
    },
    report(key, tookMs) {
      durations.delete(key); // so that it counts as the newest
      durations.set(key, tookMs);
      const [oldest] = durations.keys();
      if (durations.size > remembered && oldest !== undefined) durations.delete(oldest);
    },
  };
}

/** Where so many eager starts with a claim are refused in a row, more will be: their claims would only be given back. */
const refusalsInARow = 4;
const claimsAgainAfterMs = 10_000;

export interface Bounds {
  /** Local attempts at a time that are not yet slow. */
  total: number;
  /** Local attempts at a time with the slow ones: the other workflow tasks stay free. */
  totalWithSlow: number;
  /** Local attempts at a time to endpoints that have not answered quickly yet: the quick ones keep their places. */
  unknown: number;
  /** Local attempts at a time to one endpoint, and as many that are claimed and wait for a place. */
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
  perEndpoint: 8,
};

/** A receiver that takes longer than this gets ordinary activities: while it answers, a workflow task would be held for it. */
const slowReceiverMs = 100;
/** A place that is occupied for longer counts as slow, and its endpoint gets no further local attempts. */
const slowPlaceMs = 1_000;
/** How long a delivery waits for a place: by then each that is taken has been given back or is slow. */
const patienceMs = slowPlaceMs;
/** A place that nobody gave back (the run went to another worker) is free again after this: longer than an attempt. */
const placeHeldMs = 30_000;

export interface Admission {
  /**
   * Takes a place, or one of as many turns, for a delivery that is to be claimed: with a turn it is the next but a few, and waits for its
   * place at `enter`, much shorter than its claim is good for. A burst is claimed so by its fan-outs, not one by one.
   * @returns false where there is neither, or the delivery has one
   */
  reserve(deliveryId: Id, endpointId: Id): boolean;
  /** Keeps the claim of a delivery with its place. */
  keep(claimed: ClaimedDelivery): void;
  /** @returns the claim that was kept; once, and while the place is held */
  takeClaim(deliveryId: Id): ClaimedDelivery | undefined;
  /**
   * Asks for a place, and waits a little where there is none. The wait limits the relay to the pace of the engine. Without it
   * the relay would start a whole burst at once, nearly all of it with ordinary activities. The backlog stays in Postgres,
   * where clubs take turns.
   * @returns whether this delivery may be attempted locally; it then has a place, or had one already
   */
  enter(deliveryId: string, endpointId: string): Promise<boolean>;
  /** Whether this delivery has a place: its attempt is local. */
  holds(deliveryId: string): boolean;
  /** The step of this delivery ended: its place, if it had one, is free. */
  leave(deliveryId: string): void;
  /** How an attempt ended, local or not: decides whether its endpoint is open to local attempts. */
  report(endpointId: string, attempt: { ok: boolean; tookMs: number }): void;
}

interface Place {
  endpointId: string;
  slow: boolean;
  claimed?: ClaimedDelivery;
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
  /** Deliveries that have a turn: no place yet. */
  const turns = new Map<string, { endpointId: string; end: NodeJS.Timeout }>();
  const count = (counts: (place: Place) => boolean) => [...places.values()].filter(counts).length;

  /** The endpoint is not known yet, and all places for unknown ones are taken: it does not wait for one. */
  const isOneUnknownTooMany = (endpointId: string) =>
    !quickEndpoints.has(endpointId) && count((place) => !quickEndpoints.has(place.endpointId)) >= unknown;
  const endpointIsFull = (endpointId: string) => count((place) => place.endpointId === endpointId) >= perEndpoint;

  const take = (deliveryId: string, endpointId: string): boolean => {
    if (places.has(deliveryId)) return false; // with its claim, if it has one: the fact is fanned out again
    if (slowEndpoints.has(endpointId) || isOneUnknownTooMany(endpointId) || endpointIsFull(endpointId)) return false;
    if (places.size >= totalWithSlow || count((place) => !place.slow) >= total) return false;
    const watch = setTimeout(() => becomeSlow(deliveryId), slowPlaceMs);
    places.set(deliveryId, { endpointId, slow: false, watch });
    return true;
  };

  const reserve = (deliveryId: string, endpointId: string): boolean => {
    if (places.has(deliveryId) || turns.has(deliveryId)) return false;
    if (take(deliveryId, endpointId)) return true;
    if (slowEndpoints.has(endpointId) || isOneUnknownTooMany(endpointId) || turns.size >= total) return false;
    if ([...turns.values()].filter((turn) => turn.endpointId === endpointId).length >= perEndpoint) return false;
    const end = setTimeout(() => turns.delete(deliveryId), placeHeldMs);
    turns.set(deliveryId, { endpointId, end });
    return true;
  };

  /** Its turn is over: it has a place, or will get none. */
  const settle = (deliveryId: string, admitted: boolean) => {
    clearTimeout(turns.get(deliveryId)?.end);
    turns.delete(deliveryId);
    return admitted;
  };

  const giveBack = (deliveryId: string) => {
    settle(deliveryId, false);
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
    reserve,
    keep(claimed) {
      const place = places.get(claimed.id);
      if (place) place.claimed = claimed;
    },
    takeClaim(deliveryId) {
      const place = places.get(deliveryId);
      const claimed = place?.claimed;
      delete place?.claimed;
      return claimed;
    },
    enter(deliveryId, endpointId) {
      if (places.has(deliveryId) || take(deliveryId, endpointId)) return Promise.resolve(settle(deliveryId, true));
      if (slowEndpoints.has(endpointId) || isOneUnknownTooMany(endpointId))
        return Promise.resolve(settle(deliveryId, false));
      return new Promise((resolve) => {
        const waiter: Waiter = {
          deliveryId,
          endpointId,
          answer(admitted) {
            waiters.delete(waiter);
            clearTimeout(patience);
            resolve(settle(deliveryId, admitted));
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

/** Remembers it as the newest, and forgets the oldest where there are too many. */
export function remember(endpoints: Set<string>, endpointId: string): void {
  endpoints.delete(endpointId); // so that it counts as the newest
  endpoints.add(endpointId);
  const [oldest] = endpoints;
  if (endpoints.size > remembered && oldest !== undefined) endpoints.delete(oldest);
}
