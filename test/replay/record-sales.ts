/** Records the histories of sales, as record.ts does those of the webhook engine, which says when: `npm exec mocha test/replay/record-sales.ts`. */
import { Client, type WorkflowClient as TemporalClient, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { salesActivities } from '../../activities/sales.ts';
import { readConfig } from '../../config.ts';
import { changeEnd } from '../../domain/access/enrollments.ts';
import type { Id } from '../../domain/core/ids.ts';
import { workflowIdOf, type WorkflowType } from '../../domain/facts/workflow-names.policy.ts';
import { processNotice } from '../../domain/sales/processing.ts';
import { createWorkflowClient } from '../../worker/workflow-client.ts';
import { buildShop, noticeOf, purchaseNotice, type TestShop } from '../toolkit/builders/sales.ts';
import { testPlatform } from '../toolkit/stack/database.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { commitHistory, isCommitted, recorder } from '../toolkit/drive/replay.ts';
import { noticePlatform, takeNotice } from '../toolkit/drive/sales.ts';
import { until } from '../toolkit/drive/until.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const second = 1_000;

describe('recording histories of sales', function () {
  this.timeout(120 * second);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker', () => Promise.all(workers.map((worker) => worker.stop())));
  let temporal: TemporalClient;
  let relay: RelayHere;
  /** How often the next notices fail by a fault of ours. */
  let faults = 0;

  before('start a worker', async () => {
    await testStack();
    const { address, namespace } = readConfig().temporal;
    const connection = await NativeConnection.connect({ address });
    temporal = new Client({ connection, namespace }).workflow;
    relay = relayHere(createWorkflowClient(connection, namespace), ['salesNotice', 'subscriptionEnd']);
    const platform = await noticePlatform({
      async failpoint(name) {
        if (name !== 'notice_recorded' || faults === 0) return;
        faults -= 1;
        throw new Error('a fault of ours');
      },
    });
    const activities = relay.carryingAfterEach(salesActivities(platform));
    workers.push(await runWorkerHere(connection, { taskQueue: 'sales', namespace, identity: recorder, activities }));
  });

  const record = (type: WorkflowType, scenario: string, play: () => Promise<Id>) =>
    it(`${type}/${scenario}`, async function () {
      if (isCommitted(type, scenario)) return this.skip();
      const handle: WorkflowHandle = temporal.getHandle(workflowIdOf(type, await play()));
      await handle.result();
      commitHistory(type, scenario, await handle.fetchHistory());
    });

  async function served(): Promise<TestShop> {
    const shop = await buildShop();
    relay.serve(shop.club.id);
    return shop;
  }

  async function noticed(further: object = {}): Promise<Id> {
    const shop = await served();
    const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', { ...further }));
    await relay.carry();
    return id;
  }

  /** A subscription whose access ends in so many milliseconds. */
  async function canceledIn(ms: number): Promise<{ shop: TestShop; id: Id; enrollmentId: Id }> {
    const shop = await served();
    const subscription = { id: 'sub-1', current_period_end: new Date(Date.now() + ms).toISOString() };
    const platform = await noticePlatform();
    for (const body of [
      purchaseNotice(shop, 'paid', { subscription }),
      noticeOf(shop, 'subscription.canceled', { subscription, occurred_at: '2026-03-20T00:00:00Z' }),
    ])
      await processNotice(platform, await takeNotice(shop.connection, body), Date.now());
    const [row] = await platform.database.source.query<{ id: Id; enrollmentId: Id }[]>(
      `SELECT subscription.id, enrollment.id AS "enrollmentId"
         FROM subscriptions subscription JOIN enrollments enrollment ON enrollment.origin_id = subscription.id
        WHERE subscription.club_id = $1`,
      [shop.club.id],
    );
    if (!row) throw new Error('There is no subscription.');
    await relay.carry();
    return { shop, ...row };
  }

  record('salesNotice', 'processed', () => noticed());
  record('salesNotice', 'failed', () => noticed({ product: { id: 'unknown' } }));
  record('salesNotice', 'fault-then-processed', () => {
    faults = 2;
    return noticed();
  });
  record('subscriptionEnd', 'ended', async () => (await canceledIn(4 * second)).id);
  record('subscriptionEnd', 'extended-then-ended', async () => {
    const { shop, id, enrollmentId } = await canceledIn(20 * second);
    await until('the timer', { timeoutMs: 10 * second }, async () => {
      const { events } = await temporal.getHandle(workflowIdOf('subscriptionEnd', id)).fetchHistory();
      return events?.some((event) => event.timerStartedEventAttributes) ?? false;
    });
    const { database } = await testPlatform();
    const end = new Date(Date.now() + 24 * second);
    await database.source.transaction((tx) => changeEnd(tx, shop.club.id, enrollmentId, end, new Date()));
    await relay.carry();
    return id;
  });
});
