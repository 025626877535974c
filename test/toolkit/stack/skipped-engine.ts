/** Runs the webhook engine with skipped time: both workflows, their real activities, and the relay between them. */
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { activities as all } from '../../../activities/index.ts';
import type { Receiver, ReceiverOptions } from '../../../dev/clients/receiver.ts';
import type { VaultDeps } from '../../../domain/deps.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import type { tendGate } from '../../../domain/webhooks/queues/gate.ts';
import { WebhookAttempt } from '../../../entities/webhooks/webhook-attempt.ts';
import type { endpointGate, webhookDelivery } from '../../../workflows/index.ts';
import { createWorkflowClient } from '../../../worker/temporal/workflow-client.ts';
import { deliveryRow } from '../assert/webhooks.ts';
import { testDatabase, testDeps } from './database.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../builders/webhooks.ts';
import { until } from '../drive/until.ts';
import { useDeliveries } from './receivers.ts';
import { relayHere, type RelayHere } from './relay-here.ts';
import { useTimeSkipping } from './time-skipping.ts';
import { runWorkerHere } from './worker.ts';

export type DeliveryHandle = WorkflowHandle<typeof webhookDelivery>;
type GateHandle = WorkflowHandle<typeof endpointGate>;

export interface SkippedEngine {
  now(): Promise<Date>;
  /** Lets this time pass, and runs everything that becomes due during this time. */
  pass(ms: number): Promise<void>;
  /** Makes a change as an API operation does, and sends the wakes that the change causes. */
  act<T>(what: (deps: VaultDeps, now: Date) => Promise<T>): Promise<T>;
  /** An endpoint of a new club. Its receiver gives this answer, by default 200. */
  endpoint(respond?: ReceiverOptions['respond']): Promise<{ receiver: Receiver; subscription: Subscription }>;
  start(delivery: TestWebhookDelivery, options?: { local?: boolean; taskQueue?: string }): Promise<DeliveryHandle>;
  /** Starts the gate without a delivery. */
  startGate(subscription: Subscription, options: { taskQueue: string }): Promise<GateHandle>;
  deliver(subscription: Subscription): Promise<TestWebhookDelivery>;
  /** Creates this many deliveries, and resolves when each was attempted or parked. */
  deliverAll(subscription: Subscription, count: number): Promise<TestWebhookDelivery[]>;
  /** The run of a delivery. A test that awaits the result of the run skips time. */
  runOf(delivery: { id: string }): DeliveryHandle;
  gateOf(subscription: Subscription): GateHandle;
  /** The final states of the deliveries, in the order of the list. */
  outcomesOf(deliveries: readonly { id: string }[]): Promise<string[]>;
  beforeGate: (endpointId: string) => Promise<void>;
  /** The random number, from 0 up to 1, that determines the jitter of waits. */
  random: number;
}

/** The task queue of a worker without a workflow cache. */
export const uncached = 'uncached';

/** The type of the search attributes on the Temporal server of the stack. */
const keyword = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
export const searchAttributes = {
  ClubId: keyword,
  EndpointId: keyword,
  EventType: keyword,
  AgentId: keyword,
  AutomationId: keyword,
  AutomationVersion: keyword,
};

const initial = { random: 0.5, async beforeGate() {} };

