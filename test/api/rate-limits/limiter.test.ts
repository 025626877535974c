/**
 * Tests the counters of the rate limits on a real Postgres and a real Redis: fixed windows, early retries, several processes and failures
 * of the store.
 */
import { Secret } from '../../../platform/core/secret.ts';
import { scriptArguments } from '../../../dev/project.ts';
import { storeDeadlineMs } from '../../../api/rate-limits/counter-store.ts';
import { CountersUnavailable, createLimiter, type Limiter } from '../../../api/rate-limits/limiter.ts';
import { openPostgresCounters } from '../../../api/rate-limits/postgres-counters.ts';
import { windowAt } from '../../../api/rate-limits/windows.policy.ts';
import { usuallyHoldsMs } from '../../../platform/core/gathered.ts';
import { startPostgresLine } from '../../toolkit/fakes/postgres-line.ts';
import { withClockStopped, withTimersStopped } from '../../toolkit/fakes/timers.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import {
  budget,
  freePort,
  lineTo,
  masterKey,
  migratedPostgres,
  startRedis,
  type Store,
} from '../../toolkit/stack/counter-stores.ts';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';

const run = promisify(execFile);
const noon = Date.UTC(2025, 0, 1, 12, 0, 0);
const minute = 60_000;

function limiterOn(url: Secret, clock: () => number = Date.now, failures: unknown[] = []): Limiter {
  return createLimiter({ url, masterKey, clock, onFailure: (error) => failures.push(error) });
}

/** @returns the error of the store, or undefined if the store was not called */
const unavailable = async (call: Promise<unknown>): Promise<unknown> => {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof CountersUnavailable))
    throw new Error(`CountersUnavailable was expected, not ${String(error)}`);
  return error.cause;
};
/** If the store does not answer, the error comes exactly after the deadline. */
const silence = `Error: No answer within ${storeDeadlineMs} ms.`;

const backends: readonly [string, () => Promise<Store>, string][] = [
  ['Postgres', migratedPostgres, 'postgres://postgres:postgres@127.0.0.1'],
  ['Redis', startRedis, 'redis://127.0.0.1'],
];

