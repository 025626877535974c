import { expect } from 'chai';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { sqlStateOf } from '../../../../platform/infra/postgres/errors.ts';
import { RequestDatabase } from '../../../../platform/infra/postgres/request-database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

describe('RequestDatabase', () => {
  let calls: number;
  let pool: Database;
  let db: RequestDatabase;
  let clubId: string;

  beforeEach('a request and a club', async () => {
    calls = 0;
    pool = new Database(await testDatabase(), { notify: () => void (calls += 1) });
    db = new RequestDatabase(pool);
    clubId = (await buildClub()).id;
    await pool.run(sql`UPDATE clubs SET name = 'before' WHERE id = ${clubId}`);
  });
  afterEach('end the request', () => db.rollback());

  const name = sql`SELECT name FROM clubs WHERE id = `;
  const nameSeenBy = async (on: Database) => (await on.one<{ name: string }>(sql`${name}${clubId}`))?.name;
  const rename = (to: string, on: Database = db) =>
    on.transaction((tx) => tx.run(sql`UPDATE clubs SET name = ${to} WHERE id = ${clubId}`));

  it('shows its changes to other connections only after the commit', async () => {
    await rename('changed');
    expect([await nameSeenBy(db), await nameSeenBy(pool)]).to.deep.equal(['changed', 'before']);
    await db.commit();
    expect([await nameSeenBy(db), await nameSeenBy(pool)]).to.deep.equal(['changed', 'changed']);
  });

  it('writes nothing if the request is rolled back', async () => {
    await rename('changed');
    await db.rollback();
    expect([await nameSeenBy(db), await nameSeenBy(pool)]).to.deep.equal(['before', 'before']);
  });

  it('writes nothing for work that throws', async () => {
    const failed = await db
      .transaction(async (tx) => {
        await tx.run(sql`UPDATE clubs SET name = 'half' WHERE id = ${clubId}`);
        throw new Error('changed our mind');
      })
      .catch((error: Error) => error.message);
    expect([failed, await nameSeenBy(db)]).to.deep.equal(['changed our mind', 'before']);
    await rename('changed');
    await db.commit();
    expect(await nameSeenBy(pool)).to.equal('changed');
  });

  it('commits two transactions of a handler together', async () => {
    await rename('first');
    await rename('second');
    expect([await nameSeenBy(db), await nameSeenBy(pool), db.transactions]).to.deep.equal(['second', 'before', 2]);
    await db.rollback();
    expect(await nameSeenBy(pool)).to.equal('before');
  });

  it('commits the first transaction of a handler even if the second throws', async () => {
    await rename('first');
    await db
      .transaction(async (tx) => {
        await tx.run(sql`UPDATE clubs SET name = 'second' WHERE id = ${clubId}`);
        throw new Error('changed our mind');
      })
      .catch(() => undefined);
    await db.commit();
    expect(await nameSeenBy(pool)).to.equal('first');
  });

  it('begins each of its transactions with the opening statements', async () => {
    let openings = 0;
    const opened = new RequestDatabase(pool, async (tx) => {
      openings += 1;
      await tx.run(sql`UPDATE clubs SET name = name || ' opened' WHERE id = ${clubId}`);
    });
    await opened.transaction(() => Promise.reject(new Error('changed our mind'))).catch(() => undefined);
    await opened.transaction((tx) => tx.run(sql`UPDATE clubs SET name = name || ' changed' WHERE id = ${clubId}`));
    await opened.atEnd((tx) =>
      tx.run(sql`UPDATE clubs SET name = name || ' ended' WHERE id = ${clubId}`).then(() => {}),
    );
    await opened.commit();
    expect([openings, opened.transactions, await nameSeenBy(pool)]).to.deep.equal([
      2,
      2,
      'before opened changed ended',
    ]);
  });

  it('begins a transaction at the end of a request that has begun none', async () => {
    let openings = 0;
    const opened = new RequestDatabase(pool, async () => void (openings += 1));
    await opened.atEnd((tx) => tx.run(sql`UPDATE clubs SET name = 'ended' WHERE id = ${clubId}`).then(() => {}));
    await opened.commit();
    expect([openings, opened.transactions, await nameSeenBy(pool)]).to.deep.equal([1, 0, 'ended']);
  });

  it('repeats work that a deadlock ended, up to five tries', async () => {
    let tries = 0;
    const outcome = await db
      .transaction(async (tx) => {
        tries += 1;
        await tx.run(sql`UPDATE clubs SET name = name || '!' WHERE id = ${clubId}`);
        if (tries < 5) await tx.manager.query(`DO $$ BEGIN RAISE EXCEPTION 'ended' USING ERRCODE = '40P01'; END $$`);
        return 'done';
      })
      .catch((error: unknown) => sqlStateOf(error));
    await db.commit();
    expect([tries, outcome, await nameSeenBy(pool)]).to.deep.equal([5, 'done', 'before!']);
  });

  it('notifies the relay only once, after the commit (ENG-14)', async () => {
    await rename('first');
    await db.transaction((tx) => Promise.resolve(tx.notifyRelay()));
    expect(calls).to.equal(0);
    await db.commit();
    await db.commit();
    expect(calls).to.equal(1);
  });

  it('does not notify the relay if the request is rolled back', async () => {
    await db.transaction((tx) => Promise.resolve(tx.notifyRelay()));
    await db.rollback();
    await db.commit();
    expect(calls).to.equal(0);
  });

  it('reports a connection that was lost before the commit', async () => {
    await rename('lost');
    const backend = await db.one<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
    await pool.rows(sql`SELECT pg_terminate_backend(${backend?.pid})`);
    const failed = await db.commit().then(
      () => 'committed',
      () => 'failed',
    );
    expect([failed, await nameSeenBy(db)]).to.deep.equal(['failed', 'before']);
  });

  it('does not throw if the connection is lost before the rollback', async () => {
    await rename('lost');
    const backend = await db.one<{ pid: number }>(sql`SELECT pg_backend_pid() AS pid`);
    await pool.rows(sql`SELECT pg_terminate_backend(${backend?.pid})`);
    await db.rollback();
    expect(await nameSeenBy(db)).to.equal('before');
  });

  it('asks for a connection only once if the pool refuses the connection', async () => {
    const steps: string[] = [];
    const refuse = (call: string) => () => {
      steps.push(call);
      return Promise.reject(new Error('no connection is free'));
    };
    const runner = {
      isTransactionActive: true,
      connect: refuse('connect'),
      query: refuse('query'),
      release: () => Promise.resolve(void steps.push('release')),
    };
    const source = { manager: pool.manager, createQueryRunner: () => runner } as unknown as typeof pool.source;
    const busy = new RequestDatabase(new Database(source, pool.notifier));
    const refusal = await busy.transaction(() => Promise.resolve('done')).catch((error: Error) => error.message);
    expect([refusal, steps]).to.deep.equal(['no connection is free', ['connect', 'release']]);
  });

  it('returns its connection to the pool, even after a failed request', async () => {
    const idle = sql`SELECT count(*)::int AS count FROM pg_stat_activity
                      WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND query LIKE '%of fifty%'`;
    for (let request = 0; request < 50; request++) {
      const one = new RequestDatabase(pool);
      await one.transaction((tx) => tx.run(sql`SELECT 'of fifty'`));
      await (request % 2 === 0 ? one.commit() : one.rollback());
    }
    expect(await pool.one(idle)).to.deep.equal({ count: 0 });
  });
});
