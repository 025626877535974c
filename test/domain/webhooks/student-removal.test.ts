import { expect } from 'chai';
import { newId } from '../../../platform/core/ids.ts';
import { createStudent, removeStudent } from '../../../domain/students/students.ts';
import { attemptDelivery } from '../../../domain/webhooks/attempts/attempt.ts';
import { attemptRows, deliveryRow, eventRow } from '../../toolkit/assert/webhooks.ts';
import { buildStudent } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import {
  buildEndpoint,
  buildWebhookDelivery,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../../toolkit/builders/webhooks.ts';
import { useDeliveries } from '../../toolkit/stack/receivers.ts';

describe('the removal of a student (DEL-9)', () => {
  const delivering = useDeliveries();
  const now = new Date();
  const remove = async ({ clubId, studentId }: Subscription) => removeStudent(await testDeps(), clubId, studentId, now);
  const wakesOf = async (delivery: TestWebhookDelivery) =>
    (await testDatabase()).query<{ attributes: unknown }[]>(`SELECT attributes FROM wakes WHERE workflow_id = $1`, [
      `webhook-delivery/${delivery.id}`,
    ]);
  /** The first succeeded, the second failed and waits for a retry, and the third has no attempt. */
  const history = async () => {
    const { url } = await delivering().receiver((_, number) => ({
      status: number === 2 ? 500 : 200,
      body: 'Stella, noted',
    }));
    const delivered = await buildWebhookDelivery(await buildSubscription(url));
    const waiting = await buildWebhookDelivery(delivered);
    const untried = await buildWebhookDelivery(delivered);
    for (const { id } of [delivered, waiting]) await attemptDelivery(delivering().deps(), id, Date.now());
    return { delivered, waiting, untried };
  };

  it('deletes the bodies of sent and unsent messages about the student', async () => {
    const { delivered, waiting, untried } = await history();
    const all = Object.entries({ delivered, waiting, untried });
    for (const [name, { eventId }] of all) expect((await eventRow(eventId)).body, name).to.contain('Stella');
    await remove(delivered);
    for (const [name, { id, eventId }] of all) {
      expect((await eventRow(eventId)).body, name).to.equal(null);
      expect((await deliveryRow(id)).payloadPurgedAt, name).to.deep.equal(now);
    }
  });

  it('clears bodies and excerpts in all partitions', async () => {
    const source = await testDatabase();
    const subscription = await buildSubscription('https://hooks.example.com');
    const days = [0, 1, 8, 15];
    const at = (ahead: number) => new Date(Date.now() + ahead * 86_400_000);
    const deliveries: TestWebhookDelivery[] = [];
    for (const ahead of days) deliveries.push(await buildWebhookDelivery(subscription, at(ahead)));
    for (const [index, { id }] of deliveries.entries()) {
      for (const later of [0, 1, 10]) {
        await source.query(
          `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome, response_excerpt)
           VALUES ($1, $2, 1, 'schedule', $3, 'http_error', 'Stella, noted')`,
          [id, later + 1, at((days[index] ?? 0) + later)],
        );
      }
    }
    const countPartitions = async (table: string) =>
      (await source.query<{ places: number }[]>(`SELECT count(DISTINCT tableoid)::int AS places FROM ${table}`))[0]
        ?.places;
    expect(await countPartitions('webhook_deliveries')).to.be.at.least(3);
    expect(await countPartitions('webhook_bodies')).to.be.at.least(4);
    expect(await countPartitions('webhook_attempts')).to.be.at.least(8);

    await remove(subscription);
    for (const { id, eventId } of deliveries) {
      expect((await eventRow(eventId)).body).to.equal(null);
      expect(await deliveryRow(id)).to.include({ status: 'canceled', cancelReason: 'student_removed' });
      expect((await attemptRows(id)).map(({ responseExcerpt }) => responseExcerpt)).to.deep.equal([null, null, null]);
    }
  });

  it('cancels only unsent deliveries, as student_removed', async () => {
    const { delivered, waiting, untried } = await history();
    await remove(delivered);
    for (const [name, { id }] of Object.entries({ waiting, untried })) {
      expect(await deliveryRow(id), name).to.deep.include({
        status: 'canceled',
        cancelReason: 'student_removed',
        completedAt: now,
      });
    }
    expect(await deliveryRow(delivered.id)).to.include({ status: 'succeeded', cancelReason: null });
  });

  it('deletes response excerpts, and keeps outcomes and statuses', async () => {
    const { delivered, waiting } = await history();
    expect((await attemptRows(delivered.id))[0]?.responseExcerpt).to.equal('Stella, noted');
    await remove(delivered);
    expect((await attemptRows(delivered.id))[0]).to.include({
      outcome: 'succeeded',
      responseStatus: 200,
      responseExcerpt: null,
    });
    expect((await attemptRows(waiting.id))[0]).to.include({
      outcome: 'http_error',
      responseStatus: 500,
      responseExcerpt: null,
    });
  });

  it('wakes only the workflows of canceled deliveries', async () => {
    const { delivered, waiting, untried } = await history();
    await remove(delivered);
    const attributes = { ClubId: delivered.clubId, EndpointId: delivered.endpoint.id, EventType: 'student.updated' };
    expect(await wakesOf(waiting)).to.deep.equal([{ attributes }]);
    expect(await wakesOf(untried)).to.deep.equal([{ attributes }]);
    expect(await wakesOf(delivered)).to.deep.equal([]);
  });

  it('does not change the deliveries about other students of the club', async () => {
    const { delivered } = await history();
    const { id: studentId } = await buildStudent(delivered.clubId);
    const other = await buildWebhookDelivery({ ...delivered, studentId });
    await remove(delivered);
    expect(await deliveryRow(other.id)).to.include({ status: 'pending', payloadPurgedAt: null });
    expect((await eventRow(other.eventId)).body).to.contain(studentId);
  });

  it('prevents further attempts of a canceled delivery', async () => {
    const { untried } = await history();
    await remove(untried);
    const step = await attemptDelivery(delivering().deps(), untried.id, Date.now());
    expect(step).to.deep.equal({ done: true, outcome: 'canceled' });
    expect(await attemptRows(untried.id)).to.deep.equal([]);
  });

  it('leaves the student’s name and e-mail in no table', async () => {
    const deps = await testDeps();
    const { db } = deps;
    const source = db.source;
    const name = `Rosalind ${newId()}`;
    const email = `${newId()}@example.com`;
    const { url } = await delivering().receiver(() => ({ status: 200, body: `${name} <${email}>` }));
    const { clubId } = await buildSubscription(url);
    const endpoint = await buildEndpoint(clubId, url);
    const student = await createStudent(deps, clubId, { name, email }, now);
    const delivery = await buildWebhookDelivery({ clubId, endpoint, studentId: student.id });
    await attemptDelivery(delivering().deps(), delivery.id, Date.now());

    const tables = await source.query<{ name: string }[]>(
      `SELECT relname AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
    );
    const mentioning = async () => {
      const found: string[] = [];
      for (const table of tables) {
        const rows = await source.query<unknown[]>(
          `SELECT 1 FROM "${table.name}" one WHERE strpos(one::text, $1) > 0 OR strpos(one::text, $2) > 0`,
          [name, email],
        );
        if (rows.length > 0) found.push(table.name);
      }
      return found.toSorted();
    };
    expect(await mentioning()).to.deep.equal(['students', 'webhook_attempts', 'webhook_bodies']);
    await remove(delivery);
    expect(await mentioning()).to.deep.equal([]);
  });
});
