/**
 * The direct lane makes first attempts in this process, without a run (ADR 36, HOOK-18). Permits limit the number of these attempts in
 * total, for each endpoint, and for all unknown endpoints. If a delivery gets no permit, a run makes its first attempt.
 */
import type { Logger } from 'pino';
import { makeAttempt, type DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import type { DirectLane } from '../../domain/webhooks/attempts/permits.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ReleasePermit } from '../../platform/core/permits.ts';
import { causeOf } from '../../platform/core/traces.policy.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { inSpan, type SpanOptions } from '../../platform/infra/tracing.ts';
import { directInFlight, firstAttempts } from '../reports/metrics.ts';
import type { SharedPermits } from './attempt-permits.ts';
import { remember } from './keyed-permits.ts';

/** One endpoint that hangs must not hold all permits. */
const permitsPerEndpoint = 32;
/** The share of all permits that endpoints may hold together before they have answered quickly once. */
const shareOfUnknown = 1 / 4;
/**
 * The longest time in which a quick receiver answers, in milliseconds. A slower receiver gets no permit until it has answered an attempt of
 * a run quickly.
 */
const slowReceiverMs = 1_000;
/** A fan-out waits until this many permits are free, but at most for {@link patienceMs}. */
const readyPermits = 64;
const patienceMs = 100;
/** If a wait did not succeed, slow receivers hold the permits. Then no fan-out waits for this time, in milliseconds. */
const impatientMs = 5_000;

interface Permit {
  endpointId: Id;
  isUnknown: boolean;
  shared: readonly ReleasePermit[];
}

interface DirectAttempts extends DirectLane {
  /** Records how an attempt of the direct lane or the workflow lane ended. The result decides whether its endpoint gets further permits. */
  report: DeliveryDeps['onAttempt'];
  /** Waits for the attempts in progress. */
  stop(): Promise<void>;
}

interface Parts {
  total: number;
  /** The permits that both lanes share (HOOK-16, HOOK-17, ENG-18). */
  shared: SharedPermits;
  deliveries: DeliveryDeps;
  failpoint: (name: 'direct_claimed' | 'direct_posted' | 'direct_recorded') => Promise<void>;
  log: Logger;
}

/** An attempt belongs to the trace of its own fact, even if several facts were fanned out together. */
const spanOf = ({ traceparent }: ClaimedDelivery): SpanOptions =>
  traceparent === undefined ? {} : { cause: causeOf({ traceparent, at: Date.now() }) };

export function createDirectLane({ total, shared, deliveries, failpoint, log }: Parts): DirectAttempts {
  const permits = new Map<Id, Permit>();
  const countOfEndpoint = new Map<Id, number>();
  let unknown = 0;
  const quickEndpoints = new Set<Id>();
  const slowEndpoints = new Set<Id>();
  const inProgress = new Set<Promise<void>>();
  let impatientUntil = -Infinity;
  let onRelease = () => {};
  /** All waiting fan-outs share this one wait. */
  let waiting: Promise<void> | undefined;
  const enough = Math.min(readyPermits, Math.ceil(total / 2));
  const isReady = () => total - permits.size >= enough;
  const deps = { ...deliveries, failpoint: (name: 'claimed' | 'posted') => failpoint(`direct_${name}`) };

  function release(id: Id): void {
    const permit = permits.get(id);
    if (!permit) return;
    permits.delete(id);
    directInFlight.set(permits.size);
    const count = (countOfEndpoint.get(permit.endpointId) ?? 1) - 1;
    if (count > 0) countOfEndpoint.set(permit.endpointId, count);
    else countOfEndpoint.delete(permit.endpointId);
    if (permit.isUnknown) unknown--;
    for (const releaseShared of permit.shared) releaseShared();
    onRelease();
  }

  function untilReady(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(patience);
        onRelease = () => {};
        waiting = undefined;
        resolve();
      };
      const patience = setTimeout(() => {
        impatientUntil = performance.now() + impatientMs;
        end();
      }, patienceMs);
      onRelease = () => {
        if (isReady()) end();
      };
    });
  }

  async function attempt(claimed: ClaimedDelivery): Promise<void> {
    await makeAttempt(deps, claimed.id, Date.now(), { runsIn: 'direct lane', claimed });
    await failpoint('direct_recorded');
  }

  return {
    async ready() {
      if (isReady() || performance.now() < impatientUntil) return;
      waiting ??= untilReady();
      await waiting;
    },
    tryAcquire({ deliveryId, endpointId, url }) {
      const isUnknown = !quickEndpoints.has(endpointId);
      const { host } = new URL(url);
      const isFree =
        !permits.has(deliveryId) && // no second attempt if the fact of this delivery is fanned out again
        permits.size < total &&
        !slowEndpoints.has(endpointId) &&
        !(isUnknown && unknown >= total * shareOfUnknown) &&
        (countOfEndpoint.get(endpointId) ?? 0) < permitsPerEndpoint &&
        !shared.endpoints.isFull(endpointId) &&
        !shared.hosts.isFull(host) &&
        !shared.records.isFull();
      if (!isFree) return false;
      permits.set(deliveryId, {
        endpointId,
        isUnknown,
        shared: [shared.hosts.acquire(host), shared.records.acquire()],
      });
      countOfEndpoint.set(endpointId, (countOfEndpoint.get(endpointId) ?? 0) + 1);
      if (isUnknown) unknown++;
      directInFlight.set(permits.size);
      return true;
    },
    release: (ids) => ids.forEach(release),
    begin(claimed) {
      if (claimed.length > 0) firstAttempts.inc({ lane: 'direct' }, claimed.length);
      for (const delivery of claimed) {
        // If the attempt cannot be completed in this process, its lease is not released. When the lease ends, a relay hands the attempt
        // over to a run.
        const running = inSpan('direct attempt', spanOf(delivery), () => attempt(delivery))
          .catch((error: unknown) => log.warn({ error: describeError(error) }, 'a direct attempt is left to a run'))
          .finally(() => {
            release(delivery.id);
            inProgress.delete(running);
          });
        inProgress.add(running);
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
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
  };
}
