import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, buildWebhookDelivery, factAbout, type Subscription } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const publicUrl = 'https://93.184.216.34/hooks/club';
/** Days of the last week, because deliveries older than 90 days are not shown. */
const dates = [6, 5, 4, 3].map((days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10));

interface Listed {
  id: string;
  status: string;
  event_type: string;
}

async function subscribe(club: TestClub): Promise<Subscription> {
  const { id: studentId } = await buildStudent(club.id);
  return { clubId: club.id, studentId, endpoint: await buildEndpoint(club.id, publicUrl) };
}

describe('GET /v1/clubs/{clubId}/webhook-endpoints/{endpointId}/deliveries', () => {
  let club: TestClub;
  let subscription: Subscription;
  beforeEach(async () => {
    club = await buildClub();
    subscription = await subscribe(club);
  });
  const list = (query: Record<string, string> = {}, endpointId = subscription.endpoint.id) =>
    call(
      'GET',
      `/v1/clubs/${club.id}/webhook-endpoints/${endpointId}/deliveries?${new URLSearchParams(query).toString()}`,
      {
        token: club.owner.token,
      },
    );

  describe('200', () => {
    it('returns an empty list for an endpoint without deliveries', async () => {
      expect((await list()).body).to.deep.equal({ data: [], total: 0 });
    });

    it('returns complete records of this endpoint’s deliveries only, newest first', async () => {
      const [older, newer] = [new Date(`${dates[0]}T10:00:00Z`), new Date(`${dates[0]}T11:00:00Z`)];
      const first = await buildWebhookDelivery(subscription, older);
      const second = await buildWebhookDelivery(subscription, newer);
      await alter('webhook_deliveries', first.id, {
        status: 'canceled',
        cancel_reason: 'expired',
        completed_at: newer,
        payload_purged_at: newer,
        attempt_count: 3,
      });
      await buildEndpoint(club.id, publicUrl);
      expect((await list()).body).to.deep.equal({
        data: [
          {
            id: second.id,
            event_id: second.eventId,
            event_type: 'student.updated',
            endpoint_id: subscription.endpoint.id,
            status: 'pending',
            payload_purged: false,
            attempt_count: 0,
            next_attempt_at: newer.toISOString(),
            created_at: newer.toISOString(),
          },
          {
            id: first.id,
            event_id: first.eventId,
            event_type: 'student.updated',
            endpoint_id: subscription.endpoint.id,
            status: 'canceled',
            cancel_reason: 'expired',
            payload_purged: true,
            attempt_count: 3,
            created_at: older.toISOString(),
            completed_at: newer.toISOString(),
          },
        ],
        total: 2,
      });
    });

    it('filters by status and by event type', async () => {
      const { db } = await testDeps();
      const idByStatus: Record<string, string> = {};
      for (const status of ['pending', 'succeeded', 'failed', 'canceled']) {
        idByStatus[status] = (await buildWebhookDelivery(subscription)).id;
        await alter('webhook_deliveries', idByStatus[status], { status });
      }
      const [created] = await fanOut(db, factAbout(subscription, 'student.created'), new Date());
      const found = async (query: Record<string, string>) => {
        const { body } = await list(query);
        expect(body.total).to.equal(body.data.length);
        return body.data.map(({ id }: Listed) => id);
      };
      await eachCase(['succeeded', 'failed', 'canceled'], async (status) =>
        expect(await found({ status })).to.deep.equal([idByStatus[status]]),
      );
      expect(await found({ status: 'pending' })).to.have.members([idByStatus['pending'], created?.id]);
      expect(await found({ event_type: 'student.created' })).to.deep.equal([created?.id]);
      expect(await found({ event_type: 'student.updated', status: 'pending' })).to.deep.equal([idByStatus['pending']]);
      expect(await found({ event_type: 'student.removed' })).to.deep.equal([]);
      expect(await found({ event_type: 'webhook.test' })).to.deep.equal([]);
    });

    it('filters by time to the millisecond, including `since` and excluding `until`', async () => {
      const at = (ms: number) => new Date(Date.parse(`${dates[0]}T10:00:00Z`) + ms);
      const times = [0, 1, 1_000, 3_600_000, 86_400_000].map(at);
      const ids: string[] = [];
      for (const time of times) ids.unshift((await buildWebhookDelivery(subscription, time)).id);
      const found = async (query: Record<string, string>) => {
        const { body } = await list(query);
        expect(body.total).to.equal(body.data.length);
        return body.data.map(({ id }: Listed) => ids.length - 1 - ids.indexOf(id)).toReversed();
      };
      const text = (ms: number) => at(ms).toISOString();
      expect(await found({ since: text(1) })).to.deep.equal([1, 2, 3, 4]);
      expect(await found({ since: text(2) })).to.deep.equal([2, 3, 4]);
      expect(await found({ until: text(1) })).to.deep.equal([0]);
      expect(await found({ until: text(2) })).to.deep.equal([0, 1]);
      expect(await found({ since: text(1), until: text(86_400_000) })).to.deep.equal([1, 2, 3]);
      expect(await found({ since: text(1), until: text(1) })).to.deep.equal([]);
      expect(await found({ since: text(1), until: text(2) })).to.deep.equal([1]);
      expect(
        await found({ since: `${dates[0]}T12:00:00.001+02:00`, until: `${dates[0]}T09:00:01-01:00` }),
      ).to.deep.equal([1]);
      // These bounds contain fractions of a millisecond.
      expect(await found({ since: `${dates[0]}T10:00:00.0005Z`, until: `${dates[0]}T10:00:00.9999Z` })).to.deep.equal([
        1,
      ]);
      expect(await found({ since: '1970-01-01T00:00:00Z', until: '2999-12-31T23:59:59Z' })).to.have.length(5);
    });

    it('combines all filters', async () => {
      const [early, late] = [new Date(`${dates[0]}T10:00:00Z`), new Date(`${dates[2]}T10:30:00Z`)];
      const { db } = await testDeps();
      const failed: string[] = [];
      for (const time of [early, late]) {
        await buildWebhookDelivery(subscription, time);
        for (const type of ['student.created', 'student.updated'] as const) {
          const [delivery] = await fanOut(db, factAbout(subscription, type, time), time);
          if (delivery) failed.push(delivery.id);
        }
      }
      for (const id of failed) await alter('webhook_deliveries', id, { status: 'failed' });
      const { body } = await list({
        status: 'failed',
        event_type: 'student.updated',
        since: `${dates[1]}T00:00:00Z`,
        until: `${dates[3]}T00:00:00Z`,
      });
      expect(body).to.have.property('total', 1);
      expect(body.data.map(({ id }: Listed) => id)).to.deep.equal([failed[3]]);
    });

    it('sorts the deliveries of one event type newest first, whatever their status', async () => {
      const ids: string[] = [];
      for (const [index, status] of ['failed', 'pending', 'succeeded', 'canceled', 'failed', 'succeeded'].entries()) {
        const { id } = await buildWebhookDelivery(subscription, new Date(Date.parse(`${dates[0]}T10:00:00Z`) + index));
        await alter('webhook_deliveries', id, { status });
        ids.unshift(id);
      }
      const query = { event_type: 'student.updated', page_size: '2' };
      const pages = [];
      for (const page of ['1', '2', '3', '4']) pages.push((await list({ ...query, page })).body);
      expect(pages.flatMap(({ data }) => data.map(({ id }: Listed) => id))).to.deep.equal(ids);
      expect(pages.map(({ total }) => total)).to.deep.equal([6, 6, 6, 6]);
    });

    it('returns the same pages while deliveries arrive, if `until` is in the past', async () => {
      const start = Date.parse(`${dates[0]}T10:00:00Z`);
      const ids: string[] = [];
      for (let index = 0; index < 6; index++)
        ids.unshift((await buildWebhookDelivery(subscription, new Date(start + index))).id);
      const until = new Date(start + 6).toISOString();
      const pages = [];
      for (const page of ['1', '2', '3']) {
        pages.push((await list({ until, page, page_size: '2' })).body);
        await buildWebhookDelivery(subscription, new Date(start + 6));
        await buildWebhookDelivery(subscription);
      }
      expect(pages.map(({ total }) => total)).to.deep.equal([6, 6, 6]);
      expect(pages.flatMap(({ data }) => data.map(({ id }: Listed) => id))).to.deep.equal(ids);
    });

    it('returns deliveries with equal times in a fixed order, so that each is on exactly one page', async () => {
      const now = new Date(`${dates[0]}T10:00:00Z`);
      for (let index = 0; index < 11; index++) await buildWebhookDelivery(subscription, now);
      const pages = [];
      for (const page of ['1', '2', '3']) pages.push((await list({ page, page_size: '5' })).body);
      expect(pages.map(({ data }) => data.length)).to.deep.equal([5, 5, 1]);
      expect(pages.map(({ total }) => total)).to.deep.equal([11, 11, 11]);
      expect(pages.flatMap(({ data }) => data)).to.deep.equal((await list()).body.data);
      expect(new Set(pages.flatMap(({ data }) => data.map(({ id }: Listed) => id))).size).to.equal(11);
    });
  });

  it('returns the same 404 text for an unknown endpoint and an endpoint of another club', async () => {
    const foreign = await buildEndpoint((await buildClub()).id, publicUrl);
    const answers = [await list({}, newId()), await list({}, foreign.id)];
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    expect(answers[0]?.text).to.equal(answers[1]?.text);
  });

  it('returns 422 with the field’s name if `until` is before `since` or a time is malformed', async () => {
    const since = `${dates[0]}T10:00:00.000Z`;
    const refusals: [Record<string, string>, string][] = [
      [{ since, until: `${dates[0]}T09:59:59.999Z` }, 'until'],
      [{ since, until: `${dates[0]}T11:59:59.999+02:00` }, 'until'],
      [{ since: 'yesterday' }, 'since'],
      [{ since: `${dates[0]}` }, 'since'],
      [{ since: '2026-02-30T00:00:00Z' }, 'since'],
      [{ until: '' }, 'until'],
      [{ until: '1772359200' }, 'until'],
      [{ until: '2016-12-31T23:59:60Z' }, 'until'],
    ];
    await eachCase(refusals, async ([query, field]) => {
      const answer = await list(query);
      expectError(answer, 'invalid_request');
      expect(answer.body.error.message).to.contain(field);
    });
  });

  it('returns 422 for an unknown status or event type, and 400 for an unknown or repeated parameter', async () => {
    await eachCase(
      [{ status: 'sent' }, { status: '' }, { event_type: '*' }, { event_type: 'student.*' }],
      async (query) => expectError(await list(query), 'invalid_request'),
    );
    expectError(await list({ student_id: newId() }), 'malformed_request');
    const path = `/v1/clubs/${club.id}/webhook-endpoints/${subscription.endpoint.id}/deliveries`;
    const twice = await call('GET', `${path}?status=failed&status=pending`, { token: club.owner.token });
    expectError(twice, 'malformed_request');
  });
});

