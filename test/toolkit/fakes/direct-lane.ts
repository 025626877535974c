/** A direct lane that makes no attempts. It records the permits that a fan-out requests, and the attempts that the fan-out starts. */
import type { ClaimedDelivery } from '../../../domain/webhooks/attempts/claims.ts';
import type { DirectLane } from '../../../domain/webhooks/attempts/permits.ts';
import type { Id } from '../../../platform/core/ids.ts';

type Offer = Parameters<DirectLane['tryAcquire']>[0];

/** @param hasPermit decides which attempts get a permit; by default all */
export function fakeLane(hasPermit: (offer: Offer) => boolean = () => true) {
  const offered: Offer[] = [];
  const permits = new Set<Id>();
  const startedAttempts: ClaimedDelivery[] = [];
  return {
    offered,
    permits,
    startedAttempts,
    async ready() {},
    tryAcquire(offer: Offer) {
      offered.push(offer);
      if (!hasPermit(offer)) return false;
      permits.add(offer.deliveryId);
      return true;
    },
    release: (ids: readonly Id[]) => ids.forEach((id) => permits.delete(id)),
    begin: (claimed: readonly ClaimedDelivery[]) => void startedAttempts.push(...claimed),
  } satisfies DirectLane & Record<string, unknown>;
}
