/**
 * Which deliveries make their first attempt in place, as a local activity: faster, but it holds a workflow task while it
 * runs, so that hung receivers would stop everything else (DESIGN §6). Bounded overall and an endpoint, and closed to
 * endpoints that were slow or failed lately. The relay admits; the activity reports. One for a process.
 */

/** Attempts in place at a time, of all and to one endpoint: a quarter of the workflow task slots, and two. */
export interface InPlaceBounds {
  total: number;
  perEndpoint: number;
}

/** An attempt that took longer than this closes its endpoint to attempts in place. */
const slowMs = 1_000;
/** A place that nobody gave back (the run went to another worker) is free again after this: longer than an attempt. */
const placeHeldMs = 30_000;
/** Endpoints remembered as slow; the oldest is forgotten first. */
const slowRemembered = 10_000;

export interface InPlaceAdmission {
  /** @param now milliseconds of any steady clock @returns whether this delivery may be attempted in place; it then holds a place */
  enter(deliveryId: string, endpointId: string, now: number): boolean;
  /** The step of this delivery ended: its place, if it held one, is free. */
  leave(deliveryId: string): void;
  /** How an attempt fared, in place or not: decides whether its endpoint is open to attempts in place. */
  report(endpointId: string, attempt: { ok: boolean; tookMs: number }): void;
}

export function createInPlaceAdmission({ total, perEndpoint }: InPlaceBounds): InPlaceAdmission {
  const places = new Map<string, { endpointId: string; since: number }>();
  const slowEndpoints = new Set<string>();

  const expire = (now: number) => {
    for (const [deliveryId, place] of places) {
      if (now - place.since < placeHeldMs) return; // insertion order is the order of time
      places.delete(deliveryId);
    }
  };

  return {
    enter(deliveryId, endpointId, now) {
      expire(now);
      if (places.size >= total || slowEndpoints.has(endpointId)) return false;
      const held = [...places.values()].filter((place) => place.endpointId === endpointId).length;
      if (held >= perEndpoint) return false;
      places.set(deliveryId, { endpointId, since: now });
      return true;
    },
    leave(deliveryId) {
      places.delete(deliveryId);
    },
    report(endpointId, { ok, tookMs }) {
      if (ok && tookMs <= slowMs) {
        slowEndpoints.delete(endpointId);
        return;
      }
      slowEndpoints.add(endpointId);
      const [oldest] = slowEndpoints;
      if (slowEndpoints.size > slowRemembered && oldest !== undefined) slowEndpoints.delete(oldest);
    },
  };
}
