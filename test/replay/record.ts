/**
 * Records the histories that replay.test.ts replays: `npm exec mocha test/replay/record.ts`, then `npm run format`.
 *
 * Only scenarios without a file are recorded. A committed history stands for runs that are waiting somewhere, so it must go
 * on replaying, for as long as a run can last (30 days for a delivery). After a change of a workflow that needs new
 * histories, rename the old file (`failure-then-success-until-<date>.json`) and record the scenario again beside it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { WorkflowClient as TemporalClient, WorkflowHandle } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { addOnActivities } from '../../activities/add-on.ts';
import { endpointGateActivities } from '../../activities/endpoint-gate.ts';
import { retentionActivities } from '../../activities/retention.ts';
import { sweepActivities } from '../../activities/sweep.ts';
import { transactionalMailActivities } from '../../activities/transactional-mail.ts';
import { webhookDeliveryActivities } from '../../activities/webhook-delivery.ts';
import { readConfig } from '../../config.ts';
import type { Answer } from '../../dev/receiver.ts';
import type { PaymentProcessor } from '../../domain/billing/processor.ts';
import { inTransaction } from '../../domain/core/database.ts';
import { workflowIdOf, type WorkflowType } from '../../domain/facts/workflow-names.policy.ts';
import { removeStudent } from '../../domain/identity/students.ts';
import { requestMail } from '../../domain/mail/requests.ts';
import { breakerRules } from '../../domain/webhooks/breaker.policy.ts';
import { enableEndpoint, pauseEndpoint } from '../../domain/webhooks/endpoint-states.ts';
import { recoverDeliveries, resendDelivery } from '../../domain/webhooks/manual.ts';
import { callGate } from '../../domain/webhooks/wakes.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { createObjectStore } from '../../domain/core/object-store.ts';
import { createSmtpSender } from '../../worker/smtp.ts';
import { createWorkflowClient } from '../../worker/workflow-client.ts';
import { deliveryRow } from '../toolkit/assert/webhooks.ts';
import { buildAddOn } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testPlatform } from '../toolkit/stack/database.ts';
import { buildWebhookDelivery, buildSubscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { commitHistory, isCommitted, recorder } from '../toolkit/drive/replay.ts';
import { until } from '../toolkit/drive/until.ts';
import { fakePaymentProcessor } from '../toolkit/fakes/payments.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const second = 1_000;

describe('recording histories', function () {
  this.timeout(120 * second);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the workers, before their servers', () => Promise.all(workers.map((worker) => worker.stop())));
  const timeSkipping = useTimeSkipping();
  const delivering = useDeliveries();
  let connection: NativeConnection;
  let real: TemporalClient;
  let namespace: string;
  /** What add-ons are paid with. */
  let processor: PaymentProcessor = fakePaymentProcessor([]);
  /** Of each server, for the clubs whose workflows it runs. */
  let relays: { real: RelayHere; skipped: RelayHere };

  before('start workers on both servers', async () => {
    const { mail, temporal, classroomUrl, dashboardUrl } = readConfig();
    await testStack();
    const { database, vault } = await testPlatform();
    namespace = temporal.namespace;
    connection = await NativeConnection.connect({ address: readConfig().temporal.address });
    real = new Client({ connection, namespace }).workflow;
    const { sendMail } = createSmtpSender(mail);
    const links = { classroomUrl, dashboardUrl };
    const platform = delivering().platform();
    const webhooks = { ...webhookDeliveryActivities(platform, () => {}), ...endpointGateActivities(platform) };
    const others = {
      mail: transactionalMailActivities({ source: database.source, vault, sendMail, links, onOutcome() {} }),
      billing: addOnActivities({
        database,
        get processor() {
          return processor;
        },
      }),
      upkeep: {
        ...sweepActivities(database, () => {}),
        ...retentionActivities({ database, storage: createObjectStore(readConfig().storage) }),
      },
    };
    const skipping = timeSkipping();
    await skipping.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    const carried = ['webhookDelivery', 'endpointGate'] as const;
    relays = {
      real: relayHere(createWorkflowClient(connection, namespace), carried),
      skipped: relayHere(createWorkflowClient(skipping.nativeConnection, 'default'), carried),
    };
    for (const taskQueue of ['webhooks', 'mail', 'billing', 'upkeep'] as const) {
      const own = (relay: RelayHere) =>
        taskQueue === 'webhooks' ? relay.carryingAfterEach(webhooks) : others[taskQueue];
      const options = { taskQueue, identity: recorder };
      workers.push(await runWorkerHere(connection, { ...options, namespace, activities: own(relays.real) }));
      workers.push(await runWorkerHere(skipping.nativeConnection, { ...options, activities: own(relays.skipped) }));
    }
  });

  /** Declares a scenario; it is played only if its history is not there yet. */
  const record = (type: string, scenario: string, play: () => Promise<WorkflowHandle>) =>
    it(`${type}/${scenario}`, async function () {
      if (isCommitted(type, scenario)) return this.skip();
      const handle = await play();
      await handle.result();
      commitHistory(type, scenario, await handle.fetchHistory());
    });

  /** A due delivery to a receiver that answers like this, and then 200. */
  const due = async (answers: readonly Answer[] = [], now = new Date(), relay = relays.real) => {
    const receiver = await delivering().receiver((_, number) => answers[number - 1] ?? { status: 200 });
    const subscription = await buildSubscription(receiver.url);
    relay.serve(subscription.clubId);
    return { receiver, delivery: await buildWebhookDelivery(subscription, now) };
  };
  const startAsTheRelay = async (
    workflowType: WorkflowType,
    { id, clubId, attributes }: { id: string; clubId: string; attributes: Record<string, string> },
    ...further: unknown[]
  ) => {
    const run = { workflowType, subjectId: id, clubId, attributes: { ClubId: clubId, ...attributes } };
    await createWorkflowClient(connection, namespace).start(run, further);
    return real.getHandle(workflowIdOf(workflowType, id));
  };
  const startDelivery = (delivery: TestWebhookDelivery, inPlace: boolean) =>
    startAsTheRelay(
      'webhookDelivery',
      { ...delivery, attributes: { EndpointId: delivery.endpoint.id, EventType: 'student.updated' } },
      inPlace,
    );
  /** Waits until the run waits. */
  const untilTimer = (handle: WorkflowHandle) =>
    until('a timer', { timeoutMs: 10 * second }, async () => {
      const { events } = await handle.fetchHistory();
      return (
        events?.at(-1)?.timerStartedEventAttributes !== undefined && events.at(-1)?.timerStartedEventAttributes !== null
      );
    });
  const failures = (count: number): Answer[] => Array.from({ length: count }, () => ({ status: 500 }));

  record('webhookDelivery', 'success-in-place', async () => startDelivery((await due()).delivery, true));
  record('webhookDelivery', 'success', async () => startDelivery((await due()).delivery, false));
  record('webhookDelivery', 'failure-in-place-then-success', async () =>
    startDelivery((await due(failures(1))).delivery, true),
  );
  record('webhookDelivery', 'failure-then-success', async () =>
    startDelivery((await due(failures(1))).delivery, false),
  );

  record('webhookDelivery', 'woken-while-attempting', async () => {
    const { receiver, delivery } = await due([{ status: 200, delayMs: second }]);
    const handle = await startDelivery(delivery, false);
    await receiver.waitFor(1, 5 * second);
    await handle.signal('lookAgain');
    await handle.signal('lookAgain');
    return handle;
  });

  record('webhookDelivery', 'parked-then-enabled', async () => {
    const { delivery } = await due();
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
    const handle = await startDelivery(delivery, false);
    await untilTimer(handle);
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'enabled' });
    await handle.signal('lookAgain');
    return handle;
  });

  record('webhookDelivery', 'canceled-while-waiting', async () => {
    const { delivery } = await due(failures(1));
    const handle = await startDelivery(delivery, false);
    await untilTimer(handle);
    await removeStudent(await testPlatform(), delivery.clubId, delivery.studentId, new Date());
    await handle.signal('lookAgain');
    return handle;
  });

  record('webhookDelivery', 'interrupted-then-success', async () => {
    const { delivery } = await due();
    const now = new Date();
    await alter('webhook_deliveries', delivery.id, { lease_until: new Date(now.getTime() + 2 * second) });
    return startDelivery(delivery, true);
  });

  const gateOf = ({ endpoint }: TestWebhookDelivery) => real.getHandle(workflowIdOf('endpointGate', endpoint.id));
  const runOf = ({ id }: TestWebhookDelivery) => real.getHandle(workflowIdOf('webhookDelivery', id));
  /** What 5 failures in a row leave behind, with a hold that ends soon. */
  const throttle = async ({ endpoint }: TestWebhookDelivery, failingSince = new Date()) =>
    alter('webhook_endpoints', endpoint.id, {
      consecutive_failures: 5,
      failing_since: failingSince,
      hold_until: new Date(Date.now() + 2 * second),
      breaker_step: 1,
      breaker_epoch: 1,
    });
  const call = async ({ clubId, endpoint }: TestWebhookDelivery) => {
    const { database } = await testPlatform();
    await inTransaction(database, (tx) => callGate(tx, { clubId, endpointId: endpoint.id }, new Date()));
    await relays.real.carry();
  };
  const untilParked = (deliveries: readonly TestWebhookDelivery[]) =>
    until('all parked', { timeoutMs: 10 * second }, async () => {
      const rows = await Promise.all(deliveries.map(({ id }) => deliveryRow(id)));
      return rows.every(({ parkedAt }) => parkedAt !== null);
    });
  /** A delivery that waited while its endpoint was throttled, and was let through. */
  const heldThenOpen = async () => {
    const { delivery } = await due();
    await throttle(delivery);
    await startDelivery(delivery, false);
    await untilParked([delivery]);
    await until('its gate', { timeoutMs: 10 * second }, async () =>
      gateOf(delivery)
        .describe()
        .catch(() => false as const),
    );
    return delivery;
  };
  /** Six that had failed, recovered. */
  const recovered = async () => {
    const { delivery } = await due();
    const others = await Promise.all([1, 2, 3, 4, 5].map(() => buildWebhookDelivery(delivery)));
    const now = new Date();
    for (const { id } of [delivery, ...others]) {
      await alter('webhook_deliveries', id, {
        status: 'failed',
        completed_at: now,
        schedule_position: 8,
        attempt_count: 8,
      });
    }
    const { clubId, endpoint } = delivery;
    await recoverDeliveries(await testPlatform(), clubId, endpoint.id, now, new Date());
    await relays.real.carry();
    await until('its run', { timeoutMs: 10 * second }, async () =>
      runOf(delivery)
        .describe()
        .catch(() => false as const),
    );
    return delivery;
  };

  record('endpointGate', 'held-then-open', async () => gateOf(await heldThenOpen()));
  record('webhookDelivery', 'parked-at-gate-then-released', async () => runOf(await heldThenOpen()));
  record('endpointGate', 'recovered', async () => gateOf(await recovered()));
  record('webhookDelivery', 'recovered', async () => runOf(await recovered()));

  record('endpointGate', 'paused-then-released', async () => {
    const { delivery } = await due();
    const { clubId, endpoint } = delivery;
    await pauseEndpoint(await testPlatform(), clubId, endpoint.id, new Date());
    await relays.real.carry();
    const deliveries = [delivery, ...(await Promise.all([1, 2, 3].map(() => buildWebhookDelivery(delivery))))];
    for (const one of deliveries) await startDelivery(one, false);
    await untilParked(deliveries);
    await enableEndpoint(await testPlatform(), clubId, endpoint.id, new Date());
    await relays.real.carry();
    return gateOf(delivery);
  });

  record('endpointGate', 'failing', async () => {
    const { delivery } = await due();
    await throttle(delivery, new Date(Date.now() + 4 * second - breakerRules.failingMs));
    await call(delivery);
    return gateOf(delivery);
  });

  record('webhookDelivery', 'resent-after-success', async () => {
    const { delivery } = await due();
    await (await startDelivery(delivery, true)).result();
    await resendDelivery(await testPlatform(), delivery.clubId, delivery.endpoint.id, delivery.id, new Date());
    await relays.real.carry();
    return runOf(delivery);
  });

  const startWithTimeSkipped = ({ id }: TestWebhookDelivery, inPlace: boolean) =>
    timeSkipping().client.workflow.start('webhookDelivery', {
      workflowId: workflowIdOf('webhookDelivery', id),
      taskQueue: 'webhooks',
      args: [id, inPlace],
    });
  const skippedNow = async () => new Date(await timeSkipping().currentTimeMs());

  record('webhookDelivery', 'eight-failures', async () =>
    startWithTimeSkipped((await due(failures(8), await skippedNow(), relays.skipped)).delivery, true),
  );

  record('webhookDelivery', 'expired', async () => {
    const { delivery } = await due([], await skippedNow(), relays.skipped);
    await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
    return startWithTimeSkipped(delivery, false);
  });

  /** A mail to a student, asked for just now, that is refused so often first. */
  const mail = async (refusals: number, now = new Date()) => {
    const { database, vault } = await testPlatform();
    const { id: clubId } = await buildClub();
    const student = await buildStudent(clubId, { verified: false });
    const request = {
      template: 'student_verify_email',
      clubId,
      recipient: { studentId: student.id },
      email: 'somebody@example.com',
    } as const;
    await inTransaction(database, (tx) => requestMail(tx, vault, request, now));
    const { mailbox } = await testStack();
    if (refusals > 0) mailbox?.failNext({ at: 'rcpt', reply: 451, to: student.email, times: refusals });
    const { id } = await database.source.manager.findOneByOrFail(TransactionalMail, { studentId: student.id });
    return { id, clubId, attributes: {} };
  };
  const startMailWithTimeSkipped = async (refusals: number) => {
    const { id } = await mail(refusals, await skippedNow());
    const workflowId = workflowIdOf('transactionalMail', id);
    return timeSkipping().client.workflow.start('transactionalMail', { workflowId, taskQueue: 'mail', args: [id] });
  };

  record('transactionalMail', 'sent', async () => startAsTheRelay('transactionalMail', await mail(0)));
  record('transactionalMail', 'refused-then-sent', () => startMailWithTimeSkipped(2));
  record('transactionalMail', 'failed', () => startMailWithTimeSkipped(8));

  const startAddOn = async (outcomes: Parameters<typeof fakePaymentProcessor>[0]) => {
    processor = fakePaymentProcessor(outcomes);
    const { id } = await buildAddOn((await buildClub()).id, { next_attempt_at: await skippedNow() });
    const workflowId = workflowIdOf('addOn', id);
    return timeSkipping().client.workflow.start('addOn', { workflowId, taskQueue: 'billing', args: [id] });
  };
  const unknown = { result: 'unknown', code: 'StripeConnectionError' } as const;

  record('addOn', 'paid-at-last', () => startAddOn([unknown, unknown]));
  record('addOn', 'declined', () => startAddOn([{ result: 'declined' }]));
  record('addOn', 'settled-before', async () => {
    const clubId = (await buildClub()).id;
    const settled = { status: 'active', payment_id: 'pi_1', settled_at: new Date() };
    return startAsTheRelay('addOn', { ...(await buildAddOn(clubId, settled)), attributes: {} });
  });

  record('sweep', 'one-rescued', async () => {
    const { delivery } = await due();
    await alter('webhook_deliveries', delivery.id, { next_attempt_at: new Date(Date.now() - 180 * second) });
    await sleep(100);
    return real.start('sweep', { workflowId: 'sweep-recorded', taskQueue: 'upkeep' });
  });

  record('retention', 'nothing-to-remove', () =>
    real.start('retention', { workflowId: 'retention-recorded', taskQueue: 'upkeep' }),
  );
});