describe('GET /v1/clubs/{clubId}/webhook-endpoints/{endpointId}/deliveries/{deliveryId}', () => {
  const read = (club: TestClub, endpointId: string, id: string) =>
    call('GET', `/v1/clubs/${club.id}/webhook-endpoints/${endpointId}/deliveries/${id}`, { token: club.owner.token });

  describe('200', () => {
    it('returns the complete record with its body and its finished attempts, oldest attempt first', async () => {
      const club = await buildClub();
      const subscription = await subscribe(club);
      const now = new Date(`${dates[0]}T10:00:00Z`);
      const delivery = await buildWebhookDelivery(subscription, now);
      const source = await testDatabase();
      await source.query(
        `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome, duration_ms, response_status, response_excerpt, retry_after_seconds, error_code)
         VALUES ($1, 2, 1, 'schedule', $2, 'http_error', 84, 503, 'try again', 5, NULL),
                ($1, 1, 1, 'schedule', $2, 'tls_error', 12, NULL, NULL, NULL, 'certificate_expired'),
                ($1, 3, 2, 'manual', $2, NULL, NULL, NULL, NULL, NULL, NULL)`,
        [delivery.id, now],
      );
      const student = (
        await call('GET', `/v1/clubs/${club.id}/students/${subscription.studentId}`, { token: club.owner.token })
      ).body.data;
      const started = now.toISOString();
      expect((await read(club, subscription.endpoint.id, delivery.id)).body.data).to.deep.equal({
        id: delivery.id,
        event_id: delivery.eventId,
        event_type: 'student.updated',
        endpoint_id: subscription.endpoint.id,
        status: 'pending',
        payload_purged: false,
        attempt_count: 0,
        next_attempt_at: started,
        created_at: started,
        attempts: [
          {
            number: 1,
            trigger: 'schedule',
            started_at: started,
            outcome: 'tls_error',
            duration_ms: 12,
            error_code: 'certificate_expired',
          },
          {
            number: 1,
            trigger: 'schedule',
            started_at: started,
            outcome: 'http_error',
            duration_ms: 84,
            response_status: 503,
            response_excerpt: 'try again',
            retry_after_seconds: 5,
          },
        ],
        body: {
          id: delivery.eventId,
          type: 'student.updated',
          occurred_at: started,
          club_id: club.id,
          data: {
            student: {
              id: student.id,
              name: student.name,
              email: student.email,
              verified: true,
              created_at: student.created_at,
            },
          },
        },
      });
    });
  });

  it('returns 404 for a delivery that is unknown or belongs to another club or endpoint', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const [own, sibling, foreign] = [await subscribe(club), await subscribe(club), await subscribe(other)];
    const delivery = await buildWebhookDelivery(own);
    const foreignDelivery = await buildWebhookDelivery(foreign);
    const paths: [string, string][] = [
      [own.endpoint.id, newId()],
      [own.endpoint.id, foreignDelivery.id],
      [sibling.endpoint.id, delivery.id],
      [foreign.endpoint.id, foreignDelivery.id],
      [newId(), delivery.id],
    ];
    await eachCase(paths, async ([endpointId, id]) => expectError(await read(club, endpointId, id), 'not_found'));
    expect((await read(club, own.endpoint.id, delivery.id)).status).to.equal(200);
  });
});
