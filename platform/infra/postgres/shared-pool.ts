/**
 * Divides the connections of a process. One slow club must not block the others (ENG-17). A sent webhook must be recorded even while all
 * other work waits (ENG-18).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import type { Id } from '../../core/ids.ts';

/** A request or step of a club (`clubId`), the writing of records (`record`), or anything else (undefined). */
const purpose = new AsyncLocalStorage<{ clubId: Id } | 'record' | undefined>();

/** The connections of this work count for the club. */
export function forClub<T>(clubId: Id, work: () => T): T {
  return purpose.run({ clubId }, work);
}

/** Work that records effects outside Postgres may use the reserved connections. */
export function forRecord<T>(work: () => T): T {
  return purpose.run('record', work);
}

/** Work for all clubs may begin in one club's request or step. Its connections do not count for that club. */
export function forAllClubs<T>(work: () => T): T {
  return purpose.run(undefined, work);
}

/** All connections that the statement may use are in use. Nothing was sent, so it is safe to retry. */
export class PoolShareTaken extends Error {
  override name = 'PoolShareTaken';
  code = 'pool_share_taken';
}

/** For one club. */
const share = 1 / 2;
/** This time is shorter than the limit for locks. So waiting statements give up even while all connections wait for locks. */
const patienceMs = 3_000;

interface Shares {
  /** @param go called once: without an argument if the holder gets a permit, otherwise with the refusal */
  enter(holder: string, go: (refusal?: PoolShareTaken) => void): void;
  leave(holder: string): void;
}

/** @param limit for each holder; further work waits in the queue */
export function createShares(limit: number): Shares {
  const permitsInUse = new Map<string, number>();
  const lines = new Map<string, Set<() => void>>();
  return {
    enter(holder, go) {
      const count = permitsInUse.get(holder) ?? 0;
      if (count < limit) {
        permitsInUse.set(holder, count + 1);
        return go();
      }
      const line = lines.get(holder) ?? new Set();
      lines.set(holder, line);
      const stop = () => {
        clearTimeout(patience);
        line.delete(next);
        if (line.size === 0) lines.delete(holder);
      };
      const next = () => {
        stop();
        go();
      };
      const patience = setTimeout(() => {
        stop();
        go(new PoolShareTaken('All connections of this share are in use'));
      }, patienceMs);
      line.add(next);
    },
    leave(holder) {
      const [next] = lines.get(holder) ?? [];
      if (next) return next();
      const count = (permitsInUse.get(holder) ?? 1) - 1;
      if (count > 0) permitsInUse.set(holder, count);
      else permitsInUse.delete(holder);
    },
  };
}

type Connected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (destroy?: Error | boolean) => void,
) => void;

type Connect = (callback: Connected) => void;

/** Takes a permit of the holder's share for each connection, and releases both together. */
function within(shares: Shares, holder: string, connect: Connect): Connect {
  return (callback) => {
    shares.enter(holder, (refusal) => {
      if (refusal) return callback(refusal, undefined, () => {});
      connect((error, client, release) => {
        if (!client) {
          shares.leave(holder);
          return callback(error, client, release);
        }
        client.release = (destroy) => {
          release(destroy);
          shares.leave(holder);
        };
        callback(undefined, client, client.release);
      });
    });
  };
}

interface SharedPoolConfig extends PoolConfig {
  /** The part of `max` that only the writing of records may use. */
  reserved?: number;
}

/** If connections are reserved for records, all other work shares this holder. */
const others = 'others';

export class SharedPool extends pg.Pool {
  readonly #clubs: Shares;
  readonly #others: Shares | undefined;

  constructor({ reserved = 0, ...config }: SharedPoolConfig) {
    super(config);
    const max = config.max ?? 1;
    this.#clubs = createShares(Math.max(1, Math.floor(max * share)));
    this.#others = reserved > 0 ? createShares(Math.max(1, max - reserved)) : undefined;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback !== undefined) return this.#connect(callback);
    return new Promise((resolve, reject) => {
      this.#connect((error, client) => (client ? resolve(client) : reject(error ?? new Error('No connection'))));
    });
  }

  #connect(callback: Connected): void {
    const whose = purpose.getStore();
    if (whose === 'record') return super.connect(callback);
    const ofAll: Connect = this.#others
      ? within(this.#others, others, (then) => super.connect(then))
      : (then) => super.connect(then);
    if (whose === undefined) return ofAll(callback);
    within(this.#clubs, whose.clubId, ofAll)(callback);
  }
}
