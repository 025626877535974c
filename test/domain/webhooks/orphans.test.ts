import { expect } from 'chai';
import { UpkeepRound } from '../../../entities/facts/upkeep-round.ts';
import { sweepOrphans } from '../../../domain/webhooks/orphans.ts';
import { newId } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { attemptRows } from '../../toolkit/assert/webhooks.ts';
import { buildSubscription, buildWebhookDelivery, type TestWebhookDelivery } from '../../toolkit/builders/webhooks.ts';
import { eraseWebhooks } from '../../toolkit/drive/erase-webhooks.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

/** Rows of events, deliveries, attempts and bodies refer to each other without foreign keys (ADR 38). */
describe('the sweep of orphans', () => {
  const now = new Date();
  let db: Database;
  let delivery: TestWebhookDelivery;
  beforeEach('build one complete delivery, and restart the sweep', async () => {
    ({ db } = await testDeps());
    await eraseWebhooks(db.manager);
    await db.manager.clear(UpkeepRound);
    delivery = await buildWebhookDelivery(await buildSubscription('https://hooks.example.com'));
    await addAttempt(delivery.id);
  });
  const addAttempt = (deliveryId: string, fence = 1) =>
    db.source.query(
      `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at) VALUES ($1, $2, 1, 'schedule', $3)`,
      [deliveryId, fence, now],
    );
  const count = async (table: string) => {
    const [row] = await db.source.query<{ count: number }[]>(`SELECT count(*)::int AS count FROM webhook_${table}`);
    return row?.count;
  };
  const counts = async () => Promise.all(['events', 'deliveries', 'attempts', 'bodies'].map(count));
  const positions = async () => (await db.manager.find(UpkeepRound)).map(({ position }) => position);

  it('keeps each row that refers to existing rows', async () => {
    expect(await sweepOrphans(db, now)).to.equal(0);
    expect(await counts()).to.deep.equal([1, 1, 1, 1]);
  });

  it('removes each attempt without a delivery', async () => {
    const missingId = newId();
    for (const fence of [1, 2]) await addAttempt(missingId, fence);
    expect(await sweepOrphans(db, now)).to.equal(2);
    expect(await attemptRows(missingId)).to.deep.equal([]);
    expect(await counts()).to.deep.equal([1, 1, 1, 1]);
  });

  for (const [what, table, key, remaining] of [
    ['a delivery without its event, with its attempts and body', 'webhook_events', 'eventId', [0, 0, 0, 0]],
    ['a delivery without its endpoint, and its attempts', 'webhook_endpoints', 'endpoint', [1, 0, 0, 1]],
  ] as const) {
    it(`removes ${what}`, async () => {
      const id = key === 'endpoint' ? delivery.endpoint.id : delivery.eventId;
      await db.source.query(`DELETE FROM ${table} WHERE id = $1`, [id]);
      await sweepOrphans(db, now);
      await sweepOrphans(db, now);
      expect(await counts()).to.deep.equal(remaining);
    });
  }

  it('reads 500 rows of a table per round, and restarts at the end', async () => {
    await db.source.query(
      `INSERT INTO webhook_bodies (event_id, created_at, body) SELECT uuidv7(), $1, '{}' FROM generate_series(1, 1200)`,
      [now],
    );
    const swept: number[] = [];
    for (let round = 1; round <= 3; round++) swept.push(await sweepOrphans(db, now));
    expect(swept).to.deep.equal([499, 500, 201]); // The event of one body exists, so this body is not removed.
    const [round] = await db.manager.findBy(UpkeepRound, { name: 'orphans of webhook_bodies' });
    expect(round).to.include({ position: null });
    expect(round?.completedAt).to.deep.equal(now);
    expect(await positions()).to.deep.equal([null, null, null]);
    expect(await count('bodies')).to.equal(1);
  });

  it('removes each orphan once in concurrent runs', async () => {
    await addAttempt(newId());
    const swept = await Promise.all([1, 2, 3].map(() => sweepOrphans(db, now)));
    expect(swept.reduce((sum, one) => sum + one, 0)).to.equal(1);
    expect(await counts()).to.deep.equal([1, 1, 1, 1]);
  });
});
