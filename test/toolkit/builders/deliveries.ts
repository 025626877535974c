/** What tests of the delivery engine start from: receivers that our egress reaches, deliveries that are due, and their rows. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { startReceiver, type Receiver, type ReceiverOptions } from '../../../dev/receiver.ts';
import { createBell } from '../../../domain/core/bell.ts';
import { inTransaction, type Transaction } from '../../../domain/core/database.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import type { EventType } from '../../../domain/facts/catalogue.policy.ts';
import { recordFact, wake } from '../../../domain/facts/facts.ts';
import type { DeliveryPlatform } from '../../../domain/webhooks/attempts.ts';
import type { FactToTell } from '../../../domain/webhooks/bodies.ts';
import { createEgress, type Egress } from '../../../domain/webhooks/egress.ts';
import { fanOut } from '../../../domain/webhooks/fan-out.ts';
import { postWebhook } from '../../../domain/webhooks/post.ts';
import { WebhookAttempt } from '../../../entities/webhooks/webhook-attempt.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { WebhookEvent } from '../../../entities/webhooks/webhook-event.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildClub, buildEndpoint, buildStudent, type TestEndpoint } from './factories.ts';
import { testStack } from '../stack/stack.ts';

/** Shorter than the 15 s of production, so that a receiver that says nothing costs a test no more than this. */
const attemptTimeLimitMs = 2_000;

export interface Delivering {
  /** The step's platform, real in every part; waits are the table's own (jitter 0.5) unless changed. */
  platform(changes?: Partial<DeliveryPlatform>): DeliveryPlatform;
  /** A receiver that is stopped after the tests of the `describe`. 200 unless told otherwise. */
  receiver(respond?: ReceiverOptions['respond'], options?: Partial<ReceiverOptions>): Promise<Receiver>;
}

/** Call it in a `describe`. @returns a function that gives what its tests need, for use inside them */
export function useDeliveries(): () => Delivering {
  let delivering: Delivering | undefined;
  let egress: Egress | undefined;
  const receivers: Receiver[] = [];

  before('open the way out to receivers', async () => {
    const { database, vault } = await testPlatform();
    const { authority } = await testStack();
    const certificate = await authority.issue(['127.0.0.1', 'localhost']);
    const way = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate });
    const { serviceName } = readConfig();
    egress = way;
    delivering = {
      platform: (changes) => ({
        database,
        vault,
        post: (message) => postWebhook(way.dispatcher, { ...message, serviceName, timeLimitMs: attemptTimeLimitMs }),
        random: () => 0.5,
        onAttempt() {},
        async failpoint() {},
        ...changes,
      }),
      async receiver(respond, options) {
        const receiver = await startReceiver({ certificate, ...(respond && { respond }), ...options });
        receivers.push(receiver);
        return receiver;
      },
    };
  });
  after('stop the receivers and close the way out', async () => {
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await egress?.close();
  });

  return () => {
    if (delivering === undefined) throw new Error('The way out to receivers is open only while tests run.');
    return delivering;
  };
}

/** A club with a student, and an endpoint that asks for what happens to them. */
export interface Subscription {
  clubId: Id;
  studentId: Id;
  endpoint: TestEndpoint;
}

export async function buildSubscription(url: string, eventTypes?: readonly EventType[]): Promise<Subscription> {
  const { id: clubId } = await buildClub();
  const [{ id: studentId }, endpoint] = await Promise.all([
    buildStudent(clubId),
    buildEndpoint(clubId, url, eventTypes),
  ]);
  return { clubId, studentId, endpoint };
}

export interface TestDelivery extends Subscription {
  id: Id;
  /** The `webhook-id` of its attempts. */
  eventId: Id;
}

/** A delivery to the endpoint that is due at `now`, made by the real fan-out; no workflow runs for it. */
export async function buildDelivery(subscription: Subscription, now = new Date()): Promise<TestDelivery> {
  const { database } = await testPlatform();
  const fact = factAbout(subscription, 'student.updated', now);
  const made = await fanOut(database, fact, now);
  const own = made.find(({ endpointId }) => endpointId === subscription.endpoint.id);
  if (!own) throw new Error('The endpoint asks for nothing that a delivery could be made of.');
  return { ...subscription, id: own.id, eventId: fact.id };
}

export function factAbout(
  { clubId, studentId }: { clubId: Id; studentId: Id },
  type: EventType,
  occurredAt = new Date(),
): FactToTell {
  return { id: newId(), clubId, type, studentId, subjectId: null, details: null, occurredAt };
}

