import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import type { Pool, PoolOptions } from 'pg';
import type { DataSource } from 'typeorm';
import { Secret } from '../../platform/core/secret.ts';
import { readConfig } from '../../config.ts';
import { createAnswersNotifier } from '../../domain/agents/answers/answers-channel.ts';
import { createDeltaLog } from '../../domain/agents/answers/delta-log.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { newId } from '../../platform/core/ids.ts';
import { forClub, forRecord, SharedPool } from '../../platform/infra/postgres/shared-pool.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { stepsForClubs } from '../../worker/activities/activity-clubs.ts';
import { activityInterceptors } from '../../worker/activities/activity-interceptors.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createLogger } from '../../platform/infra/process.ts';
import { createDataSource } from '../../entities/data-source.ts';

/** Postgres is killed just after it accepted a connection. */
const welcomeAndFarewell = Buffer.concat([
  message('R', Buffer.alloc(4)), // AuthenticationOk
  message('Z', Buffer.from('I')), // ReadyForQuery
  message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0')),
]);

describe('a connection to Postgres', () => {
  it('fails if the server ends while the connection opens', async () => {
    const server = net.createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end(welcomeAndFarewell));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;

    const url = new Secret(`postgres://somebody@127.0.0.1:${port}/theirs`);
    const outcome = await createDataSource({ url, poolSize: 2 }, 'club-test')
      .initialize()
      .then(
        () => 'connected',
        () => 'refused',
      );
    expect(outcome).to.equal('refused');
    server.close();
  });

  it('is refused to a query that has waited longer than the limit', async () => {
    const { url } = readConfig((await testStack()).environment).database;
    expect(createDataSource({ url, poolSize: 1, connectWithinMs: 100 }, 'club-test').options).to.include({
      connectTimeoutMS: 100,
    });
    expect((await testDatabase()).options).to.include({ connectTimeoutMS: 15_000 });
    const source = await createDataSource({ url, poolSize: 1, connectWithinMs: 15_000 }, 'club-test').initialize();
    const pool = (source.driver as unknown as { master: Pool & { options: PoolOptions } }).master;
    expect(pool.options.connectionTimeoutMillis).to.equal(15_000);
    pool.options.connectionTimeoutMillis = 100; // The limit is set after the first connection, which takes longer on a busy machine.
    const runner = source.createQueryRunner();
    await runner.connect();
    const answer = source.query('SELECT 1').catch((error: Error) => error.message);
    expect(await answer).to.equal('timeout exceeded when trying to connect');
    await runner.release();
    await source.destroy();
  });

  describe('in a pool with shares', () => {
    let source: DataSource;
    beforeEach('open a pool of four connections, one of them reserved for records', async () => {
      const { url } = readConfig((await testStack()).environment).database;
      const options = { reserved: 1, Pool: SharedPool };
      source = await createDataSource({ url, poolSize: 4 }, 'club-test', options).initialize();
    });
    afterEach(() => source.destroy());

    /** Returns a function that releases the connections. */
    async function hold(count: number): Promise<() => Promise<unknown>> {
      const runners = Array.from({ length: count }, () => source.createQueryRunner());
      await Promise.all(runners.map((runner) => runner.connect()));
      return () => Promise.all(runners.map((runner) => runner.release()));
    }
    const ask = () => source.query('SELECT 1 AS one');
    const answered = [{ one: 1 }];

    it('serves only records of results if it is reserved for them (ENG-18)', async () => {
      const release = await hold(3);
      let isServed = false;
      const more = ask().then(() => (isServed = true));
      expect(await forRecord(ask)).to.deep.equal(answered);
      expect(isServed).to.equal(false);
      await release();
      expect(await more).to.equal(true);
    });

    it('is refused to a club that already uses half of all connections (ENG-17)', async () => {
      const [club, other] = [newId(), newId()];
      const step = async (fairnessKey: string) =>
        stepsForClubs({ info: { priority: { fairnessKey } } }).inbound?.execute?.({} as never, ask);
      const release = await forClub(club, () => hold(2));
      let served = 0;
      const waiting = [forClub(club, ask), step(club)].map((request) => request.then(() => (served += 1)));
      expect(await forClub(other, ask)).to.deep.equal(answered);
      expect(await step(other)).to.deep.equal(answered);
      expect(await ask()).to.deep.equal(answered);
      expect(served).to.equal(0);
      await release();
      await Promise.all(waiting);
      expect(served).to.equal(2);
    });

    it('can record a fault even if the club has used its share (ENG-16, ENG-17)', async () => {
      const [clubId, subject] = [newId(), newId()];
      const info = { workflowType: 'webhookDelivery', priority: { fairnessKey: clubId } };
      const database = new Database(source, { notify() {} });
      const surrounded = activityInterceptors(database, createLogger('test', 'silent')).reduceRight(
        (next, surround) => async () =>
          surround({ info } as never).inbound?.execute?.({ args: [subject, Date.now()] } as never, next),
        async (): Promise<unknown> => {
          throw new Error('a fault of ours');
        },
      );
      const release = await forClub(clubId, () => hold(2));
      expect(await surrounded()).to.deep.include({ done: false, failing: { faults: 1, code: 'Error' } });
      await release();
    });

    describe('serves work for all clubs even if one club has used its share (ENG-17)', () => {
      type Shared = (query: () => Promise<unknown>, onError: (error: unknown) => void) => () => void;
      const shared: Record<string, Shared> = {
        'the NOTIFY to relays': (query, onError) => createNotifier({ query } as unknown as DataSource, onError).notify,
        'the NOTIFY about new text of answers'(query, onError) {
          const dataSource = { driver: { master: { query } } };
          const notifier = createAnswersNotifier({ manager: { dataSource } } as unknown as DataSource, onError);
          return () => notifier.notify([newId()]);
        },
        'the write of new text of answers'(query, onError) {
          const write = async () => {
            await query();
            log.close();
            return ['written' as const];
          };
          const statements = { write, renew: async () => [] };
          const log = createDeltaLog({ source, notify() {}, onError, failpoint: async () => {}, statements });
          return () => void log.open(newId(), 1, () => {}).append('word');
        },
      };
      for (const [name, begin] of Object.entries(shared)) {
        it(name, async () => {
          const club = newId();
          const release = await forClub(club, () => hold(2));
          const outcome = Promise.withResolvers<unknown>();
          const query = async () => {
            const rows = await ask();
            outcome.resolve(rows);
            return { rows: [] };
          };
          forClub(club, begin(query, outcome.resolve));
          expect(await outcome.promise).to.deep.equal(answered);
          await release();
        });
      }
    });
  });
});

/** A message to Postgres. The length in it includes the four bytes of the length. */
function message(letter: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(length.length + content.length);
  return Buffer.concat([Buffer.from(letter), length, content]);
}
