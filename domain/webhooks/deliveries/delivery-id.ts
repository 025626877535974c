/** Derives the id of a delivery from its event and endpoint, so that a second fan-out creates no second delivery (HOOK-1). */
import { createHash } from 'node:crypto';
import { leastIdOf, timeOfId, type Id } from '../../../platform/core/ids.ts';

/**
 * @returns a UUID of version 8. It starts with the time of the event's id (48 bits). So the event and the delivery are in partitions of the
 * same week. The rest is the start of a SHA-256 hash. The hash covers the 16 bytes of the event's id and the 16 bytes of the endpoint's id
 */
export function deliveryIdOf(eventId: Id, endpointId: Id): Id {
  const [event, endpoint] = [eventId, endpointId].map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));
  const hash = createHash('sha256')
    .update(event ?? '')
    .update(endpoint ?? '')
    .digest();
  hash[0] = ((hash[0] ?? 0) & 0x0f) | 0x80; // the version
  hash[2] = ((hash[2] ?? 0) & 0x3f) | 0x80; // the variant
  const hex = hash.toString('hex');
  return `${eventId.slice(0, 13)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8, 20)}`;
}

/**
 * @returns the lower and the upper bound of the ids of an event's deliveries. The upper bound is excluded. All ids of the event's
 * millisecond are between the two bounds
 */
export function deliveryIdsOf(eventId: Id): { from: Id; to: Id } {
  const at = timeOfId(eventId);
  return { from: leastIdOf(at), to: leastIdOf(at + 1) };
}
