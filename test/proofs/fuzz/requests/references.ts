/** Chooses the record that a request names: usually an existing record, sometimes a foreign, a deleted or an unknown one. */
import type { Draw } from './draw.ts';
import type { Entry, Pool } from './pool.ts';

/** Weights. */
export interface Shares {
  readonly living: number;
  readonly foreign: number;
  readonly deleted: number;
  readonly unknown: number;
  readonly ofOtherKind: number;
  /** An existing record with its UUID in capital letters. */
  readonly upperCase: number;
  /**
   * Which existing record is preferred. The records of a scene, which were prepared before the first request, belong together. No other
   * record refers to the newest record.
   */
  readonly prefers?: 'scene' | 'newest';
}

export const usualShares: Shares = { living: 84, foreign: 5, deleted: 4, unknown: 3, ofOtherKind: 2, upperCase: 2 };
const none: Shares = { living: 0, foreign: 0, deleted: 0, unknown: 0, ofOtherKind: 0, upperCase: 0 };
export const ofScene: Shares = { ...none, living: 1, prefers: 'scene' };
export const newest: Shares = { ...none, living: 1, prefers: 'newest' };
export const foreign: Shares = { ...none, foreign: 1 };

function someLiving(draw: Draw, living: readonly Entry[], prefers?: Shares['prefers']): Entry | undefined {
  const [first] = living;
  if (first === undefined || prefers === 'scene') return first;
  if (prefers === 'newest') return living.at(-1);
  return first.ofScene && draw.chance(0.4) ? first : draw.pick(living);
}

/**
 * @returns an entry, or a text that identifies no record. Without an entry of the drawn sort, such as a deleted record, the function takes
 * an existing record
 */
export function someReference(draw: Draw, pool: Pool, kind: string, shares: Shares): Entry | string {
  const unknown = kind.includes('.') ? `nothing-${draw.below(1e6)}` : `{{uuid:${draw.below(1e6)}}}`;
  const living = someLiving(draw, pool.living(kind), shares.prefers);
  const find = draw.weighted<() => Entry | string | undefined>([
    [shares.living, () => living],
    [shares.foreign, () => someLiving(draw, pool.living(kind, 'other'))],
    [shares.deleted, () => draw.pick([undefined, ...pool.deleted(kind)])],
    [shares.unknown, () => unknown],
    [shares.ofOtherKind, () => draw.pick([undefined, ...pool.ids('own')])?.template],
    [shares.upperCase, () => living && `{{upper:${living.template.slice(2, -2)}}}`],
  ]);
  return find() ?? living ?? unknown;
}

export function oneOf(...kinds: string[]): (draw: Draw, pool: Pool) => string | undefined {
  return (draw, pool) => {
    const entries = kinds.flatMap((kind) => pool.living(kind));
    return entries.length === 0 ? undefined : draw.pick(entries).template;
  };
}
