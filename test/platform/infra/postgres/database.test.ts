import { expect } from 'chai';
import { QueryFailedError } from 'typeorm';
import { createNotifier, relayChannel } from '../../../../platform/infra/postgres/notifications.ts';
import { Database, StaleRead, pauseBeforeRepetition } from '../../../../platform/infra/postgres/database.ts';
import { sqlStateOf, violates } from '../../../../platform/infra/postgres/errors.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { until } from '../../../toolkit/drive/until.ts';

/** Postgres aborts the first `times` tries with this SQLSTATE. */
async function ended(sqlState: string, times: number): Promise<{ tries: number; outcome: unknown }> {
  const { db } = await testDeps();
  let tries = 0;
  const outcome = await db
    .transaction(async (tx) => {
      tries += 1;
      if (tries <= times) {
        await tx.manager.query(`DO $$ BEGIN RAISE EXCEPTION 'ended' USING ERRCODE = '${sqlState}'; END $$`);
      }
      return 'done';
    })
    .catch((error: unknown) => sqlStateOf(error));
  return { tries, outcome };
}

describe('Database.transaction', () => {
  it('repeats a transaction after a serialization failure or a deadlock, up to five tries', async () => {
    for (const sqlState of ['40001', '40P01']) {
      expect(await ended(sqlState, 4), `${sqlState} four times`).to.deep.equal({ tries: 5, outcome: 'done' });
      expect(await ended(sqlState, 5), `${sqlState} five times`).to.deep.equal({ tries: 5, outcome: sqlState });
    }
  });

  it('waits 5 to 50 ms before each repetition', async () => {
    for (const random of [0, 0.001, 0.5, 0.999, 1])
      expect(pauseBeforeRepetition(random), `random ${random}`).to.be.within(5, 50);
    expect(pauseBeforeRepetition(0.9) - pauseBeforeRepetition(0.1)).to.be.above(30);
    const began = performance.now();
    await ended('40P01', 2);
    expect(performance.now() - began).to.be.at.least(2 * 4); // Timers may fire a millisecond early.
  });

  it('repeats a transaction that threw StaleRead, up to five tries', async () => {
    const { db } = await testDeps();
    let tries = 0;
    const outcome: unknown = await db
      .transaction(async () => {
        tries += 1;
        throw new StaleRead();
      })
      .catch((error: unknown) => error);
    expect(outcome).to.be.an.instanceOf(StaleRead);
    expect(tries).to.equal(5);
  });

  it('does not repeat a transaction that failed for another reason', async () => {
    expect(await ended('23505', 1)).to.deep.equal({ tries: 1, outcome: '23505' });
  });

  it('writes nothing when the transaction throws', async () => {
    const { db } = await testDeps();
    const club = await buildClub();
    await db
      .transaction(async (tx) => {
        await tx.manager.query(`UPDATE clubs SET name = 'half' WHERE id = $1`, [club.id]);
        throw new Error('changed our mind');
      })
      .catch(() => undefined);
    const [row] = await db.source.query<{ name: string }[]>(`SELECT name FROM clubs WHERE id = $1`, [club.id]);
    expect(row?.name).to.not.equal('half');
  });

  it('notifies the relay once after a commit with facts or wakes (ENG-14)', async () => {
    const { source } = (await testDeps()).db;
    let calls = 0;
    const db = new Database(source, { notify: () => void (calls += 1) });
    await db.transaction(async (tx) => {
      tx.notifyRelay();
      tx.notifyRelay();
      expect(calls).to.equal(0);
    });
    expect(calls).to.equal(1);
    await db.transaction(() => Promise.resolve());
    expect(calls).to.equal(1);
  });
});

describe('violates', () => {
  it('recognizes an error of Postgres only if the error names this constraint', async () => {
    const source = await testDatabase();
    const club = await buildClub();
    const error: unknown = await source
      .query(
        `INSERT INTO memberships SELECT club_id, administrator_id, role, joined_at FROM memberships WHERE club_id = $1`,
        [club.id],
      )
      .catch((reason: unknown) => reason);
    expect(error).to.be.an.instanceOf(QueryFailedError);
    const { constraint } = (error as QueryFailedError).driverError as unknown as { constraint: string };
    expect([
      violates(error, constraint),
      violates(error, 'another'),
      violates(new Error('23505'), constraint),
    ]).to.deep.equal([true, false, false]);
  });
});

describe('the notifier', () => {
  it('sends one NOTIFY for all calls that arrive during a NOTIFY', async () => {
    const source = await testDatabase();
    const statements: string[] = [];
    let finish: () => void = () => {};
    const slow = {
      query: (sql: string) => {
        statements.push(sql);
        return new Promise<void>((resolve) => {
          finish = resolve;
        });
      },
    };
    const notifier = createNotifier(slow as unknown as typeof source, () => {});
    for (let calls = 0; calls < 5; calls++) notifier.notify();
    expect(statements).to.deep.equal([`NOTIFY ${relayChannel}`]);
    finish();
    await until('the second', { timeoutMs: 1_000 }, () => Promise.resolve(statements.length === 2));
    finish();
    notifier.notify();
    await until('the third', { timeoutMs: 1_000 }, () => Promise.resolve(statements.length >= 3));
    expect(statements).to.have.length(3);
  });

  it('reports a failed NOTIFY, and tries again at the next call', async () => {
    const source = await testDatabase();
    const failures: unknown[] = [];
    const broken = { query: () => Promise.reject(new Error('down')) };
    const notifier = createNotifier(broken as unknown as typeof source, (error) => failures.push(error));
    notifier.notify();
    await until('the failure', { timeoutMs: 1_000 }, () => Promise.resolve(failures.length === 1));
    notifier.notify();
    await until('the second failure', { timeoutMs: 1_000 }, () => Promise.resolve(failures.length === 2));
  });
});
