import type { Answer } from '../../dev/clients/receiver.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { eventsNamed, summariesOf } from '../toolkit/assert/histories.ts';
import { attemptRows, deliveryOf, deliveryRow } from '../toolkit/assert/webhooks.ts';
import {
  buildEndpoint,
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
} from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { untilDelivery, wakeDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useEngine } from '../toolkit/stack/engine.ts';
import type { ObservedWorker } from '../toolkit/stack/worker.ts';
import { expect } from 'chai';

const second = 1_000;

describe('a fact and its delivery', function () {
  this.timeout(60 * second);
  const engine = useEngine();
  const { startWorkerHere, runOf } = engine;
  let worker: ObservedWorker;
  before('start the worker', async () => {
    worker = await startWorkerHere({ WORKER_TASK_QUEUES: 'webhooks' });
  });

  const subscribed = async (...answers: readonly Answer[]) => {
    const receiver = await engine.receiver((_, number) => answers[number - 1] ?? { status: 200 });
    return { receiver, subscription: await buildSubscription(receiver.url) };
  };
  /** Waits for the run too, because the relay commits the delivery before it starts the run. */
  const deliveryAfterFanOut = async (eventId: string, { endpoint }: Subscription) =>
    until('the fan-out and its run', { timeoutMs: 15 * second }, async () => {
      const delivery = await deliveryOf(eventId, endpoint.id);
      const hasRun =
        delivery &&
        (await runOf(delivery.id)
          .describe()
          .then(Boolean, () => false));
      return hasRun ? delivery : undefined;
    });

  const untilParked = (deliveryId: string) =>
    until('the parked run', { timeoutMs: 5 * second }, async () => {
      const { timers } = await summariesOf(runOf(deliveryId)).catch(() => ({ timers: [] as string[] }));
      return timers.includes('the endpoint to be enabled again');
    });

  describe('the relay', () => {
    it('delivers a committed fact once and then deletes it', async () => {
      const { receiver, subscription } = await subscribed();
      const eventId = await commitFact(subscription);
      const [request] = await receiver.waitFor(1, 5 * second);
      expect(request?.headers['webhook-id']).to.equal(eventId);
      const { id } = await deliveryAfterFanOut(eventId, subscription);
      await untilDelivery(id, 'succeeded');
      expect(await runOf(id).result()).to.equal('succeeded');
      const facts = async () => (await testDatabase()).query<unknown[]>(`SELECT 1 FROM facts WHERE id = $1`, [eventId]);
      await until('the end of the fact', { timeoutMs: 2 * second }, async () => (await facts()).length === 0);
      expect(receiver.requests).to.have.length(1);
    });

    it('finds a fact at the next poll if no NOTIFY was sent', async () => {
      const { receiver, subscription } = await subscribed();
      await commitFact(subscription, { notified: false });
      await receiver.waitFor(1, 3 * second);
    });

    it('polls for facts while its LISTEN connection is cut, and then listens again', async () => {
      const { receiver, subscription } = await subscribed();
      const source = await testDatabase();
      const listeners = () =>
        source.query<{ pid: number }[]>(`SELECT pid FROM pg_stat_activity WHERE application_name = 'club-relay'`);
      const [cut] = await listeners();
      await source.query(`SELECT pg_terminate_backend($1)`, [cut?.pid]);
      await commitFact(subscription);
      await receiver.waitFor(1, 3 * second);
      await until('a new listener', { timeoutMs: 5 * second }, async () => {
        const now = await listeners();
        return now.length === 1 && now[0]?.pid !== cut?.pid;
      });
    });

    it('sends an event with the same webhook-id to every subscribed endpoint', async () => {
      const { receiver, subscription } = await subscribed();
      const other = await engine.receiver();
      await buildEndpoint(subscription.clubId, other.url);
      const eventId = await commitFact(subscription);
      await eachCase([receiver, other], async ({ waitFor }) => {
        const [request] = await waitFor(1, 5 * second);
        expect(request?.headers['webhook-id']).to.equal(eventId);
      });
    });

    it('repeats a failed attempt after 5 s with an equal webhook-id and body', async () => {
      const { receiver, subscription } = await subscribed({ status: 503 });
      const eventId = await commitFact(subscription);
      const [first, again] = await receiver.waitFor(2, 15 * second);
      expect(again?.headers['webhook-id']).to.equal(first?.headers['webhook-id']);
      expect(again?.body).to.deep.equal(first?.body);
      const [firstAt, secondAt] = [first, again].map((request) => Number(request?.headers['webhook-timestamp']));
      expect((secondAt ?? 0) - (firstAt ?? 0)).to.be.at.least(4); // jitter can shorten 5 s by a tenth
      const { timers } = await summariesOf(runOf((await deliveryAfterFanOut(eventId, subscription)).id));
      expect(timers[0]).to.match(/^attempt 2 of 8 in about [456] s$/);
    });

    it('wakes a parked delivery when its endpoint is enabled again', async () => {
      const { receiver, subscription } = await subscribed();
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
      const eventId = await commitFact(subscription);
      const { id } = await deliveryAfterFanOut(eventId, subscription);
      await untilParked(id);
      expect(receiver.requests).to.have.length(0);
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'enabled' });
      await wakeDelivery({ ...subscription, id, eventId });
      await receiver.waitFor(1, 5 * second);
      await untilDelivery(id, 'succeeded');
    });

    it('starts a new run for a wake if the earlier run has ended', async () => {
      const { receiver, subscription } = await subscribed();
      const delivery = await buildWebhookDelivery(subscription);
      await wakeDelivery(delivery);
      await untilDelivery(delivery.id, 'succeeded');
      await runOf(delivery.id).result();
      const { runId } = await runOf(delivery.id).describe();
      await wakeDelivery(delivery);
      await until('another run', { timeoutMs: 5 * second }, async () => {
        const described = await runOf(delivery.id).describe();
        return described.runId !== runId && described.status.name === 'COMPLETED';
      });
      expect(receiver.requests).to.have.length(1);
    });

    it('can wake a run very often', async () => {
      const { receiver, subscription } = await subscribed();
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
      const eventId = await commitFact(subscription);
      const { id } = await deliveryAfterFanOut(eventId, subscription);
      await untilParked(id);
      const first = await runOf(id).describe();
      // The run continues as new when its history has 4 MB. Few large signals reach this size, sent one by one because a worker receives at
      // most 4 MB.
      for (let times = 1; times <= 6; times++) {
        const { historyLength } = await runOf(id).describe();
        await runOf(id).signal('lookAgain', 'x'.repeat(900_000));
        await until('the end of the step', { timeoutMs: 15 * second }, async () => {
          const { runId, raw, historyLength: length } = await runOf(id).describe();
          const isResting = !raw.pendingWorkflowTask && raw.pendingActivities?.length === 0;
          return runId !== first.runId || (isResting && length >= historyLength + 12);
        });
        if ((await runOf(id).describe()).runId !== first.runId) break;
      }
      expect(
        (await engine.temporal().workflow.getHandle(first.workflowId, first.runId).describe()).status.name,
      ).to.equal('CONTINUED_AS_NEW');
      const { searchAttributes } = await runOf(id).describe();
      expect(searchAttributes).to.deep.include({ EndpointId: [subscription.endpoint.id] });
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'enabled' });
      await wakeDelivery({ ...subscription, id, eventId });
      await untilDelivery(id, 'succeeded');
      expect(receiver.requests).to.have.length(1);
    });

    it('causes one attempt, even if it wakes the delivery twelve times', async () => {
      const { receiver, subscription } = await subscribed({ status: 200, delayMs: 500 });
      const delivery = await buildWebhookDelivery(subscription);
      for (let times = 1; times <= 12; times++) await wakeDelivery(delivery);
      await untilDelivery(delivery.id, 'succeeded');
      await runOf(delivery.id).result();
      expect(receiver.requests).to.have.length(1);
      expect(await attemptRows(delivery.id)).to.have.length(1);
    });
  });

  describe('a run in the list of Temporal', () => {
    it('is found by its club, its endpoint and its event type', async () => {
      const { receiver, subscription } = await subscribed();
      const eventId = await commitFact(subscription);
      await receiver.waitFor(1, 5 * second);
      const { id } = await deliveryAfterFanOut(eventId, subscription);
      for (const query of [
        `ClubId = '${subscription.clubId}' AND EventType = 'student.updated'`,
        `EndpointId = '${subscription.endpoint.id}'`,
      ]) {
        await until(query, { timeoutMs: 5 * second }, async () => {
          const found: string[] = [];
          for await (const { workflowId } of engine.temporal().workflow.list({ query })) found.push(workflowId);
          return found.length > 0 && found.every((workflowId) => workflowId === workflowIdOf('webhookDelivery', id));
        });
      }
      const otherRuns = engine.temporal().workflow.list({
        query: `EndpointId = '${subscription.endpoint.id}' AND EventType = 'student.created'`,
      });
      for await (const { workflowId } of otherRuns) expect.fail(`${workflowId} is found by another event type`);
    });

    it('shows event type, endpoint and next attempt', async () => {
      const { receiver, subscription } = await subscribed({ status: 500 });
      const eventId = await commitFact(subscription);
      await receiver.waitFor(1, 5 * second);
      const { id } = await deliveryAfterFanOut(eventId, subscription);
      const timers = await until('the timer', { timeoutMs: 5 * second }, async () => {
        const found = (await summariesOf(runOf(id))).timers;
        return found.length > 0 && found;
      });
      expect(timers[0]).to.match(/^attempt 2 of 8 in about [456] s$/);
      expect((await summariesOf(runOf(id))).run).to.equal(`student.updated to endpoint ${subscription.endpoint.id}`);
    });
  });

  describe('the first attempt', () => {
    it('is a local activity in an eagerly started run if its endpoint is healthy', async () => {
      const { subscription } = await subscribed();
      const { id } = await deliveryAfterFanOut(await commitFact(subscription), subscription);
      await runOf(id).result();
      const history = await runOf(id).fetchHistory();
      expect(eventsNamed(history, 'markerRecordedEventAttributes')).to.have.length(1);
      expect(eventsNamed(history, 'activityTaskScheduledEventAttributes')).to.have.length(0);
      expect(eventsNamed(history, 'workflowTaskScheduledEventAttributes')).to.have.length(1);
      expect(eventsNamed(history, 'workflowExecutionStartedEventAttributes')[0]).to.have.property(
        'eagerExecutionAccepted',
        true,
      );
    });

    it('runs as an ordinary activity if the last attempt to its endpoint failed', async () => {
      const { subscription } = await subscribed();
      await alter('webhook_endpoints', subscription.endpoint.id, { consecutive_failures: 1 });
      const { id } = await deliveryAfterFanOut(await commitFact(subscription), subscription);
      expect(await runOf(id).result()).to.equal('succeeded');
      const history = await runOf(id).fetchHistory();
      expect(eventsNamed(history, 'markerRecordedEventAttributes')).to.have.length(0);
      expect(eventsNamed(history, 'activityTaskScheduledEventAttributes')).to.have.length(1);
    });

    it('does not wait for hanging receivers', async () => {
      const released = Promise.withResolvers<void>();
      const hung = await engine.receiver(() => released.promise.then(() => ({ status: 200 })));
      const { receiver, subscription } = await subscribed();
      const hanging = await Promise.all(Array.from({ length: 30 }, () => buildSubscription(hung.url)));
      const eventIds = await Promise.all(hanging.map((one) => commitFact(one)));
      await hung.waitFor(16, 5 * second);
      await commitFact(subscription);
      await receiver.waitFor(1, 5 * second); // The other receivers still hang.
      released.resolve();
      for (const [index, one] of hanging.entries())
        await untilDelivery((await deliveryAfterFanOut(eventIds[index] ?? '', one)).id, 'succeeded', 15 * second);
    });
  });

  it('are counted in the metrics', async () => {
    const attempts = await worker.metric('webhook_attempts_total');
    const { subscription } = await subscribed();
    const { id } = await deliveryAfterFanOut(await commitFact(subscription), subscription);
    await untilDelivery(id, 'succeeded');
    expect(await worker.metric('webhook_attempts_total')).to.be.above(attempts);
    expect(await worker.metric('sweeper_rescued_total')).to.equal(0);
    expect(await worker.metric('relay_errors_total')).to.equal(0);
    expect((await deliveryRow(id)).attemptCount).to.equal(1);
  });
});
