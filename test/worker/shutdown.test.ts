import { expect } from 'chai';
import type { Exit } from '../../dev/stack/children.ts';
import type { Receiver } from '../../dev/clients/receiver.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { attemptRows, deliveryOf, deliveryRow } from '../toolkit/assert/webhooks.ts';
import { buildSubscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { until } from '../toolkit/drive/until.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;

describe('a worker that gets SIGTERM during two attempts of 3 s (ENG-10)', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses('webhooks');
  const temporal = useTemporal();
  const delivering = useDeliveries();
  let receiver: Receiver;
  let deliveries: TestWebhookDelivery[];
  let exit: Exit & { tookMs: number };
  let late: { clubId: string; eventId: string };

  before('send SIGTERM to a busy worker', async () => {
    receiver = await delivering().receiver(() => ({ status: 200, body: 'thank you', delayMs: 3 * second }));
    const subscriptions = await Promise.all([buildSubscription(receiver.url), buildSubscription(receiver.url)]);
    // The first attempt is a local activity. The second is an ordinary activity, because the endpoint's last attempt failed.
    await alter('webhook_endpoints', subscriptions[1].endpoint.id, { consecutive_failures: 1 });
    const worker = await startWorker();
    const eventIds = await Promise.all(subscriptions.map((subscription) => commitFact(subscription)));
    await receiver.waitFor(2, 5 * second);

    const ending = worker.end('SIGTERM');
    // Throws once the worker has ended.
    await until('the worker to become not ready', { timeoutMs: 10 * second }, async () => !(await worker.ready()));
    late = { clubId: subscriptions[0].clubId, eventId: await commitFact(subscriptions[0]) };
    exit = await ending;
    deliveries = await Promise.all(
      subscriptions.map(async (subscription, index) => {
        const eventId = eventIds[index] ?? '';
        const row = await deliveryOf(eventId, subscription.endpoint.id);
        return { ...subscription, eventId, id: row?.id ?? '' };
      }),
    );
  });

  it('ends with exit code 0 after its attempts, within 25 s', () => {
    expect(exit).to.include({ code: 0, signal: null });
    expect(exit.tookMs).to.be.within(1.5 * second, 25 * second);
  });

  it('records the answers to both attempts, and interrupts no request', async () => {
    expect(receiver.requests).to.have.length(2);
    await eachCase(deliveries, async ({ id }) => {
      expect(await deliveryRow(id)).to.include({ status: 'succeeded', attemptCount: 1, leaseUntil: null });
      const attempts = await attemptRows(id);
      expect(attempts).to.have.length(1);
      expect(attempts[0]).to.include({ outcome: 'succeeded', responseStatus: 200, responseExcerpt: 'thank you' });
      expect(attempts[0]?.durationMs).to.be.at.least(3 * second);
    });
  });

  it('leaves a fact that was committed during the shutdown to the next worker', async () => {
    expect(await deliveryOf(late.eventId, deliveries[0]?.endpoint.id ?? '')).to.equal(null);
  });

  it('lets the next worker end the runs and deliver the fact', async () => {
    await startWorker();
    await eachCase(deliveries, async ({ id }) =>
      expect(await temporal().workflow.getHandle(workflowIdOf('webhookDelivery', id)).result()).to.equal('succeeded'),
    );
    const requests = await receiver.waitFor(3, 10 * second);
    expect(requests.map(({ headers }) => headers['webhook-id'])).to.have.members([
      ...deliveries.map(({ eventId }) => eventId),
      late.eventId,
    ]);
  });
});
