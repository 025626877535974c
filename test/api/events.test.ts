/** The operations on a club's log of events (EVT-23 to EVT-27). */
import { expect } from 'chai';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryRun, wakesBy } from '../toolkit/assert/wakes.ts';
import { deliveryOf, eventRow } from '../toolkit/assert/webhooks.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, buildSubscription, factAbout } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { openEndpointScene, publicUrl, type EndpointScene } from '../toolkit/drive/webhook-calls.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;
const day = 1_440 * minute;

describe('GET /v1/clubs/{clubId}/events', () => {
  it('lists events for API keys and for sessions, page after page', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { token } = await buildApiKey(club.id, ['events:read']);
    const list = (query = '', as = token) => call('GET', `/v1/clubs/${club.id}/events${query}`, { token: as });
    const begin = await list();
    expect(begin.status).to.equal(200);
    expect(begin.body).to.have.all.keys('data', 'next_cursor', 'has_more', 'logged_since');
    const { db } = await testDeps();
    const fact = factAbout({ clubId: club.id, studentId: student.id }, 'student.updated');
    await fanOut(db, fact, new Date());
    const next = await list(`?cursor=${begin.body.next_cursor}`);
    const { body } = await eventRow(fact.id);
    expect(next.body).to.deep.include({ data: [JSON.parse(body ?? '')], has_more: false });
    expect((await list('?type=student.updated,student.tagged', club.owner.token)).body.data).to.have.length(1);
    expect((await list(`?type=student.created&student_id=${student.id}`)).body.data).to.deep.equal([]);
  });

  it('refuses unknown types, a page number, a bad time, a forged cursor, and a key without the scope', async () => {
    const club = await buildClub();
    const list = async (query: string, token = club.owner.token) =>
      call('GET', `/v1/clubs/${club.id}/events${query}`, { token });
    for (const query of [
      '?type=webhook.test',
      '?type=student.updated,',
      '?student_id=x',
      '?since=yesterday',
      '?page_size=101',
    ])
      expectError(await list(query), 'invalid_request');
    for (const query of ['?page=2', '?types=student.updated']) expectError(await list(query), 'malformed_request');
    for (const query of ['?cursor=', '?cursor=WyIwIl0']) expectError(await list(query), 'invalid_cursor');
    const { token } = await buildApiKey(club.id, ['webhooks:read', 'events:write']);
    expectError(await list('', token), 'scope_not_granted');
  });

  it('records events of every type once an endpoint is registered', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const { db } = await testDeps();
    const at = `/v1/clubs/${club.id}`;
    const body = { url: publicUrl, event_types: ['student.created'] };
    expect((await call('POST', `${at}/webhook-endpoints`, { token: club.owner.token, body })).status).to.equal(201);
    const fact = factAbout({ clubId: club.id, studentId: student.id }, 'student.updated');
    await fanOut(db, fact, new Date());
    const { body: answer } = await call('GET', `${at}/events`, { token: club.owner.token });
    expect(answer.data.map(({ id }: { id: Id }) => id)).to.deep.equal([fact.id]);
    expect(Date.parse(answer.logged_since)).to.be.below(Date.now());
  });
});

