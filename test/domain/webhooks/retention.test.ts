import type { Id } from '../../../platform/core/ids.ts';
import { retainWebhooks } from '../../../domain/webhooks/retention.ts';
import { counting } from '../../../domain/webhooks/deliveries/tallies.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { attemptRows, deliveryRow, endpointRow, eventRow } from '../../toolkit/assert/webhooks.ts';
import {
  buildEndpoint,
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
  type TestWebhookDelivery,
} from '../../toolkit/builders/webhooks.ts';
import { recordingEnds } from '../../toolkit/fakes/databases.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../toolkit/drive/races.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { expect } from 'chai';

const day = 86_400_000;
const second = 1_000;
/** Long before anything that other tests write, so that only what a test here makes is old enough. */
const created = new Date('2001-03-01T10:00:00Z');
const after = (ms: number) => new Date(created.getTime() + ms);
const url = 'https://hooks.example.com';

/** What one round did. */
async function retain(...[db, now]: Parameters<typeof retainWebhooks>) {
  const { rows, more } = await retainWebhooks(db, now);
  return { ...rows, more };
}

/** All rounds that there are to do at `now`; the other tests of this file leave nothing to it. */
async function retainAll(now: Date): Promise<void> {
  const { db } = await testDeps();
  while ((await retain(db, now)).more);
}

/** The wake of a delivery's workflow, if there is one. */
async function wakesOf(id: Id): Promise<{ raised: boolean }[]> {
  return (await testDatabase()).query<{ raised: boolean }[]>(`SELECT raised FROM wakes WHERE subject_id = $1`, [id]);
}

async function addAttempt(deliveryId: Id, fence: number, startedAt: Date): Promise<void> {
  await (
    await testDatabase()
  ).query(
    `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome, duration_ms, response_status, response_excerpt)
     VALUES ($1, $2::integer, $2::integer, 'schedule', $3, 'http_error', 20, 500, 'Stella')`,
    [deliveryId, fence, startedAt],
  );
}

const exists = async (table: 'webhook_events' | 'webhook_deliveries' | 'webhook_endpoints', id: Id) => {
  const found = await (await testDatabase()).query<unknown[]>(`SELECT 1 FROM ${table} WHERE id = $1`, [id]);
  return found.length === 1;
};

/** So many events with a delivery to each endpoint, a second apart. */
async function addHistory(
  { clubId }: Subscription,
  endpointIds: readonly Id[],
  count: number,
  from: Date,
): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `WITH event AS (
       INSERT INTO webhook_events (id, club_id, type, occurred_at, body, created_at)
       SELECT gen_random_uuid(), $1, 'student.created', at, '{}', at
         FROM generate_series($2::timestamptz, $2::timestamptz + make_interval(secs => $3 - 1), interval '1 s') AS at
     RETURNING id, created_at)
     INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     SELECT gen_random_uuid(), $1, endpoint_id, id, 'student.created', 'succeeded', created_at, created_at
       FROM event CROSS JOIN unnest($4::uuid[]) AS endpoint_id`,
    [clubId, from, count, endpointIds],
  );
}

