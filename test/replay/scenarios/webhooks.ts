/** Scenarios: webhook deliveries, the gates of their endpoints, and the background work for both. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { Answer, Receiver } from '../../../dev/clients/receiver.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { breakerRules } from '../../../domain/webhooks/endpoints/breaker.policy.ts';
import { enableEndpoint, pauseEndpoint } from '../../../domain/webhooks/queues/endpoint-states.ts';
import { recoverDeliveries, resendDelivery } from '../../../domain/webhooks/deliveries/manual.ts';
import { callGate } from '../../../domain/webhooks/deliveries/wakes.ts';
import { deliveryRow } from '../../toolkit/assert/webhooks.ts';
import { buildSubscription, buildWebhookDelivery, type TestWebhookDelivery } from '../../toolkit/builders/webhooks.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Play, Recorder, Scenarios } from '../recorder.ts';

const second = 1_000;
const failures = (count: number): Answer[] => Array.from({ length: count }, () => ({ status: 500 }));

/**
 * Creates a due delivery. Its receiver gives these answers and then 200. @param skips whether the scenario runs on the time-skipping server
 */
async function dueDelivery(
  { delivering, relays, skipped }: Recorder,
  { answers = [], skips = false }: { answers?: readonly Answer[]; skips?: boolean } = {},
): Promise<{ receiver: Receiver; delivery: TestWebhookDelivery }> {
  const receiver = await delivering.receiver((_, number) => answers[number - 1] ?? { status: 200 });
  const subscription = await buildSubscription(receiver.url);
  relays[skips ? 'skipped' : 'real'].serve(subscription.clubId);
  const now = skips ? await skipped.now() : new Date();
  return { receiver, delivery: await buildWebhookDelivery(subscription, now) };
}

/** Starts the run of the delivery in the same way as the relay. */
async function started(
  { by }: Recorder,
  { id, clubId, endpoint }: TestWebhookDelivery,
  { local = false } = {},
): Promise<WorkflowHandle> {
  const attributes = { EndpointId: endpoint.id, EventType: 'student.updated' };
  return by.start('webhookDelivery', { id, clubId, attributes }, local);
}

const runOf = (recorder: Recorder, { id }: TestWebhookDelivery) => recorder.runOf('webhookDelivery', id);
const gateOf = (recorder: Recorder, { endpoint }: TestWebhookDelivery) => recorder.runOf('endpointGate', endpoint.id);

const untilStarted = (handle: WorkflowHandle) =>
  until('the run', { timeoutMs: 10 * second }, async () => handle.describe().catch(() => false as const));

const untilTimer = (handle: WorkflowHandle) =>
  until('a timer', { timeoutMs: 10 * second }, async () => {
    const last = (await handle.fetchHistory()).events?.at(-1);
    return last?.timerStartedEventAttributes !== undefined && last.timerStartedEventAttributes !== null;
  });

const untilParked = (deliveries: readonly TestWebhookDelivery[]) =>
  until('all parked', { timeoutMs: 10 * second }, async () => {
    const rows = await Promise.all(deliveries.map(({ id }) => deliveryRow(id)));
    return rows.every(({ parkedAt }) => parkedAt !== null);
  });

/**
 * Gives the endpoint the state that it would have after 5 failures in a row. The circuit breaker holds deliveries only for a short time.
 */
const throttle = ({ endpoint }: TestWebhookDelivery, failingSince = new Date()) =>
  alter('webhook_endpoints', endpoint.id, {
    consecutive_failures: 5,
    failing_since: failingSince,
    hold_until: new Date(Date.now() + 2 * second),
    breaker_step: 1,
    breaker_epoch: 1,
  });

/** Creates a delivery that waits because the endpoint is throttled. The gate then starts. */
async function heldThenOpen(recorder: Recorder): Promise<TestWebhookDelivery> {
  const { delivery } = await dueDelivery(recorder);
  await throttle(delivery);
  await started(recorder, delivery);
  await untilParked([delivery]);
  await untilStarted(gateOf(recorder, delivery));
  return delivery;
}

/** Creates six failed deliveries, and requests the recovery of all. Returns the first delivery. */
async function recovered(recorder: Recorder): Promise<TestWebhookDelivery> {
  const { delivery } = await dueDelivery(recorder);
  const others = await Promise.all([1, 2, 3, 4, 5].map(() => buildWebhookDelivery(delivery)));
  const now = new Date();
  const failed = { status: 'failed', completed_at: now, schedule_position: 8, attempt_count: 8 };
  for (const { id } of [delivery, ...others]) await alter('webhook_deliveries', id, failed);
  await recoverDeliveries(await testDeps(), delivery.clubId, delivery.endpoint.id, now, new Date());
  await recorder.relays.real.carry();
  await untilStarted(runOf(recorder, delivery));
  return delivery;
}

