import { Database } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../../dev/clients/receiver.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { resendDelivery } from '../../domain/webhooks/deliveries/manual.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { eventsNamed } from '../toolkit/assert/histories.ts';
import { wakesOf } from '../toolkit/assert/wakes.ts';
import { attemptRows, deliveryOf, deliveryRow } from '../toolkit/assert/webhooks.ts';
import { buildSubscription, type Subscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { untilDelivery, wakeDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { useEngine } from '../toolkit/stack/engine.ts';
import type { ObservedWorker } from '../toolkit/stack/worker.ts';

const second = 1_000;

describe('a signal to the run of a delivery (ENG-1)', function () {
  this.timeout(60 * second);
  const engine = useEngine();
  const { startWorkerHere, runOf } = engine;
  let worker: ObservedWorker;
  before('start the worker', async () => {
    worker = await startWorkerHere({ WORKER_TASK_QUEUES: 'webhooks' });
  });

  const fannedOut = (eventId: string, subscription: Subscription): Promise<TestWebhookDelivery> =>
    until('the fan-out', { timeoutMs: 5 * second }, async () => {
      const delivery = await deliveryOf(eventId, subscription.endpoint.id);
      return delivery ? { ...subscription, id: delivery.id, eventId } : undefined;
    });
  const outcomesOf = async ({ id }: TestWebhookDelivery) =>
    (await attemptRows(id)).map(({ number, fence, trigger, outcome }) => ({ number, fence, trigger, outcome }));
  const historyOf = ({ id }: TestWebhookDelivery) => runOf(id).fetchHistory();
  const resend = async ({ clubId, endpoint, id }: TestWebhookDelivery) => {
    const deps = await testDeps();
    const notifier = createNotifier(deps.db.source, () => {});
    await resendDelivery({ ...deps, db: new Database(deps.db.source, notifier) }, clubId, endpoint.id, id, new Date());
  };

  describe('during a local attempt', () => {
    /** The first answer waits for the test. All later answers are 200. */
    const delayedDelivery = async (firstAnswer: Answer) => {
      const { promise: released, resolve: answer } = Promise.withResolvers<Answer>();
      const receiver = await engine.receiver((_, number) => (number === 1 ? released : { status: 200 }));
      const subscription = await buildSubscription(receiver.url);
      const delivery = await fannedOut(await commitFact(subscription), subscription);
      await receiver.waitFor(1, 5 * second);
      return { receiver, delivery, answer: () => answer(firstAnswer) };
    };
    /** The history shows a signal only after the step, so the test waits until the relay has deleted the wake. */
    const untilSignaled = ({ clubId }: TestWebhookDelivery) =>
      until('the signal', { timeoutMs: 5 * second }, async () => (await wakesOf(clubId)).length === 0);
    const wakeAndAnswer = async ({ delivery, answer }: Awaited<ReturnType<typeof delayedDelivery>>) => {
      await wakeDelivery(delivery);
      await untilSignaled(delivery);
      answer();
    };
    const expectLocalAndSignaled = async (delivery: TestWebhookDelivery) => {
      const history = await historyOf(delivery);
      const [marker] = eventsNamed(history, 'markerRecordedEventAttributes');
      expect(marker?.markerName).to.equal('core_local_activity');
      expect(eventsNamed(history, 'workflowExecutionSignaledEventAttributes')).to.have.length(1);
    };

    it('causes no second request, although Temporal runs the step again', async () => {
      const scene = await delayedDelivery({ status: 200 });
      await wakeAndAnswer(scene);
      expect(await runOf(scene.delivery.id).result()).to.equal('succeeded');
      expect(scene.receiver.requests).to.have.length(1);
      expect(await outcomesOf(scene.delivery)).to.deep.equal([
        { number: 1, fence: 1, trigger: 'schedule', outcome: 'succeeded' },
      ]);
      expect(await deliveryRow(scene.delivery.id)).to.include({
        status: 'succeeded',
        attemptCount: 1,
        leaseUntil: null,
      });
      await expectLocalAndSignaled(scene.delivery);
      // Temporal does not end a run with an unread signal, and runs the step again.
      expect(eventsNamed(await historyOf(scene.delivery), 'workflowTaskFailedEventAttributes')).to.have.length.above(0);
    });

    it('does not make the next attempt earlier if the attempt fails', async () => {
      const scene = await delayedDelivery({ status: 500 });
      await wakeAndAnswer(scene);
      await scene.receiver.waitFor(2, 15 * second);
      await untilDelivery(scene.delivery.id, 'succeeded');
      expect(await runOf(scene.delivery.id).result()).to.equal('succeeded');
      expect(await outcomesOf(scene.delivery)).to.deep.equal([
        { number: 1, fence: 1, trigger: 'schedule', outcome: 'http_error' },
        { number: 2, fence: 2, trigger: 'schedule', outcome: 'succeeded' },
      ]);
      expect(scene.receiver.requests).to.have.length(2);
      const [first, next] = await attemptRows(scene.delivery.id);
      expect((next?.startedAt.getTime() ?? 0) - (first?.startedAt.getTime() ?? 0)).to.be.above(4.5 * second);
      await expectLocalAndSignaled(scene.delivery);
    });

    it('causes one more attempt if a person requested a resend', async () => {
      const scene = await delayedDelivery({ status: 200 });
      await resend(scene.delivery);
      await untilSignaled(scene.delivery);
      scene.answer();
      expect(await runOf(scene.delivery.id).result()).to.equal('succeeded');
      expect(await outcomesOf(scene.delivery)).to.deep.equal([
        { number: 1, fence: 1, trigger: 'schedule', outcome: 'succeeded' },
        { number: 2, fence: 2, trigger: 'manual', outcome: 'succeeded' },
      ]);
      expect(scene.receiver.requests).to.have.length(2);
    });
  });

  describe('while the run closes', () => {
    /** Two resends of each delivery, at different moments around the end of its last attempt. */
    const count = 20;
    const resends = 2;
    /** In milliseconds after the receiver's answer. The run closes some 20 to 60 ms after the answer. */
    const momentOf = (index: number, round: number) => ((index * 7 + round * 3) % count) * 4;

    it('causes one attempt for each requested resend', async () => {
      const receiver = await engine.receiver();
      const subscriptions = await Promise.all(Array.from({ length: count }, () => buildSubscription(receiver.url)));
      const postsOf = ({ eventId }: TestWebhookDelivery) =>
        receiver.requests.filter(({ headers }) => headers['webhook-id'] === eventId).length;

      const deliveries = await Promise.all(
        subscriptions.map(async (subscription, index) => {
          const delivery = await fannedOut(await commitFact(subscription), subscription);
          for (let round = 1; round <= resends; round++) {
            await until(`POST ${round}`, { timeoutMs: 10 * second }, async () => postsOf(delivery) >= round);
            await sleep(momentOf(index, round));
            await resend(delivery);
          }
          return delivery;
        }),
      );
      // Much shorter than two minutes, because then the sweeper repairs a lost resend.
      await until('every POST', { timeoutMs: 15 * second }, async () =>
        deliveries.every((delivery) => postsOf(delivery) >= 1 + resends),
      );
      await eachCase(deliveries, async (delivery) => expect(await runOf(delivery.id).result()).to.equal('succeeded'));
      await eachCase(deliveries, async (delivery) => {
        expect(postsOf(delivery)).to.equal(1 + resends);
        expect(await outcomesOf(delivery)).to.deep.equal([
          { number: 1, fence: 1, trigger: 'schedule', outcome: 'succeeded' },
          { number: 2, fence: 2, trigger: 'manual', outcome: 'succeeded' },
          { number: 3, fence: 3, trigger: 'manual', outcome: 'succeeded' },
        ]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', requested: null, leaseUntil: null });
      });
      expect(await worker.metric('sweeper_rescued_total')).to.equal(0);
    });
  });
});
