/**
 * Collects the first attempts that a fan-out claims for its own process, with their permits and claims, until the commit (HOOK-15,
 * HOOK-18).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { AttemptSite } from '../attempts/attempt.ts';
import type { ClaimedDelivery } from '../attempts/claims.ts';
import type { DirectLane, FirstAttemptPermits } from '../attempts/permits.ts';
import type { SubscribedEndpoint } from './audience.ts';

/** The lanes in which the process of a fan-out makes first attempts. */
export interface FirstAttemptLanes {
  /** Makes attempts without a run, as long as it has permits. If absent, runs make all attempts. */
  lane?: DirectLane;
  /** The permits for first attempts that runs make in this process. If absent, each run claims its own attempt. */
  localPermits?: FirstAttemptPermits;
}

/** The sites at which a first attempt can run if a fan-out has claimed it. Every other attempt runs in an activity. */
export type ClaimedSite = Exclude<AttemptSite['runsIn'], 'activity'>;

export interface FirstAttempts {
  /**
   * Acquires a permit for the first attempt. @returns the site of the attempt; undefined if the workflow run of the delivery must claim the
   * attempt
   */
  acquire(deliveryId: Id, endpoint: SubscribedEndpoint): ClaimedSite | undefined;
  /** Releases the permit of a delivery that is not claimed here. */
  release(deliveryId: Id): void;
  /** Adds a claim that the transaction has written. */
  add(claimed: ClaimedDelivery): void;
  /** Releases all permits and forgets all claims, when the transaction begins or is rolled back. */
  reset(): void;
}

/**
 * @param fanOut a function that runs the transaction. It must reset the attempts at its beginning, because the transaction may be retried
 * @returns the result of `fanOut`. After the commit, the direct lane begins its attempts. If `fanOut` fails, all permits are released
 */
export async function withFirstAttempts<T>(
  lanes: FirstAttemptLanes,
  fanOut: (attempts: FirstAttempts) => Promise<T>,
): Promise<T> {
  const permits = new Map<Id, FirstAttemptPermits>();
  const direct: ClaimedDelivery[] = [];
  const sites = [
    { permits: lanes.lane, runsIn: 'direct lane' },
    { permits: lanes.localPermits, runsIn: 'local activity' },
  ] as const;
  const attempts: FirstAttempts = {
    acquire(deliveryId, { open, endpointId, url }) {
      if (!open) return undefined;
      const site = sites.find((one) => one.permits?.tryAcquire({ deliveryId, endpointId, url }));
      if (site?.permits) permits.set(deliveryId, site.permits);
      return site?.runsIn;
    },
    release(deliveryId) {
      permits.get(deliveryId)?.release([deliveryId]);
      permits.delete(deliveryId);
    },
    add(claimed) {
      if (claimed.claim.direct) direct.push(claimed);
    },
    reset() {
      for (const deliveryId of permits.keys()) attempts.release(deliveryId);
      direct.splice(0);
    },
  };
  try {
    const result = await fanOut(attempts);
    lanes.lane?.begin(direct);
    return result;
  } catch (error) {
    attempts.reset();
    throw error;
  }
}