describe('retention (DEL-8)', () => {
  let subscription: Subscription;
  beforeEach('nothing that is old, and a subscription', async () => {
    await (await testDatabase()).query(`DELETE FROM webhook_events WHERE created_at < '2010-01-01'`);
    await (await testDatabase()).query(`DELETE FROM webhook_endpoints WHERE deleted_at IS NOT NULL`);
    subscription = await buildSubscription(url);
  });
  const succeeded = async (at = created): Promise<TestWebhookDelivery> => {
    const delivery = await buildWebhookDelivery(subscription, at);
    await alter('webhook_deliveries', delivery.id, { status: 'succeeded', completed_at: at });
    return delivery;
  };

  describe('the purge of a message’s body', () => {
    it('happens for every endpoint 30 days after its creation, not a second before', async () => {
      const other = await buildEndpoint(subscription.clubId, url);
      const delivery = await succeeded();
      const source = await testDatabase();
      const deliveries = await source.query<{ id: Id; endpoint_id: Id }[]>(
        `SELECT id, endpoint_id FROM webhook_deliveries WHERE event_id = $1`,
        [delivery.eventId],
      );
      expect(deliveries.map(({ endpoint_id }) => endpoint_id)).to.have.members([delivery.endpoint.id, other.id]);

      await retainAll(after(30 * day - second));
      expect((await eventRow(delivery.eventId)).body).to.be.a('string');
      for (const { id } of deliveries) expect((await deliveryRow(id)).payloadPurgedAt, id).to.equal(null);

      const now = after(30 * day);
      await retainAll(now);
      expect((await eventRow(delivery.eventId)).body).to.equal(null);
      for (const { id } of deliveries) expect((await deliveryRow(id)).payloadPurgedAt, id).to.deep.equal(now);
    });

    it('changes nothing else of an ended delivery, and wakes no workflow', async () => {
      const delivery = await succeeded();
      const before = await deliveryRow(delivery.id);
      const now = after(30 * day);
      await retainAll(now);
      expect(await deliveryRow(delivery.id)).to.deep.equal(Object.assign(before, { payloadPurgedAt: now }));
      expect(await wakesOf(delivery.id)).to.have.length(0);
    });

    it('cancels a parked, requested and claimed delivery as expired, and wakes its workflow', async () => {
      const { id } = await buildWebhookDelivery(subscription, created);
      await alter('webhook_deliveries', id, { parked_at: created, requested: 'manual', in_flight: 'manual' });
      const now = after(30 * day);
      await retainAll(now);
      expect(await deliveryRow(id)).to.include({
        status: 'canceled',
        cancelReason: 'expired',
        parkedAt: null,
        requested: null,
        inFlight: null,
      });
      expect((await deliveryRow(id)).completedAt).to.deep.equal(now);
      expect(await wakesOf(id)).to.have.length(1);
    });

    it('drops a requested attempt of an ended delivery, and wakes its workflow', async () => {
      const delivery = await succeeded();
      await alter('webhook_deliveries', delivery.id, { requested: 'manual', in_flight: 'manual' });
      await retainAll(after(30 * day));
      expect(await deliveryRow(delivery.id)).to.include({
        status: 'succeeded',
        cancelReason: null,
        requested: null,
        inFlight: null,
      });
      expect(await wakesOf(delivery.id)).to.have.length(1);
    });

    it('keeps time and reason of a purge by a student’s removal', async () => {
      const delivery = await succeeded();
      await alter('webhook_deliveries', delivery.id, {
        status: 'canceled',
        cancel_reason: 'student_removed',
        payload_purged_at: created,
      });
      await retainAll(after(30 * day));
      const row = await deliveryRow(delivery.id);
      expect([row.payloadPurgedAt, row.cancelReason]).to.deep.equal([created, 'student_removed']);
    });

    it('waits for an attempt that is being recorded, and does not undo it', async () => {
      const { db } = await testDeps();
      const { id } = await buildWebhookDelivery(subscription, created);
      let round: Promise<unknown> | undefined;
      await withOpenTransaction(
        (tx) => tx.manager.query(`UPDATE webhook_deliveries SET status = 'succeeded' WHERE id = $1`, [id]),
        async () => {
          round = retain(db, after(30 * day));
          await untilWaitingForLocks(1);
        },
      );
      await round;
      expect(await deliveryRow(id)).to.include({ status: 'succeeded', cancelReason: null });
      expect((await deliveryRow(id)).payloadPurgedAt).to.deep.equal(after(30 * day));
      expect(await wakesOf(id)).to.deep.equal([]);
    });
  });

  describe('attempts', () => {
    it('are deleted 30 days after each began, and their delivery stays', async () => {
      const delivery = await succeeded();
      await addAttempt(delivery.id, 1, created);
      await addAttempt(delivery.id, 2, after(second));
      await retainAll(after(30 * day - second));
      expect(await attemptRows(delivery.id)).to.have.length(2);
      await retainAll(after(30 * day));
      expect((await attemptRows(delivery.id)).map(({ fence }) => fence)).to.deep.equal([2]);
      await retainAll(after(30 * day + second));
      expect(await attemptRows(delivery.id)).to.deep.equal([]);
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(true);
    });
  });

  describe('delivery history', () => {
    it('is deleted with events and attempts after 90 days, not a second before', async () => {
      const delivery = await succeeded();
      const younger = await succeeded(after(second));
      await addAttempt(delivery.id, 1, after(89 * day));
      await retainAll(after(90 * day - second));
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(true);
      expect(await attemptRows(delivery.id)).to.have.length(1);
      await retainAll(after(90 * day));
      expect(await exists('webhook_events', delivery.eventId)).to.equal(false);
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(false);
      expect(await attemptRows(delivery.id)).to.deep.equal([]);
      expect(await exists('webhook_deliveries', younger.id)).to.equal(true);
    });
  });

  describe('a deleted endpoint', () => {
    it('goes with its deliveries, attempts and own events, and other endpoints keep theirs', async () => {
      const shared = await buildWebhookDelivery(subscription, new Date());
      const other = await buildEndpoint(subscription.clubId, url);
      const both = await buildWebhookDelivery(subscription, new Date());
      await addAttempt(shared.id, 1, new Date());
      await alter('webhook_endpoints', subscription.endpoint.id, { deleted_at: created });
      await retainAll(created);
      expect(await exists('webhook_endpoints', subscription.endpoint.id)).to.equal(false);
      for (const { id } of [shared, both]) expect(await exists('webhook_deliveries', id), id).to.equal(false);
      expect(await attemptRows(shared.id)).to.deep.equal([]);
      expect(await exists('webhook_events', shared.eventId)).to.equal(false);
      expect((await eventRow(both.eventId)).body).to.be.a('string');
      expect(await exists('webhook_endpoints', other.id)).to.equal(true);
    });

    it('stays while its gate still cancels its queue', async () => {
      const { id } = subscription.endpoint;
      await buildWebhookDelivery(subscription, new Date());
      await alter('webhook_endpoints', id, { deleted_at: created, gate_looks_at: created });
      await retainAll(created);
      expect(await exists('webhook_endpoints', id)).to.equal(true);
      await alter('webhook_endpoints', id, { gate_looks_at: null });
      await retainAll(created);
      expect(await exists('webhook_endpoints', id)).to.equal(false);
    });

    it('stays until its last delivery is deleted, in batches of 1,000', async () => {
      const { db } = await testDeps();
      await addHistory(subscription, [subscription.endpoint.id], 1_500, new Date());
      await alter('webhook_endpoints', subscription.endpoint.id, { deleted_at: created });
      expect(await retain(db, created)).to.include({ deliveries: 1_000, endpoints: 0, more: true });
      expect(await exists('webhook_endpoints', subscription.endpoint.id)).to.equal(true);
      expect(await retain(db, created)).to.include({ deliveries: 500, endpoints: 1 });
      expect(await exists('webhook_endpoints', subscription.endpoint.id)).to.equal(false);
    });
  });

  it('deletes a rotated secret when its 24 hours are over, not a second before', async () => {
    const { id } = subscription.endpoint;
    await alter('webhook_endpoints', id, { previous_secret: Buffer.from('old'), previous_secret_expires_at: created });
    await retainAll(after(-second));
    expect((await endpointRow(id)).previousSecret).to.deep.equal(Buffer.from('old'));
    await retainAll(created);
    expect((await endpointRow(id)).previousSecret).to.equal(null);
  });

  it('deletes batches of 1,000 of each kind, oldest first, and reports whether there is more', async () => {
    const { db } = await testDeps();
    await addHistory(subscription, [subscription.endpoint.id], 1_200, created);
    const late = after(30 * day + 3_600 * second);
    expect(await retain(db, late)).to.include({ bodies: 1_000, events: 0, more: true });
    const [left] = await (
      await testDatabase()
    ).query<{ oldest: Date }[]>(`SELECT min(created_at) AS oldest FROM webhook_events WHERE body IS NOT NULL`);
    expect(left?.oldest).to.deep.equal(after(1_000 * second));
    expect(await retain(db, late)).to.include({ bodies: 200 });
    expect(await retain(db, late)).to.include({ bodies: 0, events: 0, attempts: 0 });
    const over = after(90 * day + 3_600 * second);
    expect(await retain(db, over)).to.include({ events: 1_000, more: true });
    expect(await retain(db, over)).to.include({ events: 200 });
    const total = counting({ endpointId: subscription.endpoint.id, since: -Infinity, until: Infinity });
    expect(await db.rows(sql`SELECT ${total} AS total`)).to.deep.equal([{ total: 0 }]);
  });

  it('ends each delivery once when three rounds meet at one row, without a deadlock', async () => {
    const { db } = await testDeps();
    const other = await buildEndpoint(subscription.clubId, url);
    await addHistory(subscription, [subscription.endpoint.id, other.id], 300, created);
    const pending = await Promise.all(Array.from({ length: 3 }, () => buildWebhookDelivery(subscription, created)));
    const over = after(91 * day);
    const recorded = recordingEnds(db);
    let rounds: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => tx.manager.query(`SELECT FROM webhook_deliveries WHERE id = $1 FOR UPDATE`, [pending[0]?.id]),
      async () => {
        rounds = Promise.all([retain(recorded, over), retain(recorded, over), retain(recorded, over)]);
        await untilWaitingForLocks(3);
      },
    );
    await rounds;
    await retainAll(over);
    expect(recorded.ends).to.deep.equal([]);
    for (const { id } of pending) expect(await wakesOf(id)).to.deep.equal([{ raised: false }]);
    const [left] = await (
      await testDatabase()
    ).query<{ left: number }[]>(`SELECT count(*)::int AS left FROM webhook_events WHERE created_at < $1`, [over]);
    expect(left).to.deep.equal({ left: 0 });
  });
});
