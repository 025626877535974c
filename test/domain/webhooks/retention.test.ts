import type { Id } from '../../../platform/core/ids.ts';
import { findDelivery, listDeliveries } from '../../../domain/webhooks/deliveries/deliveries.ts';
import { retainWebhooks, webhookTables } from '../../../domain/webhooks/retention.ts';
import { partitionsOf } from '../../../platform/infra/postgres/partitions.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
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
/** Only the rows of this file are this old. */
const created = new Date('2001-03-01T10:00:00Z');
const after = (ms: number) => new Date(created.getTime() + ms);
/** The platform drops the partitions of `created` at these times. */
const bodiesEnd = new Date('2001-04-01T01:00:00Z'); // 30 days and an hour after the end of the day
const attemptsEnd = new Date('2001-04-01T00:00:00Z');
const historyEnd = new Date(Date.parse('2001-03-05T00:00:00Z') + 97 * day); // 90 days and 7 days after the end of the week
const before = (at: Date) => new Date(at.getTime() - second);
const url = 'https://hooks.example.com';

async function retain(...[db, now]: Parameters<typeof retainWebhooks>) {
  const { rows, more } = await retainWebhooks(db, now);
  return { ...rows, more };
}

async function retainAll(now: Date): Promise<void> {
  const { db } = await testDeps();
  while ((await retain(db, now)).more);
}

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

const exists = async (
  table: 'webhook_events' | 'webhook_deliveries' | 'webhook_endpoints' | 'webhook_bodies',
  id: Id,
) => {
  const key = table === 'webhook_bodies' ? 'event_id' : 'id';
  const found = await (await testDatabase()).query<unknown[]>(`SELECT 1 FROM ${table} WHERE ${key} = $1`, [id]);
  return found.length === 1;
};

/** One second apart, with a delivery to each endpoint. */
async function addHistory(
  { clubId }: Subscription,
  endpointIds: readonly Id[],
  count: number,
  from: Date,
  status = 'succeeded',
): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `WITH event AS (
       INSERT INTO webhook_events (id, club_id, type, occurred_at, created_at)
       SELECT uuidv7(at - now()), $1, 'student.created', at, at
         FROM generate_series($2::timestamptz, $2::timestamptz + make_interval(secs => $3 - 1), interval '1 s') AS at
     RETURNING id, created_at),
       kept AS (INSERT INTO webhook_bodies (event_id, created_at, body) SELECT id, created_at, '{}' FROM event)
     INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     SELECT uuidv7(created_at - now()), $1, endpoint_id, id, 'student.created', $5, created_at, created_at
       FROM event CROSS JOIN unnest($4::uuid[]) AS endpoint_id`,
    [clubId, from, count, endpointIds, status],
  );
}

