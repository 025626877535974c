/** Ids are UUIDs of version 7. Their order is the order of creation, so indexes stay dense. */
import { randomInt } from 'node:crypto';
import { v7 } from 'uuid';

export type Id = string;

/** If the clock goes back further than this, the earlier time was wrong. Then new ids use the corrected time. */
const backAtMostMs = 10_000;
let newestMs = -Infinity;
let sequence = 0;

/** @returns an id after all ids of this process, unless the clock has gone back by more than ten seconds */
export function newId(): Id {
  const now = Date.now();
  if (now > newestMs || newestMs - now > backAtMostMs) {
    newestMs = now;
    sequence = randomInt(2 ** 31); // half of the bits are random, so the sequence does not overflow within a millisecond
  } else sequence++;
  return v7({ msecs: newestMs, seq: sequence });
}

/** @returns a random id with this time, in ms since 1970. */
export const idOfTime = (atMs: number): Id => v7({ msecs: atMs });

export function idAfter(id: Id): Id {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  return [next.slice(0, 8), next.slice(8, 12), next.slice(12, 16), next.slice(16, 20), next.slice(20)].join('-');
}

/** The club id of rows that belong to no club. It sorts before every other id. */
export const noClub: Id = '00000000-0000-0000-0000-000000000000';
export const highestId: Id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** @returns the smallest id of this time, in ms since 1970. Queries use it as a bound; no record has it. */
export function leastIdOf(atMs: number): Id {
  const time = Math.max(0, atMs).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/** @returns the time in ms since 1970 */
export const timeOfId = (id: Id): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