/** Creates a due delivery, and starts the run of the delivery. The receiver fails `failed` times. */
const delivered = (failed: number, local: boolean) => async (recorder: Recorder) =>
  started(recorder, (await dueDelivery(recorder, { answers: failures(failed) })).delivery, { local });

const deliveryScenarios: Record<string, Play> = {
  'success-in-place': delivered(0, true),
  success: delivered(0, false),
  'failure-in-place-then-success': delivered(1, true),
  'failure-then-success': delivered(1, false),
  async 'woken-while-attempting'(recorder) {
    const { receiver, delivery } = await dueDelivery(recorder, { answers: [{ status: 200, delayMs: second }] });
    const handle = await started(recorder, delivery);
    await receiver.waitFor(1, 5 * second);
    await handle.signal('lookAgain');
    await handle.signal('lookAgain');
    return handle;
  },
  async 'parked-then-enabled'(recorder) {
    const { delivery } = await dueDelivery(recorder);
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
    const handle = await started(recorder, delivery);
    await untilTimer(handle);
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'enabled' });
    await handle.signal('lookAgain');
    return handle;
  },
  async 'canceled-while-waiting'(recorder) {
    const { delivery } = await dueDelivery(recorder, { answers: failures(1) });
    const handle = await started(recorder, delivery);
    await untilTimer(handle);
    await removeStudent(await testDeps(), delivery.clubId, delivery.studentId, new Date());
    await handle.signal('lookAgain');
    return handle;
  },
  async 'interrupted-then-success'(recorder) {
    const { delivery } = await dueDelivery(recorder);
    await alter('webhook_deliveries', delivery.id, { lease_until: new Date(Date.now() + 2 * second) });
    return started(recorder, delivery, { local: true });
  },
  'parked-at-gate-then-released': async (recorder) => runOf(recorder, await heldThenOpen(recorder)),
  recovered: async (recorder) => runOf(recorder, await recovered(recorder)),
  async 'resent-after-success'(recorder) {
    const { delivery } = await dueDelivery(recorder);
    await (await started(recorder, delivery, { local: true })).result();
    await resendDelivery(await testDeps(), delivery.clubId, delivery.endpoint.id, delivery.id, new Date());
    await recorder.relays.real.carry();
    return runOf(recorder, delivery);
  },
  async 'eight-failures'(recorder) {
    const { delivery } = await dueDelivery(recorder, { answers: failures(8), skips: true });
    return recorder.skipped.start('webhookDelivery', 'webhooks', delivery.id, true);
  },
  async expired(recorder) {
    const { delivery } = await dueDelivery(recorder, { skips: true });
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
    return recorder.skipped.start('webhookDelivery', 'webhooks', delivery.id, false);
  },
};

const gateScenarios: Record<string, Play> = {
  'held-then-open': async (recorder) => gateOf(recorder, await heldThenOpen(recorder)),
  recovered: async (recorder) => gateOf(recorder, await recovered(recorder)),
  async 'paused-then-released'(recorder) {
    const { delivery } = await dueDelivery(recorder);
    const { clubId, endpoint } = delivery;
    await pauseEndpoint(await testDeps(), clubId, endpoint.id, new Date());
    await recorder.relays.real.carry();
    const deliveries = [delivery, ...(await Promise.all([1, 2, 3].map(() => buildWebhookDelivery(delivery))))];
    for (const one of deliveries) await started(recorder, one);
    await untilParked(deliveries);
    await enableEndpoint(await testDeps(), clubId, endpoint.id, new Date());
    await recorder.relays.real.carry();
    return gateOf(recorder, delivery);
  },
  async failing(recorder) {
    const { delivery } = await dueDelivery(recorder);
    await throttle(delivery, new Date(Date.now() + 4 * second - breakerRules.failingMs));
    const { db } = await testDeps();
    const { clubId, endpoint } = delivery;
    await db.transaction((tx) => callGate(tx, { clubId, endpointId: endpoint.id }, new Date()));
    await recorder.relays.real.carry();
    return gateOf(recorder, delivery);
  },
};

export const webhookScenarios: Scenarios = {
  webhookDelivery: deliveryScenarios,
  endpointGate: gateScenarios,
  sweep: {
    async 'one-rescued'(recorder) {
      const { delivery } = await dueDelivery(recorder);
      await alter('webhook_deliveries', delivery.id, { next_attempt_at: new Date(Date.now() - 180 * second) });
      await sleep(100);
      return recorder.temporal.start('sweep', { workflowId: 'sweep-recorded', taskQueue: 'upkeep' });
    },
  },
  retention: {
    'nothing-to-remove': ({ temporal }) =>
      temporal.start('retention', { workflowId: 'retention-recorded', taskQueue: 'upkeep' }),
  },
};
