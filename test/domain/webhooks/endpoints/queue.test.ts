/** Tests the cancellation of an endpoint's queue (HOOK-9). */
import { expect } from 'chai';
import type { Answer } from '../../../../dev/clients/receiver.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { claimAttempt } from '../../../../domain/webhooks/attempts/claims.ts';
import { deleteEndpoint, disableEndpoint, enableEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { fanOut } from '../../../../domain/webhooks/events/fan-out.ts';
import { cancelSome } from '../../../../domain/webhooks/queues/close-endpoint.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { deliveryRun, wakesBy } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildEndpoint,
  buildWebhookDelivery,
  buildSubscription,
  factAbout,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

const second = 1_000;

describe('the cancellation of an endpoint’s queue', () => {
  const delivering = useDeliveries();

  const inFlight = async () => {
    const answer = Promise.withResolvers<Answer>();
    const receiver = await delivering().receiver(() => answer.promise);
    const delivery = await buildWebhookDelivery(await buildSubscription(`${receiver.url}/hook`));
    const attempt = attemptDelivery(delivering().deps(), delivery.id, Date.now());
    await receiver.waitFor(1, 2 * second);
    const finish = (status: number) => {
      answer.resolve({ status });
      return attempt;
    };
    return { delivery, finish };
  };
  const on =
    (change: typeof disableEndpoint) =>
    async ({ clubId, endpoint }: TestWebhookDelivery) =>
      change(await testDeps(), clubId, endpoint.id, new Date());
  const [disable, enable] = [on(disableEndpoint), on(enableEndpoint)];

  it('cancels only pending and requested deliveries, and wakes each changed delivery', async () => {
    const { db } = await testDeps();
    const subscription = await buildSubscription('https://93.184.216.34/hook');
    const rows = {
      pending: {},
      parked: { parked_at: new Date() },
      requested: { requested: 'manual' },
      'interrupted, before its repetition': { in_flight: 'manual' },
      'failed, with a requested resend': { status: 'failed', requested: 'manual' },
      'failed, with an interrupted resend': { status: 'failed', in_flight: 'manual' },
      succeeded: { status: 'succeeded' },
      failed: { status: 'failed' },
      'canceled by a removal': { status: 'canceled', cancel_reason: 'student_removed' },
    };
    const deliveries = new Map<string, TestWebhookDelivery>();
    for (const [name, columns] of Object.entries(rows)) {
      const delivery = await buildWebhookDelivery(subscription);
      if (Object.keys(columns).length > 0) await alter('webhook_deliveries', delivery.id, columns);
      deliveries.set(name, delivery);
    }
    const idle = ['succeeded', 'failed', 'canceled by a removal'];
    const wakes = await wakesBy(subscription.clubId, () =>
      db.transaction((tx) => cancelSome(tx, subscription.endpoint.id, new Date())),
    );
    const busy = [...deliveries].filter(([name]) => !idle.includes(name));
    expect(wakes).to.deep.equal(busy.map(([, delivery]) => deliveryRun(delivery)).toSorted());
    const after: Record<string, string> = {};
    for (const [name, { id }] of deliveries) {
      const row = await deliveryRow(id);
      expect(row, name).to.include({ requested: null, inFlight: null, parkedAt: null });
      after[name] = row.status;
    }
    expect(after).to.deep.equal({
      pending: 'canceled',
      parked: 'canceled',
      requested: 'canceled',
      'interrupted, before its repetition': 'canceled',
      'failed, with a requested resend': 'failed',
      'failed, with an interrupted resend': 'failed',
      succeeded: 'succeeded',
      failed: 'failed',
      'canceled by a removal': 'canceled',
    });
  });

  it('does not change the queues of other endpoints', async () => {
    const { db } = await testDeps();
    const subscription = await buildSubscription('https://93.184.216.34/hook');
    const other = { ...subscription, endpoint: await buildEndpoint(subscription.clubId, 'https://93.184.216.34/') };
    const delivery = await buildWebhookDelivery(other);
    await db.transaction((tx) => cancelSome(tx, subscription.endpoint.id, new Date()));
    expect((await deliveryRow(delivery.id)).status).to.equal('pending');
  });

  it('prevents later attempts of the deliveries, even after the endpoint is enabled again', async () => {
    const receiver = await delivering().receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(receiver.url));
    await disable(delivery);
    const step = () => attemptDelivery(delivering().deps(), delivery.id, Date.now());
    expect(await step()).to.deep.equal({ done: true, outcome: 'canceled' });
    await enable(delivery);
    expect(await step()).to.deep.equal({ done: true, outcome: 'canceled' });
    expect(await claimAttempt(await testDatabase(), delivery.id, Date.now())).to.equal(undefined);
    expect(receiver.requests).to.have.length(0);
  });

  it('makes a concurrent fan-out wait and create no delivery', async () => {
    const { db } = await testDeps();
    const subscription = await buildSubscription('https://93.184.216.34/hook');
    const fact = factAbout(subscription, 'student.updated');
    let deliveries: ReturnType<typeof fanOut> | undefined;
    await withOpenTransaction(
      async (tx) => {
        await tx.manager.query(`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = $1`, [
          subscription.endpoint.id,
        ]);
        await cancelSome(tx, subscription.endpoint.id, new Date());
      },
      async () => {
        deliveries = fanOut(db, fact, new Date());
        await untilWaitingForLocks(1);
      },
    );
    expect(await deliveries).to.deep.equal([]);
  });

  describe('an attempt in flight', () => {
    it('makes a canceled delivery succeeded if the attempt is answered with 2xx', async () => {
      const { delivery, finish } = await inFlight();
      await disable(delivery);
      expect((await deliveryRow(delivery.id)).status).to.equal('canceled');
      expect(await finish(200)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', attemptCount: 1, leaseUntil: null });
      expect((await attemptRows(delivery.id)).map(({ outcome }) => outcome)).to.deep.equal(['succeeded']);
    });

    it('leaves the delivery canceled if the attempt fails', async () => {
      const { delivery, finish } = await inFlight();
      await disable(delivery);
      const before = await endpointRow(delivery.endpoint.id);
      expect(await finish(500)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: null, attemptCount: 1 });
      expect((await attemptRows(delivery.id)).map(({ outcome }) => outcome)).to.deep.equal(['http_error']);
      expect(await endpointRow(delivery.endpoint.id)).to.deep.equal(before);
    });

    for (const status of [200, 500])
      it(`leaves the delivery of a removed student canceled after the answer ${status}`, async () => {
        const { delivery, finish } = await inFlight();
        await removeStudent(await testDeps(), delivery.clubId, delivery.studentId, new Date());
        expect(await finish(status)).to.deep.equal({ done: true, outcome: 'canceled' });
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: 'student_removed' });
      });

    it('ends as succeeded after a 2xx, even if the endpoint was disabled and enabled', async () => {
      const { delivery, finish } = await inFlight();
      await disable(delivery);
      await enable(delivery);
      await finish(200);
      expect((await deliveryRow(delivery.id)).status).to.equal('succeeded');
    });

    it('is recorded even if its endpoint was deleted during the attempt', async () => {
      const { delivery, finish } = await inFlight();
      await deleteEndpoint(await testDeps(), delivery.clubId, delivery.endpoint.id, new Date());
      expect(await finish(500)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect((await attemptRows(delivery.id)).map(({ outcome }) => outcome)).to.deep.equal(['http_error']);
    });
  });
});
