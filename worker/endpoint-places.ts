/**
 * How many ordinary attempts of one endpoint run at a time in this process (HOOK-16). An attempt holds a slot of the worker for up
 * to 15 s, and the breaker arms only when five have failed: until then one receiver that hangs could take every slot.
 */
import type { Id } from '../platform/core/ids.ts';

/**
 * A receiver that answers within 100 ms still gets 80 attempts a second, about what a process carries; slower ones make no
 * local attempts. And it takes 75 endpoints that hang at once to fill the 600 slots.
 */
export const placesOfAnEndpoint = 8;

/** Of an endpoint of which no attempt has ended yet: the time limit of an attempt. */
const unknownMs = 15_000;
/** Nobody is put off for longer: the endpoint may answer quickly again. As long as the wait after the first refusal (DEL-3). */
const longestWaitMs = 5 * 60_000;
/** Endpoints whose last duration is remembered; the oldest is forgotten first. */
const remembered = 10_000;

export interface EndpointPlaces {
  /** @returns whether there was a place; it is held until `leave` */
  enter(endpointId: Id): boolean;
  leave(endpointId: Id): void;
  /** For one who found no place. @param now Unix milliseconds @returns when to come again: after those who were told before */
  comeAgainAt(endpointId: Id, now: number): number;
  /** How long an attempt took. */
  report(endpointId: Id, tookMs: number): void;
}

/** @param random from 0 to 1: those who wait longest must not come all at once */
export function createEndpointPlaces(random: () => number): EndpointPlaces {
  const taken = new Map<Id, number>();
  const durations = new Map<Id, number>();
  /** By endpoint: when the last one who was put off comes again. */
  const lastTurns = new Map<Id, number>();
  return {
    enter(endpointId) {
      const count = taken.get(endpointId) ?? 0;
      if (count >= placesOfAnEndpoint) return false;
      taken.set(endpointId, count + 1);
      return true;
    },
    leave(endpointId) {
      const count = (taken.get(endpointId) ?? 1) - 1;
      if (count > 0) return void taken.set(endpointId, count);
      taken.delete(endpointId);
      lastTurns.delete(endpointId);
    },
    comeAgainAt(endpointId, now) {
      const tookMs = durations.get(endpointId) ?? unknownMs;
      const turn = Math.max(lastTurns.get(endpointId) ?? 0, now + tookMs) + tookMs / placesOfAnEndpoint;
      if (turn - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      lastTurns.set(endpointId, turn);
      return Math.round(turn);
    },
    report(endpointId, tookMs) {
      durations.delete(endpointId); // so that it counts as the newest
      durations.set(endpointId, tookMs);
      const [oldest] = durations.keys();
      if (durations.size > remembered && oldest !== undefined) durations.delete(oldest);
    },
  };
}
