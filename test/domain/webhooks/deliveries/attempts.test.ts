import type { Answer, Receiver } from '../../../../dev/clients/receiver.ts';
import { newId } from '../../../../platform/core/ids.ts';
import type { AttemptOutcome, FailureCause } from '../../../../entities/webhooks/values.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../../domain/webhooks/attempts/attempt.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';
import { attemptRows, deliveryRow, endpointRow, eventRow } from '../../../toolkit/assert/webhooks.ts';
import { buildSubscription, buildWebhookDelivery, type Subscription } from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { accepted, refused } from '../../../toolkit/drive/attempts.ts';
import { useStoppedClock } from '../../../toolkit/fakes/timers.ts';
import { selfSigned } from '../../../toolkit/fakes/tls-receiver.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** After attempts 1 to 7 (DEL-3). */
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

describe('a step of a webhook delivery', () => {
  const delivering = useDeliveries();

  const dueAt = async (...answers: readonly (Answer | Promise<Answer>)[]) => {
    const receiver = await delivering().receiver((_, number) => answers[number - 1] ?? { status: 200 });
    const delivery = await buildWebhookDelivery(await buildSubscription(`${receiver.url}/hook`));
    return { receiver, delivery };
  };
  const attempt = (delivery: { id: string }, changes: Partial<DeliveryDeps> = {}, now = Date.now()) =>
    attemptDelivery(delivering().deps(changes), delivery.id, now);

  describe('request', () => {
    it('posts the event’s body with the event id as webhook-id, signed', async () => {
      const { receiver, delivery } = await dueAt();
      await attempt(delivery);
      const [request] = receiver.requests;
      expect(request?.method).to.equal('POST');
      expect(request?.path).to.equal('/hook');
      expect(request?.body.toString()).to.equal((await eventRow(delivery.eventId)).body);
      expect(request?.headers).to.include({
        'webhook-id': delivery.eventId,
        'user-agent': 'club-learning-webhooks/1',
        'content-type': 'application/json',
      });
      expect(new Webhook(delivery.endpoint.secret).verify(request?.body ?? '', { ...request?.headers })).to.include({
        id: delivery.eventId,
        type: 'student.updated',
      });
    });

    it('carries two signatures until the previous secret expires, and then one signature', async () => {
      const { receiver, delivery } = await dueAt();
      const { vault } = await testDeps();
      const previous = newSecret();
      const now = Date.now();
      const endpointId = delivery.endpoint.id;
      await alter('webhook_endpoints', endpointId, {
        previous_secret: vault.seal(previous, endpointId),
        previous_secret_expires_at: new Date(now + 1),
      });
      await attempt(delivery, {}, now);
      await attempt(await buildWebhookDelivery(delivery, new Date(now + 1)), {}, now + 1);

      const [within, after] = receiver.requests;
      expect(within?.headers['webhook-signature']).to.match(/^v1,\S+ v1,\S+$/);
      for (const secret of [delivery.endpoint.secret, previous]) {
        new Webhook(secret).verify(within?.body ?? '', { ...within?.headers });
      }
      expect(after?.headers['webhook-signature']).to.match(/^v1,\S+$/);
      new Webhook(delivery.endpoint.secret).verify(after?.body ?? '', { ...after?.headers });
    });
  });

  it('reports endpoint, host, outcome and duration of each posted attempt', async () => {
    const delivery = await buildWebhookDelivery(await buildSubscription('https://receiver.test:8443/hook'));
    const answers = [refused, { ...accepted, durationMs: 7 }];
    const reports: Parameters<DeliveryDeps['onAttempt']>[0][] = [];
    const post = async () => answers.shift() ?? accepted;
    for (const at of [Date.now(), Date.now() + minute])
      await attempt(delivery, { post, onAttempt: (report) => reports.push(report) }, at);
    const of = { endpointId: delivery.endpoint.id, host: 'receiver.test:8443' };
    expect(reports).to.deep.equal([
      { ...of, outcome: 'http_error', durationMs: 1 },
      { ...of, outcome: 'succeeded', durationMs: 7 },
    ]);
  });

  describe('the status of an answer (DEL-1)', () => {
    useStoppedClock();
    let subscription: Subscription;
    let receiver: Receiver;
    let answer: Answer;
    beforeEach(async () => {
      receiver = await delivering().receiver(() => answer);
      subscription = await buildSubscription(`${receiver.url}/hook`);
    });

    for (const status of [200, 201, 202, 203, 204, 205, 206, 226, 299]) {
      it(`records ${status} as succeeded`, async () => {
        answer = { status };
        const now = Date.now();
        const delivery = await buildWebhookDelivery(subscription, new Date(now));
        expect(await attempt(delivery, {}, now)).to.deep.equal({ done: true, outcome: 'succeeded' });
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status: 'succeeded', attemptCount: 1, leaseUntil: null, cancelReason: null });
        expect(row.completedAt?.getTime()).to.equal(now);
        const [recorded] = await attemptRows(delivery.id);
        expect(recorded).to.include({
          number: 1,
          fence: 1,
          trigger: 'schedule',
          outcome: 'succeeded',
          responseStatus: status,
          retryAfterSeconds: null,
        });
        expect(recorded?.startedAt.getTime()).to.equal(now);
      });
    }

    for (const status of [
      300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 418, 422, 429, 451, 500, 501, 502, 503, 504, 599,
    ]) {
      it(`records ${status} as http_error, and plans a retry${status < 400 ? ' without following the redirect' : ''}`, async () => {
        answer = { status, headers: { location: `${receiver.url}/elsewhere` }, ...(status !== 304 && { body: 'no' }) };
        const delivery = await buildWebhookDelivery(subscription);
        expect(await attempt(delivery)).to.include({ done: false, waitingFor: 'attempt', attempt: 2 });
        expect(await deliveryRow(delivery.id)).to.include({
          status: 'pending',
          attemptCount: 1,
          leaseUntil: null,
          completedAt: null,
        });
        const [recorded] = await attemptRows(delivery.id);
        expect(recorded).to.include({
          outcome: 'http_error',
          responseStatus: status,
          responseExcerpt: status === 304 ? null : 'no',
        });
        expect(receiver.requests.map(({ path }) => path)).to.deep.equal(['/hook']);
      });
    }

    const noResponse: { what: string; url?: string; answer?: Answer; outcome: AttemptOutcome; cause: FailureCause }[] =
      [
        { what: 'an answer that never arrives', answer: 'hang', outcome: 'timeout', cause: 'response_timeout' },
        { what: 'a connection that is cut', answer: 'drop', outcome: 'connection_error', cause: 'connection_closed' },
        {
          what: 'a port without a listener',
          url: 'https://127.0.0.1:9/hook',
          outcome: 'connection_error',
          cause: 'connection_refused',
        },
        {
          what: 'an unknown host name',
          url: 'https://receiver.invalid/hook',
          outcome: 'dns_error',
          cause: 'name_not_found',
        },
        {
          what: 'an address of a private network',
          url: 'https://10.0.0.1/hook',
          outcome: 'address_refused',
          cause: 'address_refused',
        },
      ];
    for (const { what, url, answer: receiverAnswer = 'drop', outcome, cause } of noResponse) {
      it(`records ${what} as ${outcome} (${cause}), and plans another attempt`, async () => {
        answer = receiverAnswer;
        if (url !== undefined) await alter('webhook_endpoints', subscription.endpoint.id, { url });
        const delivery = await buildWebhookDelivery(subscription);
        expect(await attempt(delivery)).to.include({ done: false, waitingFor: 'attempt', attempt: 2 });
        expect((await attemptRows(delivery.id))[0]).to.include({
          outcome,
          errorCode: cause,
          responseStatus: null,
          responseExcerpt: null,
        });
      });
    }

    it('records an untrusted certificate as tls_error, without sending a request', async () => {
      const impostor = await delivering().receiver(undefined, { certificate: await selfSigned('127.0.0.1') });
      const delivery = await buildWebhookDelivery(await buildSubscription(impostor.url));
      await attempt(delivery);
      expect((await attemptRows(delivery.id))[0]).to.include({
        outcome: 'tls_error',
        errorCode: 'certificate_untrusted',
      });
      expect(impostor.requests).to.have.length(0);
    });
  });

  describe('the wait for the next attempt (DEL-2, DEL-3)', () => {
    useStoppedClock();
    const waitAfter = async (number: number, answer: Answer, random = 0.5): Promise<number> => {
      const { delivery } = await dueAt(answer);
      await alter('webhook_deliveries', delivery.id, { attempt_count: number - 1, schedule_position: number - 1 });
      const now = Date.now();
      const step = await attempt(delivery, { random: () => random }, now);
      const { nextAttemptAt } = await deliveryRow(delivery.id);
      expect(step).to.deep.equal({
        done: false,
        waitingFor: 'attempt',
        attempt: number + 1,
        at: nextAttemptAt.getTime(),
      });
      const [recorded] = await attemptRows(delivery.id);
      expect(recorded?.durationMs).to.equal(0); // the clock is stopped
      return nextAttemptAt.getTime() - now;
    };

    for (const [index, wait] of waits.entries()) {
      it(`is ${wait / second} s after attempt ${index + 1}, plus or minus 10 % jitter`, async () => {
        const ends = await Promise.all(
          [0, 0.5, 1 - Number.EPSILON].map((random) => waitAfter(index + 1, { status: 500 }, random)),
        );
        for (const [end, share] of [0.9, 1, 1.1].entries()) {
          expect(ends[end], `${share} of the wait`).to.equal(Math.round(wait * share));
        }
      });
    }

    it('does not exist after the eighth failure, which ends the delivery', async () => {
      const { receiver, delivery } = await dueAt({ status: 500 });
      await alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 });
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'failed', attemptCount: 8, cancelReason: null });
      expect(row.completedAt).to.be.an.instanceOf(Date);
      expect(await attempt(delivery, {}, Date.now() + 10 * hour)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(receiver.requests).to.have.length(1);
    });

    const retryAfters: {
      answer: string;
      attempt: number;
      status: number;
      header: string;
      waitMs: number;
      storedSeconds: number | null;
    }[] = [
      {
        answer: '429 lengthens the wait',
        attempt: 1,
        status: 429,
        header: '600',
        waitMs: 10 * minute,
        storedSeconds: 600,
      },
      { answer: '503 lengthens the wait', attempt: 2, status: 503, header: '3600', waitMs: hour, storedSeconds: 3_600 },
      {
        answer: 'a shorter value does not shorten the wait',
        attempt: 4,
        status: 429,
        header: '10',
        waitMs: 2 * hour,
        storedSeconds: 10,
      },
      {
        answer: 'zero does not shorten the wait',
        attempt: 1,
        status: 503,
        header: '0',
        waitMs: 5 * second,
        storedSeconds: 0,
      },
      {
        answer: 'more than 10 hours counts as 10 hours',
        attempt: 1,
        status: 503,
        header: '36001',
        waitMs: 10 * hour,
        storedSeconds: 36_000,
      },
      { answer: '500 ignores it', attempt: 1, status: 500, header: '600', waitMs: 5 * second, storedSeconds: null },
      { answer: '404 ignores it', attempt: 1, status: 404, header: '600', waitMs: 5 * second, storedSeconds: null },
      { answer: '301 ignores it', attempt: 1, status: 301, header: '600', waitMs: 5 * second, storedSeconds: null },
      {
        answer: 'an invalid value is ignored',
        attempt: 1,
        status: 429,
        header: 'soon',
        waitMs: 5 * second,
        storedSeconds: null,
      },
    ];
    for (const { answer, attempt: number, status, header, waitMs, storedSeconds } of retryAfters) {
      it(`follows Retry-After: ${answer}`, async () => {
        const { delivery } = await dueAt({ status, headers: { 'retry-after': header } });
        await alter('webhook_deliveries', delivery.id, { attempt_count: number - 1, schedule_position: number - 1 });
        const now = Date.now();
        await attempt(delivery, {}, now);
        const { nextAttemptAt } = await deliveryRow(delivery.id);
        expect(nextAttemptAt.getTime() - now).to.equal(waitMs);
        expect((await attemptRows(delivery.id))[0]?.retryAfterSeconds).to.equal(storedSeconds);
      });
    }

    it('follows a Retry-After with an HTTP date', async () => {
      const date = new Date(Date.now() + 20 * minute).toUTCString(); // in whole seconds
      const { delivery } = await dueAt({ status: 429, headers: { 'retry-after': date } });
      await attempt(delivery);
      const wait = Math.ceil((Date.parse(date) - Date.now()) / second) * second;
      expect((await deliveryRow(delivery.id)).nextAttemptAt.getTime() - Date.now()).to.equal(wait);
    });
  });

  describe('a step without an attempt', () => {
    it('returns the due time before the delivery is due', async () => {
      const { receiver, delivery } = await dueAt();
      const at = (await deliveryRow(delivery.id)).nextAttemptAt.getTime();
      expect(await attempt(delivery, {}, at - 1)).to.deep.equal({ done: false, waitingFor: 'attempt', attempt: 1, at });
      expect(receiver.requests).to.have.length(0);
      expect(await attempt(delivery, {}, at)).to.deep.equal({ done: true, outcome: 'succeeded' });
    });

    for (const status of ['paused', 'disabled']) {
      it(`parks a due delivery until the end of its 30 days if the endpoint is ${status}`, async () => {
        const { receiver, delivery } = await dueAt();
        await alter('webhook_endpoints', delivery.endpoint.id, { status });
        const { createdAt } = await deliveryRow(delivery.id);
        expect(await attempt(delivery)).to.deep.equal({
          done: false,
          waitingFor: 'endpoint',
          attempt: 1,
          at: createdAt.getTime() + 30 * day,
        });
        expect(receiver.requests).to.have.length(0);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', fence: 0, leaseUntil: null });
      });
    }

    it('cancels a delivery as expired after exactly 30 days', async () => {
      const { receiver, delivery } = await dueAt();
      const created = (await deliveryRow(delivery.id)).createdAt.getTime();
      const another = await buildWebhookDelivery(delivery, new Date(created));
      expect(await attempt(delivery, {}, created + 30 * day)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(receiver.requests).to.have.length(0);
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'canceled', cancelReason: 'expired', attemptCount: 0 });
      expect(row.completedAt?.getTime()).to.equal(created + 30 * day);
      expect(await attempt(another, {}, created + 30 * day - 1)).to.deep.equal({ done: true, outcome: 'succeeded' });
    });

    it('waits for the expiry if the next attempt is due after the expiry', async () => {
      const { delivery } = await dueAt({ status: 500 });
      const created = (await deliveryRow(delivery.id)).createdAt.getTime();
      await alter('webhook_deliveries', delivery.id, { attempt_count: 6, schedule_position: 6 });
      expect(await attempt(delivery, {}, created + 30 * day - hour)).to.include({ at: created + 30 * day });
    });

    for (const outcome of ['succeeded', 'failed', 'canceled'] as const) {
      it(`returns ${outcome} for a delivery with this status`, async () => {
        const { receiver, delivery } = await dueAt();
        await alter('webhook_deliveries', delivery.id, { status: outcome });
        expect(await attempt(delivery)).to.deep.equal({ done: true, outcome });
        expect(receiver.requests).to.have.length(0);
      });
    }

    it('returns canceled for a delivery whose row was deleted', async () => {
      expect(await attempt({ id: newId() })).to.deep.equal({ done: true, outcome: 'canceled' });
    });
  });

  describe('the state of the endpoint', () => {
    useStoppedClock();
    it('counts each failure, and stores the time of the first failure as failing_since', async () => {
      const { delivery } = await dueAt({ status: 500 }, { status: 404 }, { status: 503 });
      const now = Date.now();
      await attempt(delivery, {}, now);
      const first = await endpointRow(delivery.endpoint.id);
      expect(first).to.include({ consecutiveFailures: 1, lastSuccessAt: null });
      expect(first.failingSince?.getTime()).to.equal(now);
      await attempt(delivery, {}, now + hour);
      await attempt(delivery, {}, now + 2 * hour);
      const third = await endpointRow(delivery.endpoint.id);
      expect(third.consecutiveFailures).to.equal(3);
      expect(third.failingSince).to.deep.equal(first.failingSince);
    });

    it('is reset by any 2xx answer', async () => {
      const { delivery } = await dueAt({ status: 500 }, { status: 204 });
      const now = Date.now();
      await attempt(delivery, {}, now);
      await alter('webhook_endpoints', delivery.endpoint.id, { hold_until: new Date(now + hour) });
      await attempt(delivery, {}, now + minute);
      const row = await endpointRow(delivery.endpoint.id);
      expect(row).to.include({ consecutiveFailures: 0, failingSince: null, holdUntil: null });
      expect(row.lastSuccessAt?.getTime()).to.equal(now + minute);
    });

    it('counts eight concurrent failures', async () => {
      const { receiver, delivery } = await dueAt(...Array.from({ length: 8 }, () => ({ status: 500, delayMs: 50 })));
      const others = await Promise.all(Array.from({ length: 7 }, () => buildWebhookDelivery(delivery)));
      await Promise.all([delivery, ...others].map((each) => attempt(each)));
      expect(receiver.requests).to.have.length(8);
      expect((await endpointRow(delivery.endpoint.id)).consecutiveFailures).to.equal(8);
    });

    it('updates last_success_at of a healthy endpoint at most every 5 seconds', async () => {
      const { delivery } = await dueAt();
      const now = Date.now();
      const successAt = async (at: number) => {
        await attempt(await buildWebhookDelivery(delivery, new Date(at)), {}, at);
        return (await endpointRow(delivery.endpoint.id)).lastSuccessAt?.getTime() ?? 0;
      };
      const first = await successAt(now);
      expect(first).to.equal(now);
      expect(await successAt(now + 5 * second)).to.equal(first);
      expect(await successAt(now + 5 * second + 1)).to.equal(now + 5 * second + 1);
    });
  });
});
