/** A lane of direct attempts that makes none: it notes what a fan-out offers, holds and begins. */
import type { ClaimedDelivery, DirectLane } from '../../../domain/webhooks/attempts/claims.ts';
import type { Id } from '../../../platform/core/ids.ts';

type Offer = Parameters<DirectLane['take']>[0];

/** @param hasSlot decides which attempts it takes; all if absent */
export function fakeLane(hasSlot: (offer: Offer) => boolean = () => true) {
  const offered: Offer[] = [];
  const held = new Set<Id>();
  const begun: ClaimedDelivery[] = [];
  return {
    offered,
    /** Deliveries that have a slot. */
    held,
    begun,
    async ready() {},
    take(offer: Offer) {
      offered.push(offer);
      if (!hasSlot(offer)) return false;
      held.add(offer.deliveryId);
      return true;
    },
    giveBack: (ids: readonly Id[]) => ids.forEach((id) => held.delete(id)),
    begin: (claimed: readonly ClaimedDelivery[]) => void begun.push(...claimed),
  } satisfies DirectLane & Record<string, unknown>;
}
