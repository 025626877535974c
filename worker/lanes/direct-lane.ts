/**
 * The slots of the direct lane (ADR 36): how many first attempts this process makes at once without a run, and at which endpoints.
 * A slot that is refused costs nothing: the delivery takes the workflow lane.
 */
import type { Logger } from 'pino';
import { makeAttempt, type DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import {
  oldestClaimMs,
  returnClaim,
  type ClaimedDelivery,
  type DirectLane,
} from '../../domain/webhooks/attempts/claims.ts';
import type { Id } from '../../platform/core/ids.ts';
import { causeOf } from '../../platform/core/traces.policy.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { inSpan, type SpanOptions } from '../../platform/infra/tracing.ts';
import { remember, type createAttemptPlaces } from './attempt-permits.ts';
import { directInFlight, firstAttempts } from '../reports/metrics.ts';

/** Slots of one endpoint, so that one that hangs does not take them all. */
const slotsOfAnEndpoint = 32;
/** The share of all slots for endpoints that have not answered quickly yet. */
const shareOfUnknown = 1 / 4;
/** A receiver that takes longer gets no slot until it has answered a run quickly. */
const slowReceiverMs = 1_000;
/** A fan-out waits until so many slots are free, or until it has been patient: the slots of quick receivers are free again soon. */
const readySlots = 64;
const patienceMs = 100;
/** Nobody waits again so soon after waiting in vain: what holds the slots is slow. */
const impatientMs = 5_000;

interface Slot {
  endpointId: Id;
  host: string;
  /** Its endpoint was not known when it was taken. */
  isUnknown: boolean;
}

interface DirectAttempts extends DirectLane {
  /** How an attempt ended, in whichever lane: decides whether its endpoint gets slots. */
  report: DeliveryDeps['onAttempt'];
  /** Waits for the attempts that are under way. */
  stop(): Promise<void>;
}

interface Parts {
  /** How many attempts at once, over all endpoints. */
  slots: number;
  /** What attempts of both lanes share (HOOK-16, HOOK-17, ENG-18). */
  shared: Pick<ReturnType<typeof createAttemptPlaces>, 'ofEndpoints' | 'ofHosts' | 'records'>;
  deliveries: DeliveryDeps;
  /** A place where tests stop the process. */
  failpoint: (name: 'direct_claimed' | 'direct_posted' | 'direct_recorded') => Promise<void>;
  log: Logger;
}

/** In the trace of its own fact, whichever facts were fanned out with that. */
const spanOf = ({ traceparent }: ClaimedDelivery): SpanOptions =>
  traceparent === undefined ? {} : { cause: causeOf({ traceparent, at: Date.now() }) };

export function createDirectLane({ slots, shared, deliveries, failpoint, log }: Parts): DirectAttempts {
  const taken = new Map<Id, Slot>();
  const ofEndpoint = new Map<Id, number>();
  let unknown = 0;
  const quickEndpoints = new Set<Id>();
  const slowEndpoints = new Set<Id>();
  const underWay = new Set<Promise<void>>();
  let impatientUntil = -Infinity;
  let onFreed = () => {};
  /** One wait for all who wait at the same time. */
  let waiting: Promise<void> | undefined;
  const enough = Math.min(readySlots, Math.ceil(slots / 2));
  const deps = { ...deliveries, failpoint: (name: 'claimed' | 'posted') => failpoint(`direct_${name}`) };

  function free(id: Id): void {
    const slot = taken.get(id);
    if (!slot) return;
    taken.delete(id);
    directInFlight.set(taken.size);
    const left = (ofEndpoint.get(slot.endpointId) ?? 1) - 1;
    if (left > 0) ofEndpoint.set(slot.endpointId, left);
    else ofEndpoint.delete(slot.endpointId);
    if (slot.isUnknown) unknown--;
    shared.ofHosts.leave(slot.host);
    shared.records.leave();
    onFreed();
  }

  function untilReady(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(patience);
        onFreed = () => {};
        waiting = undefined;
        resolve();
      };
      const patience = setTimeout(() => {
        impatientUntil = performance.now() + impatientMs;
        end();
      }, patienceMs);
      onFreed = () => {
        if (slots - taken.size >= enough) end();
      };
    });
  }

  async function attempt(claimed: ClaimedDelivery): Promise<void> {
    const { id, claim, claimedAt } = claimed;
    const ageMs = performance.now() - claimedAt;
    await failpoint('direct_claimed');
    if (ageMs > oldestClaimMs) return returnClaim(deps.db, claimed, new Date());
    await makeAttempt(deps, id, claim, Date.now());
    await failpoint('direct_recorded');
  }

  return {
    async ready() {
      if (slots - taken.size >= enough || performance.now() < impatientUntil) return;
      waiting ??= untilReady();
      await waiting;
    },
    take({ deliveryId, endpointId, url }) {
      const isUnknown = !quickEndpoints.has(endpointId);
      const { host } = new URL(url);
      const hasRoom =
        !taken.has(deliveryId) && // its attempt is under way: the fact is fanned out again
        taken.size < slots &&
        !slowEndpoints.has(endpointId) &&
        !(isUnknown && unknown >= slots * shareOfUnknown) &&
        (ofEndpoint.get(endpointId) ?? 0) < slotsOfAnEndpoint &&
        !shared.ofEndpoints.isFull(endpointId) &&
        !shared.ofHosts.isFull(host) &&
        !shared.records.areLate();
      if (!hasRoom) return false;
      taken.set(deliveryId, { endpointId, host, isUnknown });
      ofEndpoint.set(endpointId, (ofEndpoint.get(endpointId) ?? 0) + 1);
      if (isUnknown) unknown++;
      shared.ofHosts.enter(host);
      shared.records.enter();
      directInFlight.set(taken.size);
      return true;
    },
    giveBack: (ids) => ids.forEach(free),
    begin(claimed) {
      if (claimed.length > 0) firstAttempts.inc({ lane: 'direct' }, claimed.length);
      for (const delivery of claimed) {
        // What fails here keeps its lease, and a relay hands it over once that has ended.
        const made = inSpan('direct attempt', spanOf(delivery), () => attempt(delivery))
          .catch((error: unknown) => log.warn({ error: describeError(error) }, 'a direct attempt is left to a run'))
          .finally(() => {
            free(delivery.id);
            underWay.delete(made);
          });
        underWay.add(made);
      }
    },
    report({ endpointId, outcome, durationMs }) {
      if (outcome === 'succeeded' && durationMs <= slowReceiverMs) {
        slowEndpoints.delete(endpointId);
        remember(quickEndpoints, endpointId);
      } else {
        quickEndpoints.delete(endpointId);
        if (durationMs > slowReceiverMs) remember(slowEndpoints, endpointId);
      }
    },
    async stop() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