for (const [name, start, address] of backends) {
  describe(`counters in ${name}`, function () {
    this.timeout(60_000);
    let store: Store;
    let limiter: Limiter;
    let other: Limiter;

    before(async () => {
      store = await start();
      limiter = limiterOn(store.url);
      other = limiterOn(store.url);
      await limiter.ready();
    });
    after(async () => {
      await limiter.close();
      await other.close();
      await store.stop();
    });

    /** Charges n calls, one after the other. @returns for each call the seconds to wait, or 0 if the call is allowed */
    const charge = async (of: ReturnType<typeof budget>, n: number, now: number, subject = 'a', by = limiter) => {
      const waits: number[] = [];
      for (let call = 0; call < n; call += 1) {
        const verdict = await by.charge(of, subject, now);
        waits.push(verdict.allowed ? 0 : verdict.retryAfterSeconds);
      }
      return waits;
    };

    it('allow calls up to the limit, and reject further calls until the current window ends', async () => {
      const three = budget(3);
      expect(await charge(three, 3, noon + 20_000)).to.deep.equal([0, 0, 0]);
      expect(await charge(three, 1, noon + 59_999)).to.deep.equal([1]);
      expect(await charge(three, 2, noon + minute)).to.deep.equal([0, 0]);
    });

    it('return Retry-After as whole seconds until the next window, rounded up', async () => {
      const one = budget(2);
      expect(await charge(one, 3, noon + 12_345)).to.deep.equal([0, 0, 48]);
      const hourly = budget(2, 3_600);
      expect(await charge(hourly, 3, noon + 600_000)).to.deep.equal([0, 0, 3_000]);
    });

    it('charge a retry before the end of Retry-After to the next window', async () => {
      const five = budget(5);
      expect(await charge(five, 7, noon)).to.deep.equal([0, 0, 0, 0, 0, 60, 60]);
      expect(await charge(five, 5, noon + minute)).to.deep.equal([0, 0, 0, 60, 60]);
      expect(await charge(five, 5, noon + 2 * minute)).to.deep.equal([0, 0, 0, 60, 60]);
    });

    it('return the seconds until the first window that allows a call as Retry-After', async () => {
      const two = budget(2);
      expect(await charge(two, 7, noon)).to.deep.equal([0, 0, 60, 120, 120, 120, 120]);
      expect(await charge(two, 1, noon + 2 * minute)).to.deep.equal([0]);
    });

    it('charge a retry only to the next window, even if earlier retries used that window up', async () => {
      const two = budget(2);
      await charge(two, 4, noon);
      expect(await charge(two, 3, noon + minute + 30_000)).to.deep.equal([30, 90, 90]);
      expect(await charge(two, 1, noon + 2 * minute)).to.deep.equal([60]);
      expect(await charge(two, 2, noon + 4 * minute)).to.deep.equal([0, 0]);
    });

    it('admit a caller after Retry-After, and never exceed the limit of a window', async () => {
      const event = fc.record({
        wait: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 })),
        obeys: fc.boolean(),
        viaOther: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(event, { maxLength: 30 }), async (limit, events) => {
          const of = budget(limit);
          const admitted = new Map<number, number>();
          let now = noon;
          let toldUntil: number | undefined;
          for (const { wait, obeys, viaOther } of events) {
            const obeyedUntil = obeys && toldUntil !== undefined ? toldUntil : undefined;
            now = obeyedUntil === undefined ? now + wait : Math.max(now, obeyedUntil);
            const verdict = await (viaOther ? other : limiter).charge(of, 'a', now);
            if (obeyedUntil !== undefined) expect(verdict, 'after waiting').to.deep.equal({ allowed: true });
            if (verdict.allowed) {
              const window = windowAt(now, 60);
              admitted.set(window, (admitted.get(window) ?? 0) + 1);
              expect(admitted.get(window)).to.be.at.most(limit);
            }
            toldUntil = verdict.allowed ? undefined : now + verdict.retryAfterSeconds * 1_000;
          }
        }),
        { numRuns: 60 },
      );
    });

    it('count each subject and each kind of limit separately', async () => {
      const one = budget(2);
      await charge(one, 3, noon, 'a');
      expect(await charge(one, 1, noon, 'b')).to.deep.equal([0]);
      expect(await charge(budget(2), 1, noon, 'a')).to.deep.equal([0]);
    });

    it('are shared between several limiters', async () => {
      const three = budget(3);
      expect(await charge(three, 2, noon)).to.deep.equal([0, 0]);
      expect(await charge(three, 2, noon, 'a', other)).to.deep.equal([0, 60]);
      expect(await charge(three, 1, noon)).to.deep.equal([60]);
    });

    it('allow exactly the limit if two processes together send three times as many calls', async () => {
      const { counter } = budget(60);
      const burst = () =>
        run(process.execPath, [
          ...scriptArguments('test/toolkit/drive/charge-burst.ts'),
          store.url.reveal(),
          counter,
          '60',
          '90',
        ]);
      const counts = await Promise.all([burst(), burst()]);
      expect(counts.reduce((sum, { stdout }) => sum + Number(stdout), 0)).to.equal(60);
    });

    it('store the subject as a keyed hash, not as an address', async () => {
      const one = budget(2);
      await charge(one, 1, noon, '203.0.113.7');
      const keys = await keysOf(store, one.counter);
      expect(keys).to.have.length(1);
      expect(keys[0]).to.match(new RegExp(`^${one.counter}:[A-Za-z0-9_-]{43}:${windowAt(noon, 60)}$`));
      const elsewhere = createLimiter({
        url: store.url,
        masterKey: new Secret(Buffer.alloc(32, 8)),
        clock: Date.now,
        onFailure: () => undefined,
      });
      await charge(one, 1, noon, '203.0.113.7', elsewhere);
      await elsewhere.close();
      expect(await keysOf(store, one.counter)).to.have.length(2);
    });

    it('accept any text as a subject, even a long text or a text with NUL and quotes', async () => {
      const one = budget(2);
      expect(await charge(one, 3, noon, `\0'";${'x'.repeat(10_000)}`)).to.deep.equal([0, 0, 60]);
    });

    it('fail immediately with CountersUnavailable if the store refuses the connection', async () => {
      const failures: unknown[] = [];
      const nowhere = limiterOn(new Secret(`${address}:${await freePort()}`), () => 0, failures);
      const cause = await unavailable(nowhere.charge(budget(2), 'a', noon));
      expect(String(cause)).not.to.equal(silence);
      expect(await unavailable(nowhere.ready()), 'the store is not called again in the same second').to.equal(
        undefined,
      );
      expect(failures).to.deep.equal([cause]);
      await nowhere.close();
    });

    it('call a silent store only once a second, and use the store again when it answers', async () => {
      const line = await lineTo(store.url);
      let now = 0;
      const failures: unknown[] = [];
      const far = limiterOn(line.url, () => now, failures);
      const hundred = budget(100);
      expect(await far.charge(hundred, 'a', noon)).to.deep.equal({ allowed: true });

      line.state = 'silent';
      expect(String(await unavailable(far.charge(hundred, 'a', noon)))).to.equal(silence);
      for (let call = 0; call < 100; call += 1)
        expect(
          await unavailable(far.charge(hundred, 'a', noon)),
          'the silent store is not called again in the same second',
        ).to.equal(undefined);
      now = 1_000;
      expect(await unavailable(far.charge(hundred, 'a', noon)), 'tried again').not.to.equal(undefined);
      expect(failures).to.have.length(2);

      line.state = 'open';
      const give = performance.now() + 10_000;
      let verdict: unknown;
      while (verdict === undefined && performance.now() < give) {
        now += 1_000;
        verdict = await far.charge(hundred, 'a', noon).catch(() => sleep(50, undefined));
      }
      expect(verdict).to.deep.equal({ allowed: true });
      await far.close();
      await line.stop();
    });

    it('can undo the charge of an accepted call', async () => {
      const two = budget(2);
      const tries = async (n: number, now: number) => {
        const waits: number[] = [];
        for (let call = 0; call < n; call += 1) {
          const verdict = await limiter.attempt(two, 'a', now);
          waits.push(verdict.allowed ? 0 : verdict.retryAfterSeconds);
        }
        return waits;
      };
      expect(await tries(1, noon)).to.deep.equal([0]);
      await limiter.takeBack(two, 'a', noon);
      expect(await tries(9, noon + 30_000)).to.deep.equal([0, 0, ...Array.from({ length: 7 }, () => 30)]);
      expect(await tries(3, noon + minute)).to.deep.equal([0, 0, 60]);
    });

    it('remember a caller in every process until the end of the next window', async () => {
      const memory = { name: budget(1).counter, seconds: 3_600 };
      const hour = 60 * minute;
      expect(await limiter.isRemembered(memory, 'a', noon)).to.equal(false);
      await limiter.remember(memory, 'a', noon);
      for (const [at, expected] of [
        [noon, true],
        [noon + 2 * hour - 1, true],
        [noon + 2 * hour, false],
      ] as const)
        expect(await other.isRemembered(memory, 'a', at), String(at)).to.equal(expected);
      expect(await other.isRemembered(memory, 'b', noon)).to.equal(false);
    });

    it('refuse a caller without a query if this window and the next one are used up', async () => {
      const two = budget(2);
      await charge(two, 4, noon);
      const line = await lineTo(store.url);
      const far = limiterOn(line.url);
      expect(await charge(two, 1, noon, 'a', far)).to.deep.equal([120]);
      line.state = 'silent';
      expect(await charge(two, 100, noon, 'a', far)).to.deep.equal(Array.from({ length: 100 }, () => 120));
      await far.close();
      await line.stop();
    });
  });
}