/** Call this function in a `describe`. @returns a function that returns the engine, for use inside its tests */
export function useSkippedEngine(): () => SkippedEngine {
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the workers, before their server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  const delivering = useDeliveries();
  let engine: SkippedEngine | undefined;

  before('start the workers', async () => {
    const { connection, nativeConnection } = environment();
    await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    const relay = relayHere(createWorkflowClient(nativeConnection, 'default'), ['webhookDelivery', 'endpointGate']);
    const createdEngine = createEngine(environment, delivering, relay);
    const deps = delivering().deps({ random: () => createdEngine.random });
    const gate = all.endpointGate(deps);
    const activities = relay.carryingAfterEach({
      ...all.webhookDelivery({ deliveries: deps }),
      async tendGate(endpointId: string, now: number): ReturnType<typeof tendGate> {
        await createdEngine.beforeGate(endpointId);
        return gate.tendGate(endpointId, now);
      },
    });
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: 'webhooks', activities }));
    workers.push(await runWorkerHere(nativeConnection, { taskQueue: uncached, activities, maxCachedWorkflows: 0 }));
    engine = createdEngine;
  });
  beforeEach('reset the engine', () => {
    if (engine) Object.assign(engine, initial);
  });

  return () => {
    if (engine === undefined) throw new Error('The engine runs only during tests');
    return engine;
  };
}

function createEngine(
  environment: ReturnType<typeof useTimeSkipping>,
  delivering: ReturnType<typeof useDeliveries>,
  relay: RelayHere,
): SkippedEngine {
  const { client } = environment();
  const engine: SkippedEngine = {
    ...initial,
    now: async () => new Date(await environment().currentTimeMs()),
    pass: (ms) => environment().sleep(ms),
    async act(what) {
      const result = await what(await testDeps(), await engine.now());
      await relay.carry();
      return result;
    },
    async endpoint(respond) {
      const receiver = await delivering().receiver(respond);
      const subscription = await buildSubscription(receiver.url);
      relay.serve(subscription.clubId);
      return { receiver, subscription };
    },
    async start({ id }, { local = false, taskQueue = 'webhooks' } = {}) {
      const workflowId = workflowIdOf('webhookDelivery', id);
      return client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
        workflowId,
        taskQueue,
        args: [id, local],
      });
    },
    startGate: ({ endpoint: { id } }, { taskQueue }) =>
      client.workflow.start<typeof endpointGate>('endpointGate', {
        workflowId: workflowIdOf('endpointGate', id),
        taskQueue,
        args: [id],
      }),
    async deliver(subscription) {
      const delivery = await buildWebhookDelivery(subscription, await engine.now());
      await engine.start(delivery);
      return delivery;
    },
    async deliverAll(subscription, count) {
      const deliveries: TestWebhookDelivery[] = [];
      while (deliveries.length < count) deliveries.push(await buildWebhookDelivery(subscription, await engine.now()));
      // All deliveries start together. Otherwise the first delivery could be due again before the attempt of the last delivery.
      await Promise.all(deliveries.map((delivery) => engine.start(delivery)));
      for (const { id } of deliveries) await untilTaken(id);
      return deliveries;
    },
    runOf: ({ id }) => client.workflow.getHandle(workflowIdOf('webhookDelivery', id)),
    gateOf: ({ endpoint }) => client.workflow.getHandle(workflowIdOf('endpointGate', endpoint.id)),
    async outcomesOf(deliveries) {
      // One after the other, because the server cannot skip time for several callers.
      const outcomes: string[] = [];
      for (const delivery of deliveries) outcomes.push(await engine.runOf(delivery).result());
      return outcomes;
    },
  };
  return engine;
}

async function untilTaken(id: string): Promise<void> {
  await until('its first step', { timeoutMs: 45_000 }, async () => {
    const { attemptCount, parkedAt } = await deliveryRow(id);
    return attemptCount > 0 || parkedAt !== null;
  });
}

export async function attemptsAt(endpointId: string): Promise<WebhookAttempt[]> {
  const source = await testDatabase();
  return source.manager
    .createQueryBuilder(WebhookAttempt, 'attempt')
    .innerJoin('webhook_deliveries', 'delivery', 'delivery.id = attempt.deliveryId')
    .where('delivery.endpoint_id = :endpointId', { endpointId })
    .orderBy('attempt.startedAt')
    .addOrderBy('attempt.fence')
    .getMany();
}

/** In Unix milliseconds. */
export const endOf = ({ startedAt, durationMs }: WebhookAttempt) => startedAt.getTime() + (durationMs ?? Number.NaN);
