import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import type { Receiver } from '../../dev/clients/receiver.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { attemptRows, deliveryOf, deliveryRow } from '../toolkit/assert/webhooks.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { buildWebhookDelivery, buildSubscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { untilDelivery, wakeDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { useEngine } from '../toolkit/stack/engine.ts';
import type { WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;

interface Remains {
  signal: NodeJS.Signals | null;
  delivery: { status: string; attemptCount: number; fence: number; leased: boolean };
  attempts: { number: number; fence: number; outcome: string | null }[];
  requests: number;
  run: boolean;
  fact: boolean;
  wake: boolean;
}

interface Scene extends TestWebhookDelivery {
  receiver: Receiver;
  remains: Remains;
}

/**
 * `before` kills five workers at different points. Each worker has one delivery. The test ends the leases. Then a sixth worker continues
 * the deliveries.
 */
describe('the kill of a worker that makes a delivery', function () {
  this.timeout(180 * second);
  const engine = useEngine();
  const { startWorker, runOf } = engine;
  let claimed: Scene;
  let posted: Scene;
  let cut: Scene;
  let fannedOut: Scene;
  let wakeSent: Scene;
  let leased: TestWebhookDelivery;
  let leasedUntil: number;

  before('kill five workers, and start a sixth', async function () {
    this.timeout(180 * second);
    claimed = await killedAt({ FAILPOINT: 'claimed' });
    posted = await killedAt({ FAILPOINT: 'posted' });
    cut = await killedAt({}, async (worker, receiver) => {
      await receiver.waitFor(1, 5 * second);
      await worker.end('SIGKILL');
    });
    fannedOut = await killedAt({ FAILPOINT: 'fanned_out' });
    wakeSent = await killedWhileWaking();

    const source = await testDatabase();
    for (const table of ['webhook_deliveries', 'facts', 'wakes']) {
      await source.query(`UPDATE ${table} SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`);
    }
    await startWorker();
    leased = await claimedByTheDead();
    leasedUntil = (await deliveryRow(leased.id)).leaseUntil?.getTime() ?? 0;
    for (const delivery of [claimed, posted, cut, leased]) await wakeDelivery(delivery);
    // Temporal gives a workflow task to another worker 10 s after its worker died.
    for (const { id } of [claimed, posted, cut, fannedOut, wakeSent, leased]) {
      await untilDelivery(id, 'succeeded', 30 * second);
    }
  });

  /** Kills the worker during the delivery of a new fact. */
  async function killedAt(
    env: Record<string, string>,
    kill: (worker: WorkerProcess, receiver: Receiver) => Promise<void> = async () => {},
  ): Promise<Scene> {
    // Without a failpoint, the test kills the worker while the first request waits for its answer.
    const receiver = await engine.receiver((_, number) =>
      'FAILPOINT' in env || number > 1 ? { status: 200 } : 'hang',
    );
    const subscription = await buildSubscription(receiver.url);
    const worker = await startWorker(env);
    const eventId = await commitFact(subscription);
    await kill(worker, receiver);
    const { signal } = await worker.exited;
    const delivery = await deliveryOf(eventId, subscription.endpoint.id);
    const scene = { ...subscription, id: delivery?.id ?? '', eventId, receiver };
    return { ...scene, remains: await remainsOf(scene, signal) };
  }

  async function killedWhileWaking(): Promise<Scene> {
    const receiver = await engine.receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(receiver.url));
    const worker = await startWorker({ FAILPOINT: 'wake_sent' });
    await wakeDelivery(delivery);
    const { signal } = await worker.exited;
    const scene = { ...delivery, receiver };
    return { ...scene, remains: await remainsOf(scene, signal) };
  }

  /** A dead worker has claimed the delivery. The lease ends in 3 s. */
  async function claimedByTheDead(): Promise<TestWebhookDelivery> {
    const receiver = await engine.receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(receiver.url));
    await alter('webhook_deliveries', delivery.id, { fence: 1 });
    await (
      await testDatabase()
    ).query(
      `WITH claimed AS (UPDATE webhook_deliveries SET lease_until = clock_timestamp() + interval '3 s' WHERE id = $1 RETURNING id)
       INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at) SELECT id, 1, 1, 'schedule', now() FROM claimed`,
      [delivery.id],
    );
    return delivery;
  }

  async function remainsOf(
    scene: { id: string; eventId: string; receiver: Receiver },
    signal: NodeJS.Signals | null,
  ): Promise<Remains> {
    const source = await testDatabase();
    const row = await deliveryRow(scene.id);
    const workflowId = workflowIdOf('webhookDelivery', scene.id);
    const exists = async (sql: string, key: string) => (await source.query<unknown[]>(sql, [key])).length > 0;
    return {
      signal,
      delivery: {
        status: row.status,
        attemptCount: row.attemptCount,
        fence: row.fence,
        leased: row.leaseUntil !== null && row.leaseUntil.getTime() > Date.now(),
      },
      attempts: await outcomesOf(scene),
      requests: scene.receiver.requests.length,
      run: await runOf(scene.id)
        .describe()
        .then(
          () => true,
          (error: unknown) => !(error instanceof WorkflowNotFoundError),
        ),
      fact: await exists(`SELECT 1 FROM facts WHERE id = $1`, scene.eventId),
      wake: await exists(`SELECT 1 FROM wakes WHERE workflow_id = $1`, workflowId),
    };
  }

  const outcomesOf = async ({ id }: { id: string }) =>
    (await attemptRows(id)).map(({ number, fence, outcome }) => ({ number, fence, outcome }));
  const interruptedThenSucceeded = [
    { number: 1, fence: 1, outcome: 'interrupted' },
    { number: 1, fence: 2, outcome: 'succeeded' },
  ];

  describe('between the claim and the POST', () => {
    it('leaves attempt 1 claimed, and no request', () => {
      expect(claimed.remains).to.deep.include({
        signal: 'SIGKILL',
        delivery: { status: 'pending', attemptCount: 0, fence: 1, leased: true },
        attempts: [{ number: 1, fence: 1, outcome: null }],
        requests: 0,
        run: true,
      });
    });

    it('lets the next worker make attempt 1 after the lease', async () => {
      expect(await outcomesOf(claimed)).to.deep.equal(interruptedThenSucceeded);
      expect(claimed.receiver.requests).to.have.length(1);
      expect(await deliveryRow(claimed.id)).to.include({ attemptCount: 1, leaseUntil: null });
    });
  });

  for (const { when, scene } of [
    { when: 'between the POST and its record', scene: () => posted },
    { when: 'between the POST and its answer', scene: () => cut },
  ]) {
    describe(when, () => {
      it('leaves attempt 1 claimed, and one request', () => {
        expect(scene().remains).to.deep.include({
          signal: 'SIGKILL',
          delivery: { status: 'pending', attemptCount: 0, fence: 1, leased: true },
          attempts: [{ number: 1, fence: 1, outcome: null }],
          requests: 1,
          run: true,
        });
      });

      it('lets the next worker send the bytes again, with an equal webhook-id', async () => {
        expect(await outcomesOf(scene())).to.deep.equal(interruptedThenSucceeded);
        expect(scene().receiver.requests).to.have.length(2);
        const [first, again] = scene().receiver.requests;
        expect(again?.headers['webhook-id']).to.equal(first?.headers['webhook-id']);
        expect(again?.body).to.deep.equal(first?.body);
        expect(await deliveryRow(scene().id)).to.include({ attemptCount: 1, leaseUntil: null });
      });
    });
  }

  describe('between the commit of the fan-out and the start of the workflow', () => {
    it('leaves the fact and the claimed delivery, but no run', () => {
      expect(fannedOut.remains).to.deep.include({
        signal: 'SIGKILL',
        delivery: { status: 'pending', attemptCount: 0, fence: 1, leased: true },
        attempts: [{ number: 1, fence: 1, outcome: null }],
        requests: 0,
        run: false,
        fact: true,
      });
    });

    it('lets the next worker start the run, and causes only one request', async () => {
      expect(await outcomesOf(fannedOut)).to.deep.equal(interruptedThenSucceeded);
      expect(fannedOut.receiver.requests).to.have.length(1);
      const deliveries = await (
        await testDatabase()
      ).query<{ id: string }[]>(`SELECT id FROM webhook_deliveries WHERE event_id = $1`, [fannedOut.eventId]);
      expect(deliveries).to.deep.equal([{ id: fannedOut.id }]);
    });
  });

  describe('between the sending of a wake and its deletion', () => {
    it('leaves the run and its wake', () => {
      expect(wakeSent.remains).to.deep.include({ signal: 'SIGKILL', run: true, wake: true, requests: 0 });
      expect(wakeSent.remains.delivery).to.include({ status: 'pending', attemptCount: 0 });
    });

    it('lets the next worker send the wake again, and causes only one request', async () => {
      expect(await outcomesOf(wakeSent)).to.deep.equal([{ number: 1, fence: 1, outcome: 'succeeded' }]);
      expect(wakeSent.receiver.requests).to.have.length(1);
    });
  });

  it('lets the next worker make the attempt only after the dead worker’s lease', async () => {
    expect(await outcomesOf(leased)).to.deep.equal(interruptedThenSucceeded);
    const [, attempt] = await attemptRows(leased.id);
    expect((attempt?.startedAt.getTime() ?? 0) - leasedUntil).to.be.within(0, 3 * second);
  });

  it('leaves no fact and no wake after all deliveries have ended', async () => {
    await until('the end of facts and wakes', { timeoutMs: 5 * second }, async () => {
      const rows = await (await testDatabase()).query<unknown[]>(`SELECT 1 FROM facts UNION ALL SELECT 1 FROM wakes`);
      return rows.length === 0;
    });
  });
});
