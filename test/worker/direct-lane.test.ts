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

describe('first attempts without a run, in worker processes (HOOK-18)', function () {
  this.timeout(180 * second);
  const engine = useEngine();
  const { startWorker, runOf } = engine;

  const subscribed = async (...answers: readonly Answer[]) => {
    const receiver = await engine.receiver((_, number) => answers[number - 1] ?? { status: 200 });
    return { receiver, subscription: await buildSubscription(receiver.url) };
  };
  /** What a fact became at the endpoint, once it has been fanned out. */
  const toldOf = (eventId: string, subscription: Subscription): Promise<TestWebhookDelivery> =>
    until('the fan-out', { timeoutMs: 15 * second }, async () => {
      const delivery = await deliveryOf(eventId, subscription.endpoint.id);
      return delivery ? { ...subscription, id: delivery.id, eventId } : undefined;
    });
  /** Tells a receiver of its own. */
  const tell = async (...answers: readonly Answer[]): Promise<Scene> => {
    const { receiver, subscription } = await subscribed(...answers);
    return { ...(await toldOf(await commitFact(subscription), subscription)), receiver };
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

    it('makes and records an accepted attempt; no run, no fact and no wake is left', async () => {
      const before = await firstAttempts('direct');
      const told = await tell();
      await untilDelivery(told.id, 'succeeded');
      expect(await deliveryRow(told.id)).to.include({
        attemptCount: 1,
        schedulePosition: 1,
        fence: 1,
        leaseUntil: null,
        direct: false,
      });
      const [attempt, ...more] = await attemptRows(told.id);
      expect(attempt).to.include({
        number: 1,
        fence: 1,
        trigger: 'schedule',
        outcome: 'succeeded',
        responseStatus: 200,
      });
      expect(more).to.deep.equal([]);
      expect(await hasFact(told.eventId)).to.equal(false);
      expect(await wakesOf(told.clubId)).to.deep.equal([]);
      expect(await hasRun(told.id)).to.equal(false);
      expect((await firstAttempts('direct')) - before).to.equal(1);
      expect(await firstAttempts('workflow')).to.equal(0);
    });

    it('posts the stored body once, with the event’s webhook-id and the endpoint’s signature', async () => {
      const { receiver, endpoint, eventId, id } = await tell();
      await untilDelivery(id, 'succeeded');
      expect(idsOf(receiver.requests)).to.deep.equal([eventId]);
      const [request] = receiver.requests;
      expect(request?.body.toString()).to.equal((await eventRow(eventId)).body);
      expect(request && isSignedWith(endpoint.secret, request)).to.equal(true);
    });

    it('hands a refused attempt over to a run, which waits for attempt 2 as the table says and makes it', async () => {
      const told = await tell({ status: 500 });
      const timers = await until('the timer', { timeoutMs: 5 * second }, async () => {
        const found = await summariesOf(runOf(told.id)).catch(() => ({ timers: [] as string[] }));
        return found.timers.length > 0 && found.timers;
      });
      expect(timers[0]).to.match(/^attempt 2 of 8 in about [456] s$/);
      const row = await deliveryRow(told.id);
      expect(row).to.include({ status: 'pending', attemptCount: 1, schedulePosition: 1, leaseUntil: null });
      expect(row.direct).to.equal(false);
      const [first] = told.receiver.requests;
      expect(row.nextAttemptAt.getTime() - (first?.receivedAt.getTime() ?? 0)).to.be.at.least(4_500); // 5 s, less a tenth
      expect(await hasFact(told.eventId)).to.equal(false);

      expect(await runOf(told.id).result()).to.equal('succeeded');
      expect(await outcomesOf(told)).to.deep.equal([
        { number: 1, fence: 1, outcome: 'http_error' },
        { number: 2, fence: 2, outcome: 'succeeded' },
      ]);
      const [, again] = told.receiver.requests;
      expect(idsOf(told.receiver.requests)).to.deep.equal([told.eventId, told.eventId]);
      expect(again?.body).to.deep.equal(first?.body);
    });

    it('leaves an endpoint whose last attempt failed to a run, and the others of the event to itself', async () => {
      const { receiver, subscription } = await subscribed();
      const failing = await buildEndpoint(subscription.clubId, `${receiver.url}/failing`);
      await alter('webhook_endpoints', failing.id, { consecutive_failures: 1 });
      const eventId = await commitFact(subscription);
      const byItself = await toldOf(eventId, subscription);
      const byRun = await toldOf(eventId, { ...subscription, endpoint: failing });
      await eachCase([byItself, byRun], ({ id }) => untilDelivery(id, 'succeeded'));
      expect(await runOf(byRun.id).result()).to.equal('succeeded');
      expect(await hasRun(byItself.id)).to.equal(false);
      expect(receiver.requests.map(({ path }) => path).toSorted()).to.deep.equal(['/', '/failing']);
      await until('the end of the fact', { timeoutMs: 5 * second }, async () => !(await hasFact(eventId)));
    });

    it('hands nothing over, and has no attempt under way in the end', async () => {
      expect(await worker.metric('webhook_direct_handed_over_total')).to.equal(0);
      expect(await worker.metric('webhook_direct_attempts')).to.equal(0);
      expect(await worker.metric('relay_errors_total')).to.equal(0);
      expect(worker.log()).not.to.include('a direct attempt is left to a run');
    });
  });

  /**
   * One story, told before the tests: four workers are killed one after the other, each at another point of its own delivery, and a
   * fifth while it hands over what the fourth has lost. A worker of the workflow lane then finds what they left. Leases are moved in
   * the database: they last until the last worker has started, and no longer.
   */
  describe('a worker is killed', () => {
    interface Left extends Scene {
      signal: NodeJS.Signals | null;
      row: { status: string; attemptCount: number; fence: number; direct: boolean; leased: boolean };
      attempts: { number: number; fence: number; outcome: string | null }[];
      requestsThen: number;
      run: boolean;
      fact: boolean;
      wake: boolean;
    }
    let claimed: Left;
    let posted: Left;
    let recorded: Left;
    let cut: Left;
    let handedOver: Left;
    let successor: WorkerProcess | undefined;

    before('five workers are killed, and a sixth takes over', async () => {
      claimed = await killedAt({ FAILPOINT: 'direct_claimed' });
      posted = await killedAt({ FAILPOINT: 'direct_posted' });
      recorded = await killedAt({ FAILPOINT: 'direct_recorded' });
      cut = await killedAt({}, async (worker, receiver) => {
        await receiver.waitFor(1, 5 * second);
        await worker.end('SIGKILL');
      });
      const { exited } = await startWorker({ ...workflow, FAILPOINT: 'handed_over' });
      await endLease(cut.id); // not sooner: it would be dead before it is ready
      handedOver = await leftOf(cut, (await exited).signal);
      for (const { id } of [claimed, posted]) await endLease(id);
      successor = await startWorker(workflow);
      for (const { id } of [claimed, posted, cut]) await untilDelivery(id, 'succeeded', 30 * second);
      for (const { id } of [claimed, posted, cut]) await runOf(id).result();
    });
    after('end the last worker', () => successor?.end('SIGKILL'));

    async function killedAt(
      env: Record<string, string>,
      kill: (worker: WorkerProcess, receiver: Receiver) => Promise<void> = async () => {},
    ): Promise<Left> {
      const { receiver, subscription } = await subscribed(...('FAILPOINT' in env ? [] : (['hang'] as const)));
      const worker = await startWorker({ ...direct, ...env });
      const eventId = await commitFact(subscription);
      await kill(worker, receiver);
      const { signal } = await worker.exited;
      const left = await leftOf({ ...(await toldOf(eventId, subscription)), receiver }, signal);
      if (left.row.leased)
        await alter('webhook_deliveries', left.id, { lease_until: new Date(Date.now() + 3_600_000) });
      return left;
    }

    async function leftOf(scene: Scene, signal: NodeJS.Signals | null): Promise<Left> {
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
      it('leaves the claimed delivery alone: no request, no run, no fact and no wake', () => {
        expect(claimed).to.deep.include({ ...cutOff, requestsThen: 0 });
      });

      it('a worker of the other lane hands it over after its lease; the run makes the one request', async () => {
        expect(await outcomesOf(claimed)).to.deep.equal(interruptedThenSucceeded);
        expect(idsOf(claimed.receiver.requests)).to.deep.equal([claimed.eventId]);
        expect(await deliveryRow(claimed.id)).to.include({ attemptCount: 1, direct: false, leaseUntil: null });
      });
    });

    describe('between POST and record (direct_posted)', () => {
      it('leaves the claimed delivery alone, with one request', () => {
        expect(posted).to.deep.include({ ...cutOff, requestsThen: 1 });
      });

      it('the run sends the same bytes again, under the same number and webhook-id', async () => {
        expect(await outcomesOf(posted)).to.deep.equal(interruptedThenSucceeded);
        const [first, again] = posted.receiver.requests;
        expect(idsOf(posted.receiver.requests)).to.deep.equal([posted.eventId, posted.eventId]);
        expect(again?.body).to.deep.equal(first?.body);
        expect(await deliveryRow(posted.id)).to.include({ attemptCount: 1, direct: false, leaseUntil: null });
      });
    });

    describe('after the record (direct_recorded)', () => {
      it('leaves a delivery that has ended', () => {
        expect(recorded).to.deep.include({
          ...onlyTheRow,
          row: { status: 'succeeded', attemptCount: 1, fence: 1, direct: false, leased: false },
          attempts: [{ number: 1, fence: 1, outcome: 'succeeded' }],
          requestsThen: 1,
        });
      });

      it('nobody picks it up: no run and no second request', async () => {
        expect(await hasRun(recorded.id)).to.equal(false);
        expect(idsOf(recorded.receiver.requests)).to.deep.equal([recorded.eventId]);
      });
    });

    describe('by SIGKILL before the receiver answers, and its successor while it hands over (handed_over)', () => {
      it('leaves the claimed delivery, and then its wake in place of the mark', () => {
        expect(cut).to.deep.include({ ...cutOff, requestsThen: 1 });
        expect(handedOver).to.deep.include({
          ...cutOff,
          row: { ...cutOff.row, direct: false, leased: false },
          requestsThen: 1,
          wake: true,
        });
      });

      it('the next worker sends the wake, and the run makes the attempt again', async () => {
        expect(await outcomesOf(cut)).to.deep.equal(interruptedThenSucceeded);
        expect(idsOf(cut.receiver.requests)).to.deep.equal([cut.eventId, cut.eventId]);
      });
    });

    it('the last worker counts the two that it has handed over', async () => {
      expect(await successor?.metric('webhook_direct_handed_over_total')).to.equal(2);
    });
  });

  describe('lanes side by side, or one after the other', () => {
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
    const allTold = (events: Awaited<ReturnType<typeof committed>>) =>
      Promise.all(events.map(({ eventId, subscription }) => toldOf(eventId, subscription)));

    it('share the facts: each is delivered once, by one lane or the other', async () => {
      const both = [await start(direct), await start(workflow)];
      const receiver = await engine.receiver();
      const subscriptions = await subscriptionsOf(receiver);
      const events = await committed(Array.from({ length: facts / endpoints }, () => subscriptions).flat());
      const told = await allTold(events);
      for (const { id } of told) await untilDelivery(id, 'succeeded', 30 * second);
      expect(idsOf(receiver.requests).toSorted()).to.deep.equal(events.map(({ eventId }) => eventId).toSorted());
      const given = await Promise.all(both.map((worker) => worker.metric('webhook_first_attempts_total')));
      expect(given.reduce((sum, count) => sum + count, 0)).to.equal(facts);
    });

    for (const { from, to } of [
      { from: direct, to: workflow },
      { from: workflow, to: direct },
    ]) {
      it(`change from ${from.WEBHOOK_FIRST_ATTEMPT} to ${to.WEBHOOK_FIRST_ATTEMPT} with attempts in flight`, async () => {
        const receiver = await engine.receiver((_, number) => (number > endpoints ? { status: 200 } : 'hang'));
        const before = await startWorker(from);
        const events = await committed(await subscriptionsOf(receiver));
        await receiver.waitFor(endpoints, 15 * second);
        await before.end('SIGKILL');
        const told = await allTold(events);
        for (const { id } of told) await endLease(id);
        const after = await start(to);
        for (const { id } of told) await untilDelivery(id, 'succeeded', 60 * second);
        await eachCase(told, async (delivery) =>
          expect(await outcomesOf(delivery)).to.deep.equal(interruptedThenSucceeded),
        );
        const ids = events.map(({ eventId }) => eventId);
        expect(idsOf(receiver.requests).toSorted()).to.deep.equal([...ids, ...ids].toSorted());
        expect(await after.metric('webhook_direct_handed_over_total')).to.equal(from === direct ? endpoints : 0);
      });
    }
  });

  describe('while Temporal is away', () => {
    let line: TemporalLine;
    let worker: WorkerProcess;
    let accepted: Scene;
    let refused: Scene;
    before('cut the worker off from Temporal, and tell two receivers', async () => {
      line = await startTemporalLine();
      worker = await startWorker({ ...direct, TEMPORAL_ADDRESS: line.address });
      line.cut();
      accepted = await tell();
      refused = await tell({ status: 500 });
    });
    after('end the worker', async () => {
      await worker.end('SIGKILL');
      line.stop();
    });

    it('accepted deliveries end', async () => {
      await untilDelivery(accepted.id, 'succeeded');
      expect(accepted.receiver.requests).to.have.length(1);
      expect(await wakesOf(accepted.clubId)).to.deep.equal([]);
    });

    it('refused ones wait with their wakes, and go on once it is back', async () => {
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

  describe('a worker is asked to end (SIGTERM) while two attempts of 3 s are in flight (ENG-10)', () => {
    let exit: Exit & { tookMs: number };
    let accepted: Scene;
    let refused: Scene;
    let late: { subscription: Subscription; receiver: Receiver; eventId: string };
    before('ask a busy worker to end', async () => {
      const worker = await startWorker(direct);
      accepted = await tell({ status: 200, body: 'thank you', delayMs: 3 * second });
      refused = await tell({ status: 500, delayMs: 3 * second });
      await eachCase([accepted, refused], ({ receiver }) => receiver.waitFor(1, 5 * second));
      const ending = worker.end('SIGTERM');
      await until('it to take no more work', { timeoutMs: 10 * second }, async () => !(await worker.ready()));
      const { receiver, subscription } = await subscribed();
      late = { receiver, subscription, eventId: await commitFact(subscription) };
      exit = await ending;
    });

    it('ends with exit code 0 after its attempts, both recorded', async () => {
      expect(exit).to.include({ code: 0, signal: null });
      expect(exit.tookMs).to.be.within(1 * second, 25 * second);
      expect(await deliveryRow(accepted.id)).to.include({ status: 'succeeded', direct: false, leaseUntil: null });
      expect(await deliveryRow(refused.id)).to.include({ status: 'pending', direct: false, leaseUntil: null });
      expect((await attemptRows(accepted.id)).map(({ responseExcerpt }) => responseExcerpt)).to.deep.equal([
        'thank you',
      ]);
      expect(await outcomesOf(refused)).to.deep.equal([{ number: 1, fence: 1, outcome: 'http_error' }]);
    });

    it('leaves the refused one’s wake and a later fact to the next worker, which repeats nothing', async () => {
      expect((await wakesOf(refused.clubId)).map(({ workflowId }) => workflowId)).to.deep.equal([deliveryRun(refused)]);
      expect(await deliveryOf(late.eventId, late.subscription.endpoint.id)).to.equal(null);
      const next = await startWorker(direct);
      await untilDelivery((await toldOf(late.eventId, late.subscription)).id, 'succeeded');
      await untilDelivery(refused.id, 'succeeded', 30 * second);
      expect([accepted, refused, late].map(({ receiver }) => receiver.requests.length)).to.deep.equal([1, 2, 1]);
      expect(await hasRun(accepted.id)).to.equal(false);
      await next.end('SIGKILL');
    });
  });

  it('a worker with a lane that does not exist and without slots names both mistakes and does not start', async () => {
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
