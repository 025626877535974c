/**
 * Limits the concurrent attempts of this process, in runs and in the direct lane (HOOK-15 to HOOK-18). An attempt holds a workflow task or
 * a slot of the worker for up to 15 s. Receivers that hang must not use all of them, so attempts are limited for each endpoint, for each
 * host, and in total.
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
  /** Permits for first attempts that a fan-out claims before their runs start in this process. If absent, no run starts in this process. */
  localPermits?: FirstAttemptPermits;
  /**
   * Asks for a permit for a local attempt of the delivery, and then starts the run of the delivery with or without this permit.
   * @param ways.start starts the run, with a local first attempt if the argument is true. It returns true if this process executes the
   * first task of the run
   * @param ways.returnClaim gives up a claim that the run does not use
   */
  start(
    delivery: DeliveryToStart,
    ways: { start: (local: boolean) => Promise<boolean>; returnClaim: (claimed: ClaimedDelivery) => Promise<void> },
  ): Promise<void>;
}

interface DeliveryToStart {
  id: Id;
  /** Undefined if the last attempt to the endpoint failed. Then the first attempt of this delivery is not local. */
  endpointId: Id | undefined;
  /** The claim of the first attempt, if a permit or a reservation for it already exists. */
  claimed: ClaimedDelivery | undefined;
}

/**
 * Starts runs without local attempts. A worker without the queue `webhooks` uses this, because none of its steps would release a permit.
 */
export const noLocalAttempts: LocalStarts = {
  async start(_delivery, { start }) {
    await start(false);
  },
};

/**
 * The maximum number of concurrent ordinary attempts of one endpoint (HOOK-16). A receiver that answers within 100 ms can still get 80
 * attempts per second, about as many as one process makes. Only 75 endpoints that hang together would use all 600 slots.
 */
export const permitsPerEndpoint = 8;
/**
 * The maximum number of concurrent attempts to one host, for all clubs (HOOK-17). The limit is a tenth of the slots, and eight times the
 * limit of an endpoint.
 */
export const permitsPerHost = 64;

/** After this number of refusals in a row, Temporal probably refuses further eager starts too. Claims in advance would be useless. */
const refusalsInARow = 4;
/** The time without claims in advance after these refusals, in milliseconds. */
const noClaimsMs = 10_000;

export interface SharedPermits {
  endpoints: KeyedPermits;
  hosts: KeyedPermits;
  records: RecordPermits;
}

/**
 * @returns permits for the steps of runs, permits that both lanes share, a callback for ended attempts, and a function for the relay that
 * starts runs
 */
export function createAttemptPermits(
  { perEndpoint, perHost } = { perEndpoint: permitsPerEndpoint, perHost: permitsPerHost },
): LocalStarts & SharedPermits & { permits: AttemptPermits } & Pick<DeliveryDeps, 'onAttempt'> {
  const local = createLocalPermits(localPermitBounds);
  const endpoints = createKeyedPermits(perEndpoint, Math.random);
  const hosts = createKeyedPermits(perHost, Math.random);
  const records = createRecordPermits();
  const releases = new Map<Id, readonly ReleasePermit[]>();
  let refusals = 0; // consecutive refusals of eager starts
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
        // Without an eager start, any process can get the run from the task queue, so the claim is returned. If this process gets the run,
        // its local attempt keeps the permit.
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
        const isLocal = local.has(deliveryId); // a local attempt needs no permit of the endpoint here
        if (!isManual && !isLocal && endpoints.isFull(endpointId)) return endpoints.retryAt(endpointId, now);
        if (!isManual && hosts.isFull(host)) return hosts.retryAt(host, now);
        if (!isManual && records.isFull()) return records.retryAt(now);
        release(deliveryId); // releases the permits of an earlier attempt whose lease has ended
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