describe('POST /v1/clubs/{clubId}/events/{eventId}/replay', () => {
  let scene: EndpointScene;
  let eventId: Id;
  let endpointId: Id;
  beforeEach(async () => {
    scene = await openEndpointScene();
    eventId = await record();
    ({ id: endpointId } = await buildEndpoint(scene.club.id, publicUrl));
  });
  const record = async () => {
    const { db } = await testDeps();
    const fact = factAbout(scene.subscription, 'student.updated', clock.now());
    await fanOut(db, fact, clock.now());
    return fact.id;
  };
  const replay = (id = eventId, body: object = { endpoint_id: endpointId }): Promise<Answer> =>
    call('POST', `/v1/clubs/${scene.club.id}/events/${id}/replay`, { token: scene.club.owner.token, body });
  /** Asserts that a refusal writes no row, except for the limit of writes. */
  const expectRefused = async (code: Parameters<typeof expectError>[1], id?: Id, body?: object) => {
    const before = await rowCounts();
    expectError(await replay(id, body), code);
    expect({ ...(await rowCounts()), rate_limits: 0 }).to.deep.equal({ ...before, rate_limits: 0 });
  };

  it('creates a delivery for an endpoint that did not get the event, and wakes the delivery’s run', async () => {
    let answer: Answer | undefined;
    const wakes = await wakesBy(scene.club.id, async () => (answer = await replay()));
    expect(answer?.status).to.equal(202);
    const row = await deliveryOf(eventId, endpointId);
    const { createdAt } = await eventRow(eventId);
    expect(answer?.body.data).to.deep.include({ id: row?.id, event_id: eventId, status: 'pending', attempt_count: 0 });
    expect(wakes).to.deep.equal([deliveryRun(answer?.body.data)]);
    expect(row).to.deep.include({
      studentId: scene.subscription.studentId,
      requested: null,
      schedulePosition: 0,
      parkedAt: null,
      createdAt,
    });
    const { body } = await scene.webhooks.delivery(endpointId, row?.id ?? '');
    expect(body.data.body).to.deep.equal(JSON.parse((await eventRow(eventId)).body ?? ''));
  });

  it('requests one manual attempt of a delivery that the endpoint has', async () => {
    const own = await deliveryOf(eventId, scene.endpoint.id);
    await alter('webhook_deliveries', own?.id ?? '', { status: 'failed', completed_at: new Date() });
    const { body, status } = await replay(eventId, { endpoint_id: scene.endpoint.id });
    expect(status).to.equal(202);
    expect(body.data).to.include({ id: own?.id, status: 'failed' });
    expect(await deliveryOf(eventId, scene.endpoint.id)).to.include({ requested: 'manual' });
  });

  it('creates one delivery for two calls at the same time', async () => {
    const answers = await Promise.all([replay(), replay()]);
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(1);
    expect((await scene.webhooks.deliveries(endpointId)).body.total).to.equal(1);
  });

  it('returns 404 for an unknown event, a test message, and records of another club', async () => {
    const other = await buildSubscription(publicUrl);
    const { db } = await testDeps();
    const foreign = factAbout(other, 'student.updated');
    await fanOut(db, foreign, new Date());
    const test = (await scene.webhooks.sendTest(endpointId)).body.data.event_id;
    await eachCase([newId(), foreign.id, test], (id) => expectRefused('not_found', id));
    await eachCase([newId(), other.endpoint.id], (id) => expectRefused('not_found', eventId, { endpoint_id: id }));
    await scene.webhooks.remove(endpointId);
    await expectRefused('not_found');
  });

  for (const operation of ['pause', 'disable'] as const)
    it(`returns 409 endpoint_not_enabled after ${operation}`, async () => {
      await scene.webhooks[operation](endpointId);
      await expectRefused('endpoint_not_enabled');
    });

  it('returns 409 event_type_not_subscribed for an endpoint that does not ask for the type', async () => {
    const { id } = await buildEndpoint(scene.club.id, publicUrl, ['student.created']);
    await expectRefused('event_type_not_subscribed', eventId, { endpoint_id: id });
  });

  it('returns 409 payload_purged after the removal of the student, and 30 days after the event', async () => {
    const path = `/v1/clubs/${scene.club.id}/students/${scene.subscription.studentId}`;
    await call('DELETE', path, { token: scene.club.owner.token });
    await expectRefused('payload_purged');
    scene.subscription.studentId = (await buildStudent(scene.club.id)).id;
    eventId = await record();
    clock.advance(30 * day);
    const { token } = await buildApiKey(scene.club.id, ['events:write'], {
      expiresAt: new Date(Date.now() + 60 * day),
    });
    const answer = await call('POST', `/v1/clubs/${scene.club.id}/events/${eventId}/replay`, {
      token,
      body: { endpoint_id: endpointId },
    });
    expectError(answer, 'payload_purged');
  });

  it('waits for a removal of the student, and then returns 409 payload_purged', async () => {
    let late: Promise<Answer> | undefined;
    const removal = async (tx: Transaction) => {
      await tx.run(sql`SELECT FROM students WHERE id = ${scene.subscription.studentId} FOR UPDATE`);
      await tx.run(sql`DELETE FROM webhook_bodies WHERE event_id = ${eventId}`);
    };
    await withOpenTransaction(removal, async () => {
      late = replay();
      await untilWaitingForLocks(1);
    });
    if (!late) throw new Error('No replay was sent.');
    expectError(await late, 'payload_purged');
    expect(await deliveryOf(eventId, endpointId)).to.equal(null);
  });

  it('sends an event again after its only endpoint was deleted', async () => {
    await scene.webhooks.remove(scene.endpoint.id);
    expect((await replay()).status).to.equal(202);
  });
});