describe('retention (DEL-8)', () => {
  let subscription: Subscription;
  beforeEach('remove old rows, and build a subscription', async () => {
    const source = await testDatabase();
    for (const { name, key } of Object.values(webhookTables)) {
      const column = key.of === 'times' ? key.column : 'created_at';
      await source.query(`DELETE FROM ${name} WHERE ${column} < '2010-01-01'`);
    }
    await source.query(`DELETE FROM webhook_endpoints WHERE deleted_at IS NOT NULL`);
    subscription = await buildSubscription(url);
  });
  const succeeded = async (at = created): Promise<TestWebhookDelivery> => {
    const delivery = await buildWebhookDelivery(subscription, at);
    await alter('webhook_deliveries', delivery.id, { status: 'succeeded', completed_at: at });
    return delivery;
  };
  const showDelivery = async ({ clubId, endpoint, id }: TestWebhookDelivery, now: Date) => {
    const { db } = await testDeps();
    return findDelivery(db, clubId, endpoint.id, id, now).catch(({ code }: { code: string }) => code);
  };
  const listHistory = async ({ clubId, endpoint }: Subscription, now: Date) => {
    const { db } = await testDeps();
    const { rows, total } = await listDeliveries(db, clubId, endpoint.id, { page: 1, page_size: 20 }, now);
    return { ids: rows.map(({ id }) => id), total };
  };

  describe('a message’s body', () => {
    it('is shown for exactly 30 days from its creation', async () => {
      const delivery = await succeeded();
      expect(await showDelivery(delivery, after(30 * day - second)))
        .to.include({ payload_purged: false })
        .and.have.property('body');
      expect(await showDelivery(delivery, after(30 * day)))
        .to.include({ payload_purged: true })
        .and.not.have.property('body');
    });

    it('is dropped with all bodies of its day, 30 days and one hour after the day', async () => {
      const other = await buildEndpoint(subscription.clubId, url);
      const delivery = await succeeded();
      const nextDay = await succeeded(new Date('2001-03-02T00:00:00Z'));
      await retainAll(before(bodiesEnd));
      expect(await exists('webhook_bodies', delivery.eventId)).to.equal(true);
      await retainAll(bodiesEnd);
      expect(await exists('webhook_bodies', delivery.eventId)).to.equal(false);
      expect(await exists('webhook_bodies', nextDay.eventId)).to.equal(true);
      const rows = await (
        await testDatabase()
      ).query<{ endpoint_id: Id }[]>(`SELECT endpoint_id FROM webhook_deliveries WHERE event_id = $1`, [
        delivery.eventId,
      ]);
      expect(rows.map(({ endpoint_id }) => endpoint_id)).to.have.members([delivery.endpoint.id, other.id]);
    });

    it('is dropped without a change to an ended delivery', async () => {
      const delivery = await succeeded();
      const row = await deliveryRow(delivery.id);
      await retainAll(bodiesEnd);
      expect(await deliveryRow(delivery.id)).to.deep.equal(row);
      expect(await wakesOf(delivery.id)).to.have.length(0);
    });

    it('is dropped only after its unfinished delivery was canceled as expired', async () => {
      const { id } = await buildWebhookDelivery(subscription, created);
      await alter('webhook_deliveries', id, { parked_at: created, requested: 'manual', in_flight: 'manual' });
      await retainAll(bodiesEnd);
      expect(await deliveryRow(id)).to.include({
        status: 'canceled',
        cancelReason: 'expired',
        parkedAt: null,
        requested: null,
        inFlight: null,
      });
      expect((await deliveryRow(id)).completedAt).to.deep.equal(bodiesEnd);
      expect(await wakesOf(id)).to.have.length(1);
    });

    it('stays if it belongs to a later day of the week', async () => {
      const { id } = await buildWebhookDelivery(subscription, new Date('2001-03-02T00:00:00Z'));
      await succeeded();
      await retainAll(bodiesEnd);
      expect(await deliveryRow(id)).to.include({ status: 'pending' });
    });

    it('is dropped only after a requested attempt was canceled', async () => {
      const delivery = await succeeded();
      await alter('webhook_deliveries', delivery.id, { requested: 'manual', in_flight: 'manual' });
      await retainAll(bodiesEnd);
      expect(await deliveryRow(delivery.id)).to.include({
        status: 'succeeded',
        cancelReason: null,
        requested: null,
        inFlight: null,
      });
      expect(await wakesOf(delivery.id)).to.have.length(1);
    });

    it('keeps the time and the reason of an earlier purge', async () => {
      const delivery = await succeeded();
      await alter('webhook_deliveries', delivery.id, {
        status: 'canceled',
        cancel_reason: 'student_removed',
        payload_purged_at: created,
      });
      await retainAll(bodiesEnd);
      const row = await deliveryRow(delivery.id);
      expect([row.payloadPurgedAt, row.cancelReason]).to.deep.equal([created, 'student_removed']);
    });

    it('is dropped only after the open record of an attempt commits', async () => {
      const { db } = await testDeps();
      const { id } = await buildWebhookDelivery(subscription, created);
      await retain(db, before(bodiesEnd));
      let round: Promise<unknown> | undefined;
      await withOpenTransaction(
        (tx) => tx.manager.query(`UPDATE webhook_deliveries SET status = 'succeeded' WHERE id = $1`, [id]),
        async () => {
          round = retain(db, bodiesEnd);
          await untilWaitingForLocks(1);
        },
      );
      await round;
      expect(await deliveryRow(id)).to.include({ status: 'succeeded', cancelReason: null });
      expect(await wakesOf(id)).to.deep.equal([]);
    });

    it('is not dropped in a round that must first cancel 1,000 deliveries', async () => {
      const { db } = await testDeps();
      await addHistory(subscription, [subscription.endpoint.id], 1_200, created, 'pending');
      expect(await retain(db, bodiesEnd)).to.include({ expired: 1_000, dropped: 0, more: true });
      expect(await retain(db, bodiesEnd)).to.include({ expired: 200, dropped: 1, more: true });
      expect(await retain(db, bodiesEnd)).to.include({ expired: 0, more: false });
    });
  });

  describe('attempts', () => {
    it('are shown for 30 days after they began', async () => {
      const delivery = await succeeded();
      await addAttempt(delivery.id, 1, created);
      await addAttempt(delivery.id, 2, after(second));
      const numbers = async (now: Date) => {
        const found = await showDelivery(delivery, now);
        return typeof found === 'string' ? found : found.attempts.map(({ number }) => number);
      };
      expect(await numbers(after(30 * day - second))).to.deep.equal([1, 2]);
      expect(await numbers(after(30 * day))).to.deep.equal([2]);
      expect(await numbers(after(30 * day + second))).to.deep.equal([]);
    });

    it('are dropped with all attempts of their day', async () => {
      const delivery = await succeeded();
      await addAttempt(delivery.id, 1, created);
      await addAttempt(delivery.id, 2, new Date('2001-03-02T00:00:00Z'));
      await addAttempt(delivery.id, 3, after(29 * day));
      await retainAll(before(attemptsEnd));
      expect(await attemptRows(delivery.id)).to.have.length(3);
      await retainAll(attemptsEnd);
      expect((await attemptRows(delivery.id)).map(({ fence }) => fence)).to.deep.equal([2, 3]);
      await retainAll(after(61 * day));
      expect(await attemptRows(delivery.id)).to.deep.equal([]);
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(true);
    });
  });

  describe('delivery history', () => {
    it('is shown for exactly 90 days in lists, totals and details', async () => {
      const delivery = await succeeded();
      const younger = await succeeded(after(second));
      expect(await listHistory(subscription, after(90 * day - second))).to.deep.equal({
        ids: [younger.id, delivery.id],
        total: 2,
      });
      expect(await listHistory(subscription, after(90 * day))).to.deep.equal({ ids: [younger.id], total: 1 });
      expect(await listHistory(subscription, after(90 * day + second))).to.deep.equal({ ids: [], total: 0 });
      expect(await showDelivery(delivery, after(90 * day - second))).to.include({ id: delivery.id });
      expect(await showDelivery(delivery, after(90 * day))).to.equal('not_found');
    });

    it('is dropped week by week, 97 days after the end of the week', async () => {
      const { db } = await testDeps();
      const delivery = await succeeded();
      const younger = await succeeded(new Date('2001-03-05T00:00:00Z'));
      await retainAll(before(historyEnd));
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(true);
      await retainAll(historyEnd);
      expect(await exists('webhook_events', delivery.eventId)).to.equal(false);
      expect(await exists('webhook_deliveries', delivery.id)).to.equal(false);
      expect(await exists('webhook_deliveries', younger.id)).to.equal(true);
      expect(await exists('webhook_events', younger.eventId)).to.equal(true);
      const oldPartitions = await Promise.all(
        [webhookTables.events, webhookTables.deliveries].map(async (table) =>
          (await partitionsOf(db, table)).filter(({ to }) => to <= Date.parse('2001-03-05T00:00:00Z')),
        ),
      );
      expect(oldPartitions).to.deep.equal([[], []]);
      const tallies = await (
        await testDatabase()
      ).query<unknown[]>(`SELECT 1 FROM webhook_tallies WHERE endpoint_id = $1`, [subscription.endpoint.id]);
      expect(tallies).to.deep.equal([]);
    });

    it('is not removed while another transaction uses one of the tables', async () => {
      const { db } = await testDeps();
      const delivery = await succeeded();
      await retainAll(before(historyEnd));
      await withOpenTransaction(
        (tx) => tx.manager.query(`SELECT FROM webhook_deliveries WHERE id = $1`, [delivery.id]),
        async () => {
          expect(await retain(db, historyEnd)).to.include({ dropped: 0 });
        },
      );
      expect(await exists('webhook_events', delivery.eventId)).to.equal(true);
      await retainAll(historyEnd);
      expect(await exists('webhook_events', delivery.eventId)).to.equal(false);
    });

    it('stays for 90 days after the late fan-out of an event', async () => {
      const { db } = await testDeps();
      const late = await succeeded();
      const next = await succeeded(new Date('2001-03-05T00:00:00Z'));
      for (const [table, id] of [
        ['webhook_events', late.eventId],
        ['webhook_deliveries', late.id],
      ] as const)
        await db.run(sql`UPDATE ${raw(table)} SET created_at = ${after(30 * day)} WHERE id = ${id}`);
      const nextEnd = new Date(historyEnd.getTime() + 7 * day);
      await retainAll(nextEnd);
      expect(await exists('webhook_events', next.eventId)).to.equal(false);
      expect(await showDelivery(late, nextEnd)).to.include({ id: late.id });
      await retainAll(after(120 * day - second));
      expect(await exists('webhook_deliveries', late.id)).to.equal(true);
      await retainAll(after(120 * day));
      expect(await exists('webhook_events', late.eventId)).to.equal(false);
      expect(await exists('webhook_deliveries', late.id)).to.equal(false);
    });

    it('is dropped without a deadlock with fan-outs', async () => {
      const { db } = await testDeps();
      const delivery = await succeeded();
      await retainAll(before(historyEnd));
      await withOpenTransaction(
        (tx) => tx.manager.query(`SELECT FROM webhook_events WHERE id = $1 FOR UPDATE`, [delivery.eventId]),
        async (tx) => {
          const round = retain(db, historyEnd);
          await untilWaitingForLocks(1);
          // A round that locked deliveries first would deadlock with this update.
          await tx.manager.query(`SET LOCAL lock_timeout = 50`);
          await tx.manager.query(`UPDATE webhook_deliveries SET requested = NULL WHERE id = $1`, [delivery.id]);
          expect(await round).to.include({ dropped: 0 });
        },
      );
    });
  });

  describe('a deleted endpoint', () => {
    it('is removed with its deliveries and attempts', async () => {
      const shared = await buildWebhookDelivery(subscription, new Date());
      const other = await buildEndpoint(subscription.clubId, url);
      const both = await buildWebhookDelivery(subscription, new Date());
      await addAttempt(shared.id, 1, new Date());
      await alter('webhook_endpoints', subscription.endpoint.id, { deleted_at: created });
      await retainAll(created);
      expect(await exists('webhook_endpoints', subscription.endpoint.id)).to.equal(false);
      for (const { id } of [shared, both]) expect(await exists('webhook_deliveries', id), id).to.equal(false);
      expect(await attemptRows(shared.id)).to.deep.equal([]);
      for (const { eventId } of [shared, both]) expect((await eventRow(eventId)).body, eventId).to.be.a('string');
      expect(await exists('webhook_endpoints', other.id)).to.equal(true);
    });

    it('stays while the gate cancels the queue of the endpoint', async () => {
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

  it('deletes a rotated secret exactly 24 hours after the rotation', async () => {
    const { id } = subscription.endpoint;
    await alter('webhook_endpoints', id, { previous_secret: Buffer.from('old'), previous_secret_expires_at: created });
    await retainAll(after(-second));
    expect((await endpointRow(id)).previousSecret).to.deep.equal(Buffer.from('old'));
    await retainAll(created);
    expect((await endpointRow(id)).previousSecret).to.equal(null);
  });

  it('ends each delivery once in three concurrent rounds', async () => {
    const { db } = await testDeps();
    const other = await buildEndpoint(subscription.clubId, url);
    await addHistory(subscription, [subscription.endpoint.id, other.id], 300, created);
    const pending = await Promise.all(Array.from({ length: 3 }, () => buildWebhookDelivery(subscription, created)));
    await retain(db, before(bodiesEnd));
    const recorded = recordingEnds(db);
    let rounds: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => tx.manager.query(`SELECT FROM webhook_deliveries WHERE id = $1 FOR UPDATE`, [pending[0]?.id]),
      async () => {
        rounds = Promise.all([retain(recorded, bodiesEnd), retain(recorded, bodiesEnd), retain(recorded, bodiesEnd)]);
        await untilWaitingForLocks(3);
      },
    );
    await rounds;
    await retainAll(bodiesEnd);
    expect(recorded.ends).to.deep.equal([]);
    for (const { id } of pending) expect(await wakesOf(id)).to.deep.equal([{ raised: false }]);
    await retainAll(historyEnd);
    const [row] = await (
      await testDatabase()
    ).query<{ count: number }[]>(`SELECT count(*)::int AS count FROM webhook_events WHERE created_at < $1`, [
      historyEnd,
    ]);
    expect(row).to.deep.equal({ count: 0 });
  });
});
