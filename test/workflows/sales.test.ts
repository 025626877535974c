import { activities as all } from '../../activities/index.ts';
import { changeEnd, restoreAccess, revokeAccess } from '../../domain/access/enrollments/enrollments.ts';
import { Transaction } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { Subscription } from '../../entities/sales/subscription.ts';
import { processNotice } from '../../domain/sales/notices/processing.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { keptOf, summariesOf } from '../toolkit/assert/histories.ts';
import { noticeRow } from '../toolkit/assert/sales.ts';
import { buildShop, noticeOf, purchaseNotice, type TestShop } from '../toolkit/builders/sales.ts';
import { noticeDeps, takeNotice } from '../toolkit/drive/sales.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'chai';

const day = 86_400_000;

describe('the workflows of sales', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let relay: RelayHere;
  /** This many of the next tries fail with an internal error. */
  let faults = 0;
  /** This many of the next tries fail before they write anything. */
  let faultsOfVault = 0;

  before('start the worker', async () => {
    const { connection, nativeConnection } = environment();
    await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    relay = relayHere(createWorkflowClient(nativeConnection, 'default'), ['salesNotice', 'subscriptionEnd']);
    const { vault } = await testDeps();
    const deps = await noticeDeps({
      vault: {
        ...vault,
        derive(text) {
          if (faultsOfVault === 0) return vault.derive(text);
          faultsOfVault -= 1;
          throw new Error('a fault of ours');
        },
      },
      async failpoint(name) {
        if (name !== 'notice_recorded' || faults === 0) return;
        faults -= 1;
        throw new Error('a fault of ours');
      },
    });
    const activities = relay.carryingAfterEach({
      ...all.salesNotice({ notices: deps }),
      ...all.subscriptionEnd(deps),
    });
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: 'sales', activities }));
  });
  beforeEach(() => {
    [faults, faultsOfVault] = [0, 0];
  });

  const now = async () => new Date(await environment().currentTimeMs());
  const runOf = (type: 'salesNotice' | 'subscriptionEnd', id: Id): WorkflowHandle =>
    environment().client.workflow.getHandle(workflowIdOf(type, id));

  async function shopHere(): Promise<TestShop> {
    const shop = await buildShop();
    relay.serve(shop.club.id);
    return shop;
  }

  /** The access ends in this number of days. */
  async function canceledIn(
    days: number,
  ): Promise<{ shop: TestShop; id: Id; enrollmentId: Id; end: Date; handle: WorkflowHandle }> {
    const shop = await shopHere();
    const at = await now();
    const end = new Date(at.getTime() + days * day);
    const subscription = { id: 'sub-1', current_period_end: end.toISOString() };
    const deps = await noticeDeps();
    for (const body of [
      purchaseNotice(shop, 'paid', { subscription }),
      noticeOf(shop, 'subscription.canceled', { occurred_at: '2026-03-20T00:00:00Z', subscription }),
    ])
      await processNotice(deps, await takeNotice(shop.connection, body), Math.max(at.getTime(), Date.now()));
    const [row] = await deps.db.source.query<{ id: Id; enrollmentId: Id }[]>(
      `SELECT subscription.id, enrollment.id AS "enrollmentId"
         FROM subscriptions subscription JOIN enrollments enrollment ON enrollment.origin_id = subscription.id
        WHERE subscription.club_id = $1`,
      [shop.club.id],
    );
    if (!row) throw new Error('The subscription does not exist.');
    await relay.carry();
    const handle = runOf('subscriptionEnd', row.id);
    await untilItLooksAt(row.id, end);
    return { shop, ...row, end, handle };
  }

  async function endingOf(id: Id): Promise<{ looksAt: Date | null; endedAt: Date | null }> {
    const { db } = await testDeps();
    const [row] = await db.source.query<{ looksAt: Date | null; endedAt: Date | null }[]>(
      `SELECT end_looks_at AS "looksAt", access_ended_at AS "endedAt" FROM subscriptions WHERE id = $1`,
      [id],
    );
    return row ?? { looksAt: null, endedAt: null };
  }

  const untilItLooksAt = (id: Id, end: Date) =>
    until('the timer', { timeoutMs: 15_000 }, async () => (await endingOf(id)).looksAt?.getTime() === end.getTime());

  /** Also starts the runs that the action wakes. */
  async function act(what: (tx: Transaction) => Promise<unknown>): Promise<void> {
    const { db } = await testDeps();
    await db.source.transaction((manager) => what(new Transaction(manager)));
    await relay.carry();
  }

  describe('the workflow of a notice', () => {
    it('processes a notice, and returns its status', async () => {
      const shop = await shopHere();
      const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
      await relay.carry();
      expect(await runOf('salesNotice', id).result()).to.equal('processed');
      expect(await noticeRow(id)).to.include({ status: 'processed', attemptCount: 1 });
    });

    it('tries again after internal errors, and records the sale once', async () => {
      const shop = await shopHere();
      faults = 3;
      const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
      await relay.carry();
      expect(await runOf('salesNotice', id).result()).to.equal('processed');
      expect(await noticeRow(id)).to.include({ status: 'processed', attemptCount: 1 });
    });

    it('shows the number of internal errors in the name of the timer (ENG-16)', async () => {
      const shop = await shopHere();
      faultsOfVault = 3;
      const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid'));
      await relay.carry();
      const handle = runOf('salesNotice', id);
      expect(await handle.result()).to.equal('processed');
      const { timers } = await summariesOf(handle);
      expect(timers.map((timer) => timer.replace(/^another try .*, after/, 'after'))).to.deep.equal(
        [1, 2, 3].map((count) => `after ${count} fault(s) of ours, the last one Error`),
      );
      expect(await noticeRow(id)).to.include({ status: 'processed', attemptCount: 4 });
    });

    it('stores only opaque ids in Temporal: no address, name, amount or token', async () => {
      const shop = await shopHere();
      const id = await takeNotice(
        shop.connection,
        purchaseNotice(shop, 'paid', { purchase: { id: 'sale-77', amount: 4_911, currency: 'EUR' } }),
      );
      await relay.carry();
      const handle = runOf('salesNotice', id);
      await handle.result();
      const storedText = await keptOf(handle);
      expect(storedText).to.contain(id);
      await eachCase([shop.email, 'Bea Buyer', '4911', shop.connection.token, 'sale-77', '69526128664'], (secret) =>
        expect(storedText).not.to.contain(secret),
      );
    });
  });

  describe('the workflow that ends a subscription', () => {
    it('waits until the end of the access, and then records the end', async () => {
      const { id, end, handle } = await canceledIn(40);
      expect(await handle.result()).to.equal('ended');
      expect(await now()).to.be.at.least(end);
      expect(await endingOf(id)).to.deep.equal({ looksAt: null, endedAt: end });
      const { timers } = await summariesOf(handle);
      expect(timers[0]).to.match(/^the end of the access in about (39|40) d$/);
    });

    it('waits longer if an administrator moves the end of the access during the wait', async () => {
      const { shop, id, enrollmentId, end, handle } = await canceledIn(20);
      const further = new Date(end.getTime() + 30 * day);
      await act(async (tx) => changeEnd(tx, shop.club.id, enrollmentId, further, await now()));
      await untilItLooksAt(id, further);
      expect(await handle.result()).to.equal('ended');
      expect(await endingOf(id)).to.deep.equal({ looksAt: null, endedAt: further });
    });

    it('ends immediately when an administrator removes the end of the access', async () => {
      const { shop, id, enrollmentId, handle } = await canceledIn(20);
      await act(async (tx) => changeEnd(tx, shop.club.id, enrollmentId, null, await now()));
      expect(await handle.result()).to.equal('open');
      expect(await endingOf(id)).to.deep.equal({ looksAt: null, endedAt: null });
    });

    it('waits again for the end of the access if the access was revoked and then restored', async () => {
      const { shop, id, enrollmentId, end } = await canceledIn(20);
      await act(async (tx) => revokeAccess(tx, shop.club.id, enrollmentId, 'revocation', await now()));
      // If the test awaited the run's result, the server would skip time to the end of the run, and the restoration would be too late.
      await until('the recorded end', { timeoutMs: 15_000 }, async () => (await endingOf(id)).endedAt !== null);
      await act(async (tx) => restoreAccess(tx, shop.club.id, enrollmentId, await now()));
      await untilItLooksAt(id, end);
      expect(await runOf('subscriptionEnd', id).result()).to.equal('ended');
      expect(await endingOf(id)).to.deep.equal({ looksAt: null, endedAt: end });
    });

    it('ends an active subscription when the student is removed', async () => {
      const shop = await shopHere();
      const deps = await noticeDeps();
      const at = await now();
      const paid = purchaseNotice(shop, 'paid', { subscription: { id: 'sub-1' } });
      await processNotice(deps, await takeNotice(shop.connection, paid), Math.max(at.getTime(), Date.now()));
      const { id, studentId } = await deps.db.manager.findOneByOrFail(Subscription, { clubId: shop.club.id });
      const removedAt = new Date(Math.max(at.getTime(), Date.now()) + day);
      await removeStudent(deps, shop.club.id, studentId, removedAt);
      expect(await endingOf(id), 'the sweeper can find it').to.deep.equal({ looksAt: removedAt, endedAt: null });
      await relay.carry();
      expect(await runOf('subscriptionEnd', id).result()).to.equal('revoked');
      expect(await endingOf(id)).to.deep.equal({ looksAt: null, endedAt: removedAt });
    });
  });
});
