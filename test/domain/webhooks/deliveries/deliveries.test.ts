import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import {
  findDelivery,
  listDeliveries,
  type DeliveryFilter,
} from '../../../../domain/webhooks/deliveries/deliveries.ts';
import { testDatabase, testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import { recordFaults } from '../../../toolkit/assert/contract-schemas.ts';
import { deliveryRow } from '../../../toolkit/assert/webhooks.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import {
  buildEndpoint,
  buildWebhookDelivery,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

describe('the delivery history of an endpoint', () => {
  const delivering = useDeliveries();
  const list = async ({ clubId, endpoint }: Subscription, filter: Partial<DeliveryFilter> = {}) =>
    listDeliveries(
      new Queries((await testDatabase()).manager),
      clubId,
      endpoint.id,
      { page: 1, page_size: 20, ...filter },
      new Date(),
    );
  const find = async ({ clubId, endpoint, id }: TestWebhookDelivery) =>
    findDelivery(new Queries((await testDatabase()).manager), clubId, endpoint.id, id, new Date());
  const codeOf = async (promise: Promise<unknown>) => {
    const error = await promise.catch((failure: unknown) => failure);
    return error instanceof DomainError ? error.code : error;
  };
  const attempt = (delivery: TestWebhookDelivery) => attemptDelivery(delivering().deps(), delivery.id, Date.now());

  it('lists deliveries newest first, in pages, with their total', async () => {
    const subscription = await buildSubscription('https://hooks.example.com');
    const ids: string[] = [];
    for (let number = 0; number < 5; number++) {
      ids.unshift((await buildWebhookDelivery(subscription, new Date(Date.now() + number))).id);
    }
    const first = await list(subscription, { page_size: 2 });
    const third = await list(subscription, { page: 3, page_size: 2 });
    expect(first.rows.map(({ id }) => id)).to.deep.equal(ids.slice(0, 2));
    expect(third.rows.map(({ id }) => id)).to.deep.equal(ids.slice(4));
    expect([first.total, third.total]).to.deep.equal([5, 5]);
  });

  it('filters by status and by event type', async () => {
    const subscription = await buildSubscription('https://hooks.example.com');
    const pending = await buildWebhookDelivery(subscription);
    const failed = await buildWebhookDelivery(subscription);
    await alter('webhook_deliveries', failed.id, { status: 'failed' });
    expect((await list(subscription, { status: 'failed' })).rows.map(({ id }) => id)).to.deep.equal([failed.id]);
    expect((await list(subscription, { status: 'pending' })).rows.map(({ id }) => id)).to.deep.equal([pending.id]);
    expect(await list(subscription, { event_type: 'student.updated' })).to.have.property('total', 2);
    expect(await list(subscription, { event_type: 'student.created' })).to.deep.include({ rows: [], total: 0 });
  });

  it('answers not_found for a foreign or unknown endpoint or delivery', async () => {
    const delivery = await buildWebhookDelivery(await buildSubscription('https://hooks.example.com'));
    const other = await buildEndpoint(delivery.clubId, 'https://hooks.example.com');
    const { id: foreign } = await buildClub();
    expect(await codeOf(list({ ...delivery, clubId: foreign }))).to.equal('not_found');
    expect(await codeOf(find({ ...delivery, clubId: foreign }))).to.equal('not_found');
    expect(await codeOf(list({ ...delivery, endpoint: { id: newId(), secret: '' } }))).to.equal('not_found');
    expect(await codeOf(find({ ...delivery, endpoint: other }))).to.equal('not_found');
    expect(await codeOf(find({ ...delivery, id: newId() }))).to.equal('not_found');
  });

  it('shows a delivery with its attempts in order and the time of the next attempt', async () => {
    const { url } = await delivering().receiver((_, number) =>
      number === 1 ? { status: 503, body: 'later', headers: { 'retry-after': '60' } } : 'hang',
    );
    const delivery = await buildWebhookDelivery(await buildSubscription(url));
    await attempt(delivery);
    const detail = await find(delivery);
    const row = await deliveryRow(delivery.id);
    expect(detail).to.deep.include({
      id: delivery.id,
      event_id: delivery.eventId,
      event_type: 'student.updated',
      endpoint_id: delivery.endpoint.id,
      status: 'pending',
      payload_purged: false,
      attempt_count: 1,
      next_attempt_at: row.nextAttemptAt.toISOString(),
    });
    expect(detail).not.to.have.any.keys('cancel_reason', 'completed_at');
    expect(detail.attempts).to.have.length(1);
    expect(detail.attempts[0]).to.include({
      number: 1,
      trigger: 'schedule',
      outcome: 'http_error',
      response_status: 503,
      response_excerpt: 'later',
      retry_after_seconds: 60,
    });
    expect(detail.body).to.have.property('id', delivery.eventId);
    expect(recordFaults('WebhookDeliveryDetail', detail)).to.deep.equal([]);
  });

  it('shows no attempt in flight', async () => {
    const { url } = await delivering().receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(url));
    const dying = delivering().deps({ failpoint: () => Promise.reject(new Error('the worker died')) });
    await attemptDelivery(dying, delivery.id, Date.now()).catch(() => {});
    expect((await find(delivery)).attempts).to.deep.equal([]);
    await endLease(delivery.id);
    await attempt(delivery);
    const detail = await find(delivery);
    expect(detail.attempts.map(({ number, outcome }) => [number, outcome])).to.deep.equal([
      [1, 'interrupted'],
      [1, 'succeeded'],
    ]);
    expect(detail).to.have.property('completed_at');
    expect(detail).not.to.have.property('next_attempt_at');
    expect(recordFaults('WebhookDeliveryDetail', detail)).to.deep.equal([]);
  });

  it('shows a removed student’s delivery as canceled, without body and excerpt', async () => {
    const { url } = await delivering().receiver(() => ({ status: 500, body: 'Stella' }));
    const delivery = await buildWebhookDelivery(await buildSubscription(url));
    await attempt(delivery);
    const { db } = await testDeps();
    await removeStudent(depsOn(db), delivery.clubId, delivery.studentId, new Date());
    const detail = await find(delivery);
    expect(detail).to.include({ status: 'canceled', cancel_reason: 'student_removed', payload_purged: true });
    expect(detail).not.to.have.any.keys('body', 'next_attempt_at');
    expect(detail.attempts[0]).not.to.have.property('response_excerpt');
    expect(recordFaults('WebhookDeliveryDetail', detail)).to.deep.equal([]);
    const [listItem] = (await list(delivery)).rows;
    expect(recordFaults('WebhookDelivery', listItem)).to.deep.equal([]);
  });
});
