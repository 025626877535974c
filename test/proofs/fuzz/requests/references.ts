/** Which record a request names: mostly one that exists, else one of another club, a deleted one, or one that nobody has. */
import type { Draw } from './draw.ts';
import type { Entry, Pool } from './pool.ts';

/** How often, of all, a place names which kind of record. */
export interface Shares {
  readonly living: number;
  readonly foreign: number;
  readonly deleted: number;
  readonly unknown: number;
  readonly ofOtherKind: number;
  /** A living one, its UUID in capitals. */
  readonly upperCase: number;
  /** Of the living ones: the scene's own, which belong together, or the newest, which nothing else names yet. */
  readonly prefers?: 'scene' | 'newest';
}

export const usualShares: Shares = { living: 84, foreign: 5, deleted: 4, unknown: 3, ofOtherKind: 2, upperCase: 2 };
const none: Shares = { living: 0, foreign: 0, deleted: 0, unknown: 0, ofOtherKind: 0, upperCase: 0 };
export const ofScene: Shares = { ...none, living: 1, prefers: 'scene' };
export const newest: Shares = { ...none, living: 1, prefers: 'newest' };
export const foreign: Shares = { ...none, foreign: 1 };

/** @returns an entry of this kind as a request should mostly name it; undefined where there is none */
function someLiving(draw: Draw, living: readonly Entry[], prefers?: Shares['prefers']): Entry | undefined {
  const [first] = living;
  if (first === undefined || prefers === 'scene') return first;
  if (prefers === 'newest') return living.at(-1);
  return first.ofScene && draw.chance(0.4) ? first : draw.pick(living);
}

/** @returns an entry of the pool, or a text that names none. Where there is none of the kind that was drawn: a living one */
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

/** The template of an entry of one of these kinds; undefined where there is none. */
export function oneOf(...kinds: string[]): (draw: Draw, pool: Pool) => string | undefined {
  return (draw, pool) => {
    const found = kinds.flatMap((kind) => pool.living(kind));
    return found.length === 0 ? undefined : draw.pick(found).template;
  };
}
