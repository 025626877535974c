/** Kills a worker at each failpoint while it processes a sales notice. */
import { expect } from 'chai';
import type { Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { noticeRow, salesStateOf, type NoticeLeft } from '../toolkit/assert/sales.ts';
import { buildShop, purchaseNotice, type TestShop } from '../toolkit/builders/sales.ts';
import { takeNotice } from '../toolkit/drive/sales.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;

interface Scene {
  shop: TestShop;
  id: Id;
  signal: NodeJS.Signals | null;
  remains: NoticeLeft;
  purchases: number;
}

describe('a sales notice after its worker was killed', function () {
  this.timeout(180 * second);
  const startWorker = useWorkerProcesses('sales');
  let claimed: Scene;
  let recorded: Scene;

  before('kill two workers, and start a third', async function () {
    this.timeout(180 * second);
    recorded = await killedAt('notice_recorded'); // The test reads this row before a later worker changes it.
    claimed = await killedAt('notice_claimed');
    const source = await testDatabase();
    for (const table of ['facts', 'wakes', 'sales_notices'])
      await source.query(`UPDATE ${table} SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    await startWorker();
    // The time limit of the activity is 15 s. Then Temporal gives it to another worker.
    await until('both processed', { timeoutMs: 40 * second }, async () => {
      const rows = [await noticeRow(claimed.id), await noticeRow(recorded.id)];
      return rows.every(({ status }) => status === 'processed');
    });
    await until('the end of facts and wakes', { timeoutMs: 40 * second }, async () => {
      const waiting = await source.query<unknown[]>(`SELECT 1 FROM facts UNION ALL SELECT 1 FROM wakes`);
      return waiting.length === 0;
    });
  });

  async function killedAt(failpoint: string): Promise<Scene> {
    const shop = await buildShop();
    const worker = await startWorker({ FAILPOINT: failpoint });
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
    const { signal } = await worker.exited;
    return { shop, id, signal, remains: await noticeRow(id), purchases: await purchasesOf(shop) };
  }

  async function purchasesOf({ club }: TestShop): Promise<number> {
    const source = await testDatabase();
    const rows = await source.query<unknown[]>(`SELECT 1 FROM purchases WHERE club_id = $1`, [club.id]);
    return rows.length;
  }

  async function expectOneSale({ shop, id }: Scene): Promise<void> {
    const { students, purchases, enrollments } = await salesStateOf(shop.club.id);
    await eachCase(Object.entries({ students, purchases, enrollments }), ([, rows]) => expect(rows).to.have.length(1));
    expect(await noticeRow(id)).to.include({ status: 'processed', errorCode: null });
  }

  it('is processed again if the worker is killed between claim and commit', async () => {
    expect(claimed).to.include({ signal: 'SIGKILL', purchases: 0 });
    expect(claimed.remains).to.include({ status: 'pending', attemptCount: 1 });
    await expectOneSale(claimed);
    expect(await noticeRow(claimed.id)).to.include({ attemptCount: 2 });
  });

  it('is not processed again if the worker is killed after the commit', async () => {
    expect(recorded).to.include({ signal: 'SIGKILL', purchases: 1 });
    expect(recorded.remains).to.include({ status: 'processed', attemptCount: 1 });
    await expectOneSale(recorded);
    expect(await noticeRow(recorded.id)).to.include({ attemptCount: 1 });
  });
});
