/** Workers that die over a sales notice, and another that finds what they left. */
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
  left: NoticeLeft;
  purchases: number;
}

describe('a worker is killed during a sales notice', function () {
  this.timeout(180 * second);
  const startWorker = useWorkerProcesses('sales');
  let claimed: Scene;
  let recorded: Scene;

  before('two workers are killed, and a third takes over', async function () {
    this.timeout(180 * second);
    recorded = await killedAt('notice_recorded'); // first: a notice that is left pending would be taken by the next worker
    claimed = await killedAt('notice_claimed');
    const source = await testDatabase();
    for (const table of ['facts', 'wakes', 'sales_notices'])
      await source.query(`UPDATE ${table} SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    await startWorker();
    // An activity that died with its worker is given to another when its 15 s are over.
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
    return { shop, id, signal, left: await noticeRow(id), purchases: await purchasesOf(shop) };
  }

  async function purchasesOf({ club }: TestShop): Promise<number> {
    const source = await testDatabase();
    const rows = await source.query<unknown[]>(`SELECT 1 FROM purchases WHERE club_id = $1`, [club.id]);
    return rows.length;
  }

  /** One account, one purchase, one enrollment; told once. */
  async function expectOneSale({ shop, id }: Scene): Promise<void> {
    const { students, purchases, enrollments } = await salesStateOf(shop.club.id);
    await eachCase(Object.entries({ students, purchases, enrollments }), ([, rows]) => expect(rows).to.have.length(1));
    expect(await noticeRow(id)).to.include({ status: 'processed', errorCode: null });
  }

  it('after its claim: nothing is done, and another worker does it', async () => {
    expect(claimed).to.include({ signal: 'SIGKILL', purchases: 0 });
    expect(claimed.left).to.include({ status: 'pending', attemptCount: 1 });
    await expectOneSale(claimed);
    expect(await noticeRow(claimed.id)).to.include({ attemptCount: 2 });
  });

  it('after its commit: all is done, and another worker does nothing more', async () => {
    expect(recorded).to.include({ signal: 'SIGKILL', purchases: 1 });
    expect(recorded.left).to.include({ status: 'processed', attemptCount: 1 });
    await expectOneSale(recorded);
    expect(await noticeRow(recorded.id)).to.include({ attemptCount: 1 });
  });
});
