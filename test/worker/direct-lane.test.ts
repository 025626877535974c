import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import { runCommand } from '../../dev/stack/commands.ts';
import type { Exit } from '../../dev/stack/children.ts';
import { scriptArguments } from '../../dev/project.ts';
import { isSignedWith, type Answer, type ReceivedRequest, type Receiver } from '../../dev/clients/receiver.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { deliveryRun, wakesOf } from '../toolkit/assert/wakes.ts';
import { attemptRows, deliveryOf, deliveryRow, eventRow } from '../toolkit/assert/webhooks.ts';
import {
  buildEndpoint,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { endLease, untilDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { startTemporalLine, type TemporalLine } from '../toolkit/fakes/temporal-line.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useEngine } from '../toolkit/stack/engine.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import type { WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;
const direct = { WEBHOOK_FIRST_ATTEMPT: 'direct' };
const workflow = { WEBHOOK_FIRST_ATTEMPT: 'workflow' };

interface Scene extends TestWebhookDelivery {
  receiver: Receiver;
}

describe('the direct lane of webhook deliveries (HOOK-18)', function () {
  this.timeout(180 * second);
  const engine = useEngine();
  const { startWorker, runOf } = engine;

  const subscribed = async (...answers: readonly Answer[]) => {
    const receiver = await engine.receiver((_, number) => answers[number - 1] ?? { status: 200 });
    return { receiver, subscription: await buildSubscription(receiver.url) };
  };
  const deliveryAfterFanOut = (eventId: string, subscription: Subscription): Promise<TestWebhookDelivery> =>
    until('the fan-out', { timeoutMs: 15 * second }, async () => {
      const delivery = await deliveryOf(eventId, subscription.endpoint.id);
      return delivery ? { ...subscription, id: delivery.id, eventId } : undefined;
    });
  const deliverToNewReceiver = async (...answers: readonly Answer[]): Promise<Scene> => {
    const { receiver, subscription } = await subscribed(...answers);
    return { ...(await deliveryAfterFanOut(await commitFact(subscription), subscription)), receiver };
  };
  const hasRun = (id: string) =>
    runOf(id)
      .describe()
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return false;
          throw error;
        },
      );
  const hasFact = async (eventId: string) =>
    (await (await testDatabase()).query<unknown[]>(`SELECT 1 FROM facts WHERE id = $1`, [eventId])).length > 0;
  const outcomesOf = async ({ id }: { id: string }) =>
    (await attemptRows(id)).map(({ number, fence, outcome }) => ({ number, fence, outcome }));
  const idsOf = (requests: readonly ReceivedRequest[]) => requests.map(({ headers }) => headers['webhook-id'] ?? '');
  const interruptedThenSucceeded = [
    { number: 1, fence: 1, outcome: 'interrupted' },
    { number: 1, fence: 2, outcome: 'succeeded' },
  ];

  describe('a worker of the direct lane', () => {
    let worker: WorkerProcess;
    before('start it', async () => {
      worker = await startWorker(direct);
    });
    after('end it', () => worker.end('SIGKILL'));
    const firstAttempts = (lane: string) => worker.metric(`webhook_first_attempts_total{lane="${lane}"}`);

    it('makes an accepted first attempt without a workflow run', async () => {
      const before = await firstAttempts('direct');
      const delivery = await deliverToNewReceiver();
      await untilDelivery(delivery.id, 'succeeded');
      expect(await deliveryRow(delivery.id)).to.include({
        attemptCount: 1,
        schedulePosition: 1,
        fence: 1,
        leaseUntil: null,
        direct: false,
      });
      const [attempt, ...more] = await attemptRows(delivery.id);
      expect(attempt).to.include({
        number: 1,
        fence: 1,
        trigger: 'schedule',
        outcome: 'succeeded',
        responseStatus: 200,
      });
      expect(more).to.deep.equal([]);
      expect(await hasFact(delivery.eventId)).to.equal(false);
      expect(await wakesOf(delivery.clubId)).to.deep.equal([]);
      expect(await hasRun(delivery.id)).to.equal(false);
      expect((await firstAttempts('direct')) - before).to.equal(1);
      expect(await firstAttempts('workflow')).to.equal(0);
    });

    it('posts the stored body once, with webhook-id and signature', async () => {
      const { receiver, endpoint, eventId, id } = await deliverToNewReceiver();
      await untilDelivery(id, 'succeeded');
      expect(idsOf(receiver.requests)).to.deep.equal([eventId]);
      const [request] = receiver.requests;
      expect(request?.body.toString()).to.equal((await eventRow(eventId)).body);
      expect(request && isSignedWith(endpoint.secret, request)).to.equal(true);
    });

    it('hands a refused delivery over to a workflow run', async () => {
      const delivery = await deliverToNewReceiver({ status: 500 });
      const timers = await until('the timer', { timeoutMs: 5 * second }, async () => {
        const found = await summariesOf(runOf(delivery.id)).catch(() => ({ timers: [] as string[] }));
        return found.timers.length > 0 && found.timers;
      });
      expect(timers[0]).to.match(/^attempt 2 of 8 in about [456] s$/);
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'pending', attemptCount: 1, schedulePosition: 1, leaseUntil: null });
      expect(row.direct).to.equal(false);
      const [first] = delivery.receiver.requests;
      expect(row.nextAttemptAt.getTime() - (first?.receivedAt.getTime() ?? 0)).to.be.at.least(4_500); // jitter can shorten 5 s by a tenth
      expect(await hasFact(delivery.eventId)).to.equal(false);

      expect(await runOf(delivery.id).result()).to.equal('succeeded');
      expect(await outcomesOf(delivery)).to.deep.equal([
        { number: 1, fence: 1, outcome: 'http_error' },
        { number: 2, fence: 2, outcome: 'succeeded' },
      ]);
      const [, again] = delivery.receiver.requests;
      expect(idsOf(delivery.receiver.requests)).to.deep.equal([delivery.eventId, delivery.eventId]);
      expect(again?.body).to.deep.equal(first?.body);
    });

    it('starts a workflow run only if the last attempt at the endpoint failed', async () => {
      const { receiver, subscription } = await subscribed();
      const failing = await buildEndpoint(subscription.clubId, `${receiver.url}/failing`);
      await alter('webhook_endpoints', failing.id, { consecutive_failures: 1 });
      const eventId = await commitFact(subscription);
      const directDelivery = await deliveryAfterFanOut(eventId, subscription);
      const runDelivery = await deliveryAfterFanOut(eventId, { ...subscription, endpoint: failing });
      await eachCase([directDelivery, runDelivery], ({ id }) => untilDelivery(id, 'succeeded'));
      expect(await runOf(runDelivery.id).result()).to.equal('succeeded');
      expect(await hasRun(directDelivery.id)).to.equal(false);
      expect(receiver.requests.map(({ path }) => path).toSorted()).to.deep.equal(['/', '/failing']);
      await until('the end of the fact', { timeoutMs: 5 * second }, async () => !(await hasFact(eventId)));
    });

    it('has handed over no delivery in the earlier tests', async () => {
      expect(await worker.metric('webhook_direct_handed_over_total')).to.equal(0);
      expect(await worker.metric('webhook_direct_attempts')).to.equal(0);
      expect(await worker.metric('relay_errors_total')).to.equal(0);
      expect(worker.log()).not.to.include('a direct attempt is left to a run');
    });
  });

  /**
   * `before` kills four workers at different points, and a fifth worker during the hand-over. Each worker has one delivery. The tests end
   * the leases. Then another worker continues the deliveries.
   */
  describe('after the kill of a worker', () => {
    interface Remains extends Scene {
      signal: NodeJS.Signals | null;
      row: { status: string; attemptCount: number; fence: number; direct: boolean; leased: boolean };
      attempts: { number: number; fence: number; outcome: string | null }[];
      requestsThen: number;
      run: boolean;
      fact: boolean;
      wake: boolean;
    }
    let claimed: Remains;
    let posted: Remains;
    let recorded: Remains;
    let cut: Remains;
    let handedOver: Remains;
    let successor: WorkerProcess | undefined;

    before('kill five workers, and start a sixth', async () => {
      claimed = await killedAt({ FAILPOINT: 'direct_claimed' });
      posted = await killedAt({ FAILPOINT: 'direct_posted' });
      recorded = await killedAt({ FAILPOINT: 'direct_recorded' });
      cut = await killedAt({}, async (worker, receiver) => {
        await receiver.waitFor(1, 5 * second);
        await worker.end('SIGKILL');
      });
      const { exited } = await startWorker({ ...workflow, FAILPOINT: 'handed_over' });
      await endLease(cut.id); // after the start, because the worker dies when it finds an ended lease
      handedOver = await remainsOf(cut, (await exited).signal);
      for (const { id } of [claimed, posted]) await endLease(id);
      successor = await startWorker(workflow);
      for (const { id } of [claimed, posted, cut]) await untilDelivery(id, 'succeeded', 30 * second);
      for (const { id } of [claimed, posted, cut]) await runOf(id).result();
    });
    after('end the last worker', () => successor?.end('SIGKILL'));

    async function killedAt(
      env: Record<string, string>,
      kill: (worker: WorkerProcess, receiver: Receiver) => Promise<void> = async () => {},
    ): Promise<Remains> {
      const { receiver, subscription } = await subscribed(...('FAILPOINT' in env ? [] : (['hang'] as const)));
      const worker = await startWorker({ ...direct, ...env });
      const eventId = await commitFact(subscription);
      await kill(worker, receiver);
      const { signal } = await worker.exited;
      const remains = await remainsOf({ ...(await deliveryAfterFanOut(eventId, subscription)), receiver }, signal);
      if (remains.row.leased)
        await alter('webhook_deliveries', remains.id, { lease_until: new Date(Date.now() + 3_600_000) });
      return remains;
    }

    async function remainsOf(scene: Scene, signal: NodeJS.Signals | null): Promise<Remains> {
      const { status, attemptCount, fence, direct: isDirect, leaseUntil } = await deliveryRow(scene.id);
      const leased = leaseUntil !== null && leaseUntil.getTime() > Date.now();
      return {
        ...scene,
        signal,
        row: { status, attemptCount, fence, direct: isDirect, leased },
        attempts: await outcomesOf(scene),
        requestsThen: scene.receiver.requests.length,
        run: await hasRun(scene.id),
        fact: await hasFact(scene.eventId),
        wake: (await wakesOf(scene.clubId)).some(({ workflowId }) => workflowId === deliveryRun(scene)),
      };
    }

    const onlyTheRow = { signal: 'SIGKILL', run: false, fact: false, wake: false };
    const cutOff = {
      ...onlyTheRow,
      row: { status: 'pending', attemptCount: 0, fence: 1, direct: true, leased: true },
      attempts: [{ number: 1, fence: 1, outcome: null }],
    };

    describe('between the commit of the fan-out and the POST (direct_claimed)', () => {
      it('leaves the claimed delivery, but no request and no workflow run', () => {
        expect(claimed).to.deep.include({ ...cutOff, requestsThen: 0 });
      });

      it('makes the next worker hand the delivery over to a run after the lease', async () => {
        expect(await outcomesOf(claimed)).to.deep.equal(interruptedThenSucceeded);
        expect(idsOf(claimed.receiver.requests)).to.deep.equal([claimed.eventId]);
        expect(await deliveryRow(claimed.id)).to.include({ attemptCount: 1, direct: false, leaseUntil: null });
      });
    });

    describe('between the POST and its record (direct_posted)', () => {
      it('leaves the claimed delivery and one request', () => {
        expect(posted).to.deep.include({ ...cutOff, requestsThen: 1 });
      });

      it('makes a workflow run send the bytes again, with an equal webhook-id', async () => {
        expect(await outcomesOf(posted)).to.deep.equal(interruptedThenSucceeded);
        const [first, again] = posted.receiver.requests;
        expect(idsOf(posted.receiver.requests)).to.deep.equal([posted.eventId, posted.eventId]);
        expect(again?.body).to.deep.equal(first?.body);
        expect(await deliveryRow(posted.id)).to.include({ attemptCount: 1, direct: false, leaseUntil: null });
      });
    });

    describe('after the record (direct_recorded)', () => {
      it('leaves a succeeded delivery', () => {
        expect(recorded).to.deep.include({
          ...onlyTheRow,
          row: { status: 'succeeded', attemptCount: 1, fence: 1, direct: false, leased: false },
          attempts: [{ number: 1, fence: 1, outcome: 'succeeded' }],
          requestsThen: 1,
        });
      });

      it('causes no run and no second request', async () => {
        expect(await hasRun(recorded.id)).to.equal(false);
        expect(idsOf(recorded.receiver.requests)).to.deep.equal([recorded.eventId]);
      });
    });

    describe('before the answer, and then during the hand-over (handed_over)', () => {
      it('leaves the claimed delivery, and after the second kill also a wake', () => {
        expect(cut).to.deep.include({ ...cutOff, requestsThen: 1 });
        expect(handedOver).to.deep.include({
          ...cutOff,
          row: { ...cutOff.row, direct: false, leased: false },
          requestsThen: 1,
          wake: true,
        });
      });

      it('makes the last worker send the wake', async () => {
        expect(await outcomesOf(cut)).to.deep.equal(interruptedThenSucceeded);
        expect(idsOf(cut.receiver.requests)).to.deep.equal([cut.eventId, cut.eventId]);
      });
    });

    it('counts two handed-over deliveries in the last worker’s metrics', async () => {
      expect(await successor?.metric('webhook_direct_handed_over_total')).to.equal(2);
    });
  });

  describe('workers of both lanes', () => {
    const endpoints = 6;
    const facts = 24;
    const workers: WorkerProcess[] = [];
    afterEach('end the workers', () => Promise.all(workers.splice(0).map((worker) => worker.end('SIGKILL'))));
    const start = async (env: Readonly<Record<string, string>>) => {
      const worker = await startWorker(env);
      workers.push(worker);
      return worker;
    };
    const subscriptionsOf = (receiver: Receiver) =>
      Promise.all(Array.from({ length: endpoints }, () => buildSubscription(receiver.url)));
    const committed = (subscriptions: readonly Subscription[]) =>
      Promise.all(
        subscriptions.map(async (subscription) => ({ subscription, eventId: await commitFact(subscription) })),
      );
    const allDeliveries = (events: Awaited<ReturnType<typeof committed>>) =>
      Promise.all(events.map(({ eventId, subscription }) => deliveryAfterFanOut(eventId, subscription)));

    it('deliver each fact once if they run at the same time', async () => {
      const both = [await start(direct), await start(workflow)];
      const receiver = await engine.receiver();
      const subscriptions = await subscriptionsOf(receiver);
      const events = await committed(Array.from({ length: facts / endpoints }, () => subscriptions).flat());
      const deliveries = await allDeliveries(events);
      for (const { id } of deliveries) await untilDelivery(id, 'succeeded', 30 * second);
      expect(idsOf(receiver.requests).toSorted()).to.deep.equal(events.map(({ eventId }) => eventId).toSorted());
      const firstAttemptCounts = await Promise.all(both.map((worker) => worker.metric('webhook_first_attempts_total')));
      expect(firstAttemptCounts.reduce((sum, count) => sum + count, 0)).to.equal(facts);
    });

    for (const { from, to } of [
      { from: direct, to: workflow },
      { from: workflow, to: direct },
    ]) {
      it(`deliver all facts after the setting changes from ${from.WEBHOOK_FIRST_ATTEMPT} to ${to.WEBHOOK_FIRST_ATTEMPT}`, async () => {
        const receiver = await engine.receiver((_, number) => (number > endpoints ? { status: 200 } : 'hang'));
        const before = await startWorker(from);
        const events = await committed(await subscriptionsOf(receiver));
        await receiver.waitFor(endpoints, 15 * second);
        await before.end('SIGKILL');
        const deliveries = await allDeliveries(events);
        for (const { id } of deliveries) await endLease(id);
        const after = await start(to);
        for (const { id } of deliveries) await untilDelivery(id, 'succeeded', 60 * second);
        await eachCase(deliveries, async (delivery) =>
          expect(await outcomesOf(delivery)).to.deep.equal(interruptedThenSucceeded),
        );
        const ids = events.map(({ eventId }) => eventId);
        expect(idsOf(receiver.requests).toSorted()).to.deep.equal([...ids, ...ids].toSorted());
        expect(await after.metric('webhook_direct_handed_over_total')).to.equal(from === direct ? endpoints : 0);
      });
    }
  });

  describe('a worker, while Temporal is unavailable', () => {
    let line: TemporalLine;
    let worker: WorkerProcess;
    let accepted: Scene;
    let refused: Scene;
    before('cut the connection to Temporal, and commit two facts', async () => {
      line = await startTemporalLine();
      worker = await startWorker({ ...direct, TEMPORAL_ADDRESS: line.address });
      line.cut();
      accepted = await deliverToNewReceiver();
      refused = await deliverToNewReceiver({ status: 500 });
    });
    after('end the worker', async () => {
      await worker.end('SIGKILL');
      line.stop();
    });

    it('completes accepted deliveries', async () => {
      await untilDelivery(accepted.id, 'succeeded');
      expect(accepted.receiver.requests).to.have.length(1);
      expect(await wakesOf(accepted.clubId)).to.deep.equal([]);
    });

    it('keeps the wake of a refused delivery until Temporal is available again', async () => {
      await until('the record', { timeoutMs: 5 * second }, async () => (await attemptRows(refused.id))[0]?.outcome);
      expect((await wakesOf(refused.clubId)).map(({ workflowId }) => workflowId)).to.deep.equal([deliveryRun(refused)]);
      expect(await hasRun(refused.id)).to.equal(false);
      expect(await deliveryRow(refused.id)).to.include({ status: 'pending', attemptCount: 1, direct: false });
      line.mend();
      await untilDelivery(refused.id, 'succeeded', 60 * second);
      expect(await outcomesOf(refused)).to.deep.equal([
        { number: 1, fence: 1, outcome: 'http_error' },
        { number: 2, fence: 2, outcome: 'succeeded' },
      ]);
      expect(await wakesOf(refused.clubId)).to.deep.equal([]);
    });
  });

  describe('a worker that gets SIGTERM during two attempts of 3 s (ENG-10)', () => {
    let exit: Exit & { tookMs: number };
    let accepted: Scene;
    let refused: Scene;
    let late: { subscription: Subscription; receiver: Receiver; eventId: string };
    before('send SIGTERM to a busy worker', async () => {
      const worker = await startWorker(direct);
      accepted = await deliverToNewReceiver({ status: 200, body: 'thank you', delayMs: 3 * second });
      refused = await deliverToNewReceiver({ status: 500, delayMs: 3 * second });
      await eachCase([accepted, refused], ({ receiver }) => receiver.waitFor(1, 5 * second));
      const ending = worker.end('SIGTERM');
      await until('the worker to become not ready', { timeoutMs: 10 * second }, async () => !(await worker.ready()));
      const { receiver, subscription } = await subscribed();
      late = { receiver, subscription, eventId: await commitFact(subscription) };
      exit = await ending;
    });

    it('records both attempts and ends with exit code 0', async () => {
      expect(exit).to.include({ code: 0, signal: null });
      expect(exit.tookMs).to.be.within(1 * second, 25 * second);
      expect(await deliveryRow(accepted.id)).to.include({ status: 'succeeded', direct: false, leaseUntil: null });
      expect(await deliveryRow(refused.id)).to.include({ status: 'pending', direct: false, leaseUntil: null });
      expect((await attemptRows(accepted.id)).map(({ responseExcerpt }) => responseExcerpt)).to.deep.equal([
        'thank you',
      ]);
      expect(await outcomesOf(refused)).to.deep.equal([{ number: 1, fence: 1, outcome: 'http_error' }]);
    });

    it('leaves the refused delivery and later facts to the next worker', async () => {
      expect((await wakesOf(refused.clubId)).map(({ workflowId }) => workflowId)).to.deep.equal([deliveryRun(refused)]);
      expect(await deliveryOf(late.eventId, late.subscription.endpoint.id)).to.equal(null);
      const next = await startWorker(direct);
      await untilDelivery((await deliveryAfterFanOut(late.eventId, late.subscription)).id, 'succeeded');
      await untilDelivery(refused.id, 'succeeded', 30 * second);
      expect([accepted, refused, late].map(({ receiver }) => receiver.requests.length)).to.deep.equal([1, 2, 1]);
      expect(await hasRun(accepted.id)).to.equal(false);
      await next.end('SIGKILL');
    });
  });

  it('is refused at the start if its name and number of permits are invalid', async () => {
    const { environment } = await testStack();
    const env = { ...environment, WEBHOOK_FIRST_ATTEMPT: 'eager', WEBHOOK_DIRECT_ATTEMPTS: '0' };
    const refusal = await runCommand(process.execPath, scriptArguments('worker/main.ts'), { env }).catch(
      ({ message }: Error) => message,
    );
    expect(refusal).to.equal(
      `${process.execPath} ended with exit code 1: The process cannot start: The configuration has 2 mistake(s): | ` +
        '- WEBHOOK_FIRST_ATTEMPT must be one of workflow, direct | ' +
        '- WEBHOOK_DIRECT_ATTEMPTS must be a whole number from 1 to 900',
    );
  });
});