async function keysOf({ url }: Store, counter: string): Promise<readonly string[]> {
  if (url.reveal().startsWith('redis')) {
    const redis = new Redis(url.reveal());
    const keys = await redis.keys(`rate_limit_counters:${counter}:*`);
    await redis.quit();
    return keys.map((key) => key.slice('rate_limit_counters:'.length));
  }
  const client = new Client(url.reveal());
  await client.connect();
  const found = await client.query<{ key: string }>('SELECT key FROM rate_limit_counters WHERE key LIKE $1', [
    `${counter}:%`,
  ]);
  await client.end();
  return found.rows.map(({ key }) => key);
}

describe('counters in Postgres with a stalled connection', () => {
  it('count later calls over a second connection, not over the stalled one', async () => {
    await testDatabase();
    const line = await startPostgresLine();
    const counters = openPostgresCounters(new Secret(line.url), 60_000);
    const key = budget(1).counter;
    try {
      expect(await counters.increment(key, 60)).to.equal(1);
      line.freezeOpen();
      await withTimersStopped(async (advance) => {
        const stuck = counters.increment(key, 60).catch(({ message }: Error) => message);
        await new Promise(setImmediate); // the statement is sent
        const later = Promise.all([counters.increment(key, 60), counters.increment(key, 60)]);
        await advance(usuallyHoldsMs);
        expect(await later).to.deep.equal([2, 3]);
        line.stop();
        expect(await stuck).to.equal('Connection terminated unexpectedly');
      });
    } finally {
      line.stop();
      await counters.close();
    }
  });
});

describe('expired counters in Postgres', function () {
  this.timeout(60_000);
  let store: Store;
  let client: Client;

  before(async () => {
    store = await migratedPostgres();
    client = new Client(store.url.reveal());
    await client.connect();
  });
  after(() => client.end());

  it('are deleted in pages, and current counters remain', async () => {
    const { counter } = budget(1);
    await client.query(
      `INSERT INTO rate_limit_counters (key, points, expire)
       SELECT $1 || ':old' || n, 1, $2::bigint FROM generate_series(1, 2500) n
       UNION ALL VALUES ($1 || ':live', 1, $3::bigint)`,
      [counter, Date.now() - 1, Date.now() + minute],
    );
    const counters = openPostgresCounters(store.url, storeDeadlineMs);
    expect(await counters.clearExpired()).to.be.at.least(2_500);
    expect(await keysOf(store, counter)).to.deep.equal([`${counter}:live`]);
    await counters.close();
  });

  it('expire after two to three minutes, because a call may count in the next window', async () => {
    const limiter = limiterOn(store.url);
    const one = budget(1);
    const written = await withClockStopped(async (now) => {
      for (let call = 0; call < 2; call += 1) await limiter.charge(one, 'a', noon);
      return now;
    });
    const { rows } = await client.query<{ lifetime: number }>(
      `SELECT (expire - $2)::float8 AS lifetime FROM rate_limit_counters WHERE key LIKE $1 || ':%'`,
      [one.counter, written],
    );
    expect(rows).to.deep.equal([{ lifetime: 3 * minute }, { lifetime: 3 * minute }]);
    await limiter.close();
  });
});
