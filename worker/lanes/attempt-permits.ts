/**
 * The permits of attempts in this process, of runs and of the direct lane (HOOK-15 to HOOK-18). An attempt holds a workflow task or a slot of
 * the worker for up to 15 s. Receivers that hang must not hold all of them, so attempts are bounded for each endpoint, for each host and in
 * all. The relay starts deliveries through `start`; the step of a run acquires its permits and releases them. A process has one instance.
 */
import type { DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { ClaimedDelivery } from '../../domain/webhooks/attempts/claims.ts';
import type { AttemptPermits, FirstAttemptPermits } from '../../domain/webhooks/attempts/permits.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ReleasePermit } from '../../platform/core/permits.ts';
import { attempts } from '../reports/metrics.ts';
import { createKeyedPermits, type KeyedPermits } from './keyed-permits.ts';
import { createLocalPermits, localPermitBounds } from './local-permits.ts';
import { createRecordPermits, type RecordPermits } from './record-permits.ts';

export interface LocalStarts {
  /** Permits of the attempts that a fan-out claims for runs that begin here; absent: none begins here. */
  localPermits?: FirstAttemptPermits;
  /**
   * Starts the run of a delivery, once it has a permit for a local attempt or will get none.
   * @param ways.start gets whether the first attempt is to be local; says whether this process does the run's first task
   * @param ways.returnClaim for a claim that the run does not find here
   */
  start(
    delivery: DeliveryToStart,
    ways: { start: (local: boolean) => Promise<boolean>; returnClaim: (claimed: ClaimedDelivery) => Promise<void> },
  ): Promise<void>;
}

interface DeliveryToStart {
  id: Id;
  /** Undefined if the last attempt to the endpoint failed: no local attempt. */
  endpointId: Id | undefined;
  /** Its first attempt, which has a permit or a reservation already. */
  claimed: ClaimedDelivery | undefined;
}

/** For a worker that does not serve the queue `webhooks`: no step would release a permit. */
export const noLocalAttempts: LocalStarts = {
  async start(_delivery, { start }) {
    await start(false);
  },
};

/**
 * Ordinary attempts of one endpoint at one time (HOOK-16). A receiver that answers within 100 ms still gets 80 attempts a second, about as
 * many as a process makes; slower ones get no local attempts. And 75 endpoints must hang at the same time to hold the 600 slots.
 */
export const permitsPerEndpoint = 8;
/** Attempts to one host at one time, whatever clubs they belong to (HOOK-17): a tenth of the slots, and eight full endpoints. */
export const permitsPerHost = 64;

/** After so many refusals in a row, the server refuses more eager starts with a claim: their claims would only be returned. */
const refusalsInARow = 4;
/** Then no attempt is claimed in advance for so long, in milliseconds. */
const noClaimsMs = 10_000;

/** The permits of attempts that the lanes of a process share. */
export interface SharedPermits {
  endpoints: KeyedPermits;
  hosts: KeyedPermits;
  records: RecordPermits;
}

/** @returns the permits of a step, those that the lanes share, the callback for ended attempts, and the starts of the relay */
export function createAttemptPermits(
  { perEndpoint, perHost } = { perEndpoint: permitsPerEndpoint, perHost: permitsPerHost },
): LocalStarts & SharedPermits & { permits: AttemptPermits } & Pick<DeliveryDeps, 'onAttempt'> {
  const local = createLocalPermits(localPermitBounds);
  const endpoints = createKeyedPermits(perEndpoint, Math.random);
  const hosts = createKeyedPermits(perHost, Math.random);
  const records = createRecordPermits();
  const releases = new Map<Id, readonly ReleasePermit[]>();
  let refusals = 0; // of eager starts, one after the other
  let claimsAgainAt = -Infinity;
  const release = (deliveryId: Id) => {
    for (const releasePermit of releases.get(deliveryId) ?? []) releasePermit();
    releases.delete(deliveryId);
  };
  return {
    localPermits: {
      tryAcquire: ({ deliveryId, endpointId }) =>
        performance.now() >= claimsAgainAt && local.reserve(deliveryId, endpointId),
      release: (deliveryIds) => deliveryIds.forEach(local.release),
    },
    async start({ id, claimed, endpointId = claimed?.claim.endpointId }, { start, returnClaim }) {
      const isLocal = endpointId !== undefined && (await local.acquire(id, endpointId));
      if (claimed && isLocal) local.keepClaim(claimed);
      if (claimed && !isLocal) await returnClaim(claimed);
      const returnUnused = async () => {
        const unused = local.takeClaim(id);
        if (unused) await returnClaim(unused);
      };
      try {
        const isEager = await start(isLocal);
        if (claimed && isLocal) refusals = isEager ? 0 : refusals + 1;
        if (refusals >= refusalsInARow && !isEager) claimsAgainAt = performance.now() + noClaimsMs;
        // The run begins elsewhere, or here by the queue: its local attempt keeps the permit.
        if (!isEager) await returnUnused();
      } catch (error) {
        await returnUnused();
        local.release(id);
        throw error;
      }
    },
    endpoints,
    hosts,
    records,
    permits: {
      acquire({ deliveryId, endpointId, host, isManual }, now) {
        const isLocal = local.has(deliveryId); // it has a permit of its endpoint already
        if (!isManual && !isLocal && endpoints.isFull(endpointId)) return endpoints.retryAt(endpointId, now);
        if (!isManual && hosts.isFull(host)) return hosts.retryAt(host, now);
        if (!isManual && records.isFull()) return records.retryAt(now);
        release(deliveryId); // of an attempt that outlived its lease
        releases.set(deliveryId, [
          records.acquire(),
          hosts.acquire(host),
          ...(isLocal ? [] : [endpoints.acquire(endpointId)]),
        ]);
        return undefined;
      },
      reportRecord: records.report,
      takeClaim: local.takeClaim,
      release(deliveryId) {
        local.release(deliveryId);
        release(deliveryId);
      },
    },
    onAttempt({ endpointId, host, outcome, durationMs }) {
      attempts.inc({ outcome });
      endpoints.report(endpointId, durationMs);
      hosts.report(host, durationMs);
      local.report(endpointId, { ok: outcome === 'succeeded', durationMs });
    },
  };
}
