/**
 * Divides the connections of a process to Postgres among several purposes. One slow club must not block the others (ENG-17). External
 * effects, such as
 * a sent webhook, must be recorded even while all other work waits (ENG-18).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import type { Id } from '../../core/ids.ts';

/**
 * The purpose for which the current work uses connections: a request or a step of a club (`clubId`), the writing of records (`record`), or
 * any other purpose (undefined).
 */
const purpose = new AsyncLocalStorage<{ clubId: Id } | 'record' | undefined>();

/** Runs work for a club. All connections of the work count as connections of the club. @returns the result of the work */
export function forClub<T>(clubId: Id, work: () => T): T {
  return purpose.run({ clubId }, work);
}

/** Runs work that records an external effect. It may use the reserved connections. @returns the result of the work */
export function forRecord<T>(work: () => T): T {
  return purpose.run('record', work);
}

/**
 * Runs work that serves all clubs, although a request or a step of one club began it. This work does not count as work of that club.
 * @returns the result of the work
 */
export function forAllClubs<T>(work: () => T): T {
  return purpose.run(undefined, work);
}

/** The error if all connections that a statement may use are in use. Nothing was sent, so it is safe to retry. */
export class PoolShareTaken extends Error {
  override name = 'PoolShareTaken';
  code = 'pool_share_taken';
}

/** The share of a process's connections that one club may use. */
const share = 1 / 2;
/**
 * The time for which a statement waits for a connection of its share. This time is shorter than the limit for locks. So waiting statements
 * give up and leave the queue, even while all connections wait for locks.
 */
const patienceMs = 3_000;

interface Shares {
  /**
   * @param go a function that is called once. If the holder gets a permit, it is called without an argument. Otherwise it is called with
   * the refusal
   */
  enter(holder: string, go: (refusal?: PoolShareTaken) => void): void;
  leave(holder: string): void;
}

/** @param limit the number of permits of each holder. If a holder has no free permit, its work waits in the queue */
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
      if (next) return next(); // The next request in the queue gets the permit.
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

/**
 * @returns a version of `connect` that first takes a permit of the holder's share. The permit is released when the connection is released
 */
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
  /** The number of connections, out of `max`, that only the writing of records may use. */
  reserved?: number;
}

/** If connections are reserved for records, all other work shares the permits of a holder with this name. */
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