export async function deliveryRow(id: Id): Promise<WebhookDelivery> {
  return (await testDatabase()).manager.findOneByOrFail(WebhookDelivery, { id });
}

/** What a fact became at this endpoint; undefined before its fan-out. */
export async function deliveryOf(eventId: Id, endpointId: Id): Promise<WebhookDelivery | null> {
  return (await testDatabase()).manager.findOneBy(WebhookDelivery, { eventId, endpointId });
}

/** Commits that something happened to the student; told to the relay by NOTIFY, unless that is to be lost. @returns the event's id */
export async function commitFact(
  { clubId, studentId }: { clubId: Id; studentId: Id },
  { type = 'student.updated', notified = true }: { type?: EventType; notified?: boolean } = {},
): Promise<Id> {
  const { database } = await testPlatform();
  const bell = notified ? createBell(database.source, () => {}) : database.bell;
  const fact = { clubId, studentId, type, occurredAt: new Date() };
  return inTransaction({ ...database, bell }, (tx) => recordFact(tx, fact));
}

/** Makes the delivery's workflow look again, by the relay. */
export async function wakeDelivery({ id, clubId, endpoint }: TestDelivery): Promise<void> {
  const { database } = await testPlatform();
  const attributes = { ClubId: clubId, EndpointId: endpoint.id, EventType: 'student.updated' };
  const bell = createBell(database.source, () => {});
  await inTransaction({ ...database, bell }, (tx) =>
    wake(tx, [{ workflowType: 'webhookDelivery', subjectId: id, clubId, attributes }], new Date()),
  );
}

/** Resolves once the delivery has ended like this. */
export async function untilDelivery(id: Id, status: WebhookDelivery['status'], timeoutMs = 5_000): Promise<void> {
  await until(status, { timeoutMs }, async () => (await deliveryRow(id)).status === status);
}

/** In the order in which they were claimed. */
export async function attemptRows(deliveryId: Id): Promise<WebhookAttempt[]> {
  return (await testDatabase()).manager.find(WebhookAttempt, { where: { deliveryId }, order: { fence: 'ASC' } });
}

export async function endpointRow(id: Id): Promise<WebhookEndpoint> {
  return (await testDatabase()).manager.findOneByOrFail(WebhookEndpoint, { id });
}

export async function eventRow(id: Id): Promise<WebhookEvent> {
  return (await testDatabase()).manager.findOneByOrFail(WebhookEvent, { id });
}

/** Changes columns of a row behind everybody's back. */
export async function alter(
  table: 'webhook_deliveries' | 'webhook_endpoints' | 'transactional_mails' | 'students' | 'sales_notices',
  id: Id,
  columns: Readonly<Record<string, unknown>>,
): Promise<void> {
  const assignments = Object.keys(columns).map((column, index) => `${column} = $${index + 2}`);
  await (
    await testDatabase()
  ).query(`UPDATE ${table} SET ${assignments.join(', ')} WHERE id = $1`, [id, ...Object.values(columns)]);
}

/** Lets the lease of an attempt in flight run out now, by the database's clock: nobody waits its 25 s. */
export async function endLease(deliveryId: Id): Promise<void> {
  await (
    await testDatabase()
  ).query(`UPDATE webhook_deliveries SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1`, [
    deliveryId,
  ]);
}

/**
 * Runs `work` in a transaction of a second connection and commits it only after `meanwhile`, so that others find it
 * uncommitted.
 */
export async function holdingOpen(
  work: (tx: Transaction) => Promise<unknown>,
  meanwhile: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const runner = (await testDatabase()).createQueryRunner();
  await runner.startTransaction();
  try {
    await work(runner.manager);
    await meanwhile(runner.manager);
    await runner.commitTransaction();
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
    await runner.release();
  }
}

/** Resolves as soon as so many statements of this database wait for locks that other transactions hold. */
export async function waitingForLocks(count: number): Promise<void> {
  const source = await testDatabase();
  await until(`${count} waiting for locks`, { timeoutMs: 5_000 }, async () => {
    const [row] = await source.query<{ waiting: number }[]>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return row && row.waiting >= count;
  });
}

/** Looks every 20 ms until there is something. @throws Error saying what did not come in time */
export async function until<T>(
  what: string,
  { timeoutMs }: { timeoutMs: number },
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${timeoutMs} ms.`);
    await sleep(20);
  }
}
