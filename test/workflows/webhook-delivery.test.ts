import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import type { Answer, ReceivedRequest } from '../../dev/clients/receiver.ts';
import { removeStudent } from '../../domain/students/students.ts';
import type { WebhookAttempt } from '../../entities/webhooks/webhook-attempt.ts';
import { testDeps, depsOn } from '../toolkit/stack/database.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { attemptRows, deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { until } from '../toolkit/drive/until.ts';
import {
  uncached,
  useSkippedEngine,
  type DeliveryHandle,
  type SkippedEngine,
} from '../toolkit/stack/skipped-engine.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** After attempts 1 to 7 (DEL-3). */
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
/** A step may be this late on a busy machine. Any two entries of `waits` differ by more. */
const engineMs = 10 * second;

describe('the workflow of a webhook delivery', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  /** The delivery is due now by the clock of the time-skipping server. The receiver gives these answers, and then 200. */
  const due = async (answers: readonly Answer[] = []) => {
    const { receiver, subscription } = await engine().endpoint((_, number) => answers[number - 1] ?? { status: 200 });
    const now = await engine().now();
    return { receiver, delivery: await buildWebhookDelivery(subscription, now), now };
  };
  const start: SkippedEngine['start'] = (delivery, options) => engine().start(delivery, options);
  const outcomeOf = async (...parameters: Parameters<typeof start>) => (await start(...parameters)).result();
  /** From the end of each attempt to the start of the next, in milliseconds. */
  const waitsBetween = (attempts: readonly WebhookAttempt[]) =>
    attempts.slice(1).map((next, index) => {
      const { startedAt, durationMs } = attempts[index] as WebhookAttempt;
      return next.startedAt.getTime() - startedAt.getTime() - (durationMs ?? Number.NaN);
    });
  const failures = (count: number): Answer[] => Array.from({ length: count }, () => ({ status: 500, body: 'no' }));

  describe('the schedule (DEL-3)', () => {
    const variations = [
      { jitter: 0, share: 0.9, what: 'shortened by 10 %' },
      { jitter: 0.5, share: 1, what: 'unchanged' },
      { jitter: 1 - Number.EPSILON, share: 1.1, what: 'lengthened by almost 10 %' },
    ];
    for (const { jitter, share, what } of variations) {
      it(`fails after eight attempts, with waits of 5 s to 10 h, ${what}`, async () => {
        engine().random = jitter;
        const { receiver, delivery, now } = await due(failures(9));
        expect(await outcomeOf(delivery)).to.equal('failed');

        const attempts = await attemptRows(delivery.id);
        expect(attempts.map(({ number, trigger, outcome }) => ({ number, trigger, outcome }))).to.deep.equal(
          [1, 2, 3, 4, 5, 6, 7, 8].map((number) => ({ number, trigger: 'schedule', outcome: 'http_error' })),
        );
        for (const [index, wait] of waitsBetween(attempts).entries()) {
          const expectedWait = Math.round((waits[index] ?? Number.NaN) * share);
          expect(wait, `after attempt ${index + 1}`).to.be.within(expectedWait, expectedWait + engineMs);
        }
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status: 'failed', attemptCount: 8, cancelReason: null, leaseUntil: null });
        expect(row.completedAt?.getTime()).to.be.within(now.getTime() + 24 * hour, now.getTime() + 31 * hour);
        expect(receiver.requests).to.have.length(8);
      });
    }

    it('takes about 27 hours for eight attempts', async () => {
      const { delivery } = await due(failures(8));
      await outcomeOf(delivery);
      const attempts = await attemptRows(delivery.id);
      const [first, last] = [attempts.at(0), attempts.at(-1)];
      expect(((last?.startedAt.getTime() ?? 0) - (first?.startedAt.getTime() ?? 0)) / hour).to.be.within(27, 28);
    });

    it('names the next attempt and its time in each timer', async () => {
      const { delivery } = await due(failures(8));
      const handle = await start(delivery);
      await handle.result();
      const { timers } = await summariesOf(handle);
      // After the fifth failure the delivery also waits at the gate.
      expect(timers.filter((name) => name !== "its turn at the endpoint's gate")).to.deep.equal([
        'attempt 2 of 8 in about 5 s',
        'attempt 3 of 8 in about 5 min',
        'attempt 4 of 8 in about 30 min',
        'attempt 5 of 8 in about 2 h',
        'attempt 6 of 8 in about 5 h',
        'attempt 7 of 8 in about 10 h',
        'attempt 8 of 8 in about 10 h',
      ]);
    });

    for (const attempt of [1, 2, 3, 4, 5, 6, 7, 8]) {
      it(`ends as soon as attempt ${attempt} succeeds`, async () => {
        const { receiver, delivery } = await due(failures(attempt - 1));
        expect(await outcomeOf(delivery)).to.equal('succeeded');
        expect(receiver.requests).to.have.length(attempt);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', attemptCount: attempt });
        expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 0, failingSince: null });
      });
    }
  });

  it('sends every attempt with the same id and body, and with a new valid signature', async () => {
    const { receiver, delivery } = await due(failures(8));
    const webhook = new Webhook(delivery.endpoint.secret);
    await outcomeOf(delivery);
    const [first] = receiver.requests;
    expect(receiver.requests).to.have.length(8);
    await eachCase(receiver.requests, (request) => {
      expect(request.headers['webhook-id']).to.equal(delivery.eventId);
      expect(request.body).to.deep.equal(first?.body);
      expect(webhook.verify(request.body, { ...request.headers })).to.have.property('id', delivery.eventId);
      expect(secondsOf(request)).to.be.within(-1, 0);
    });
    function secondsOf({ headers, receivedAt }: ReceivedRequest): number {
      return Number(headers['webhook-timestamp']) - Math.floor(receivedAt.getTime() / second);
    }
  });

  it('waits as long as Retry-After says, but at most 10 hours (DEL-2)', async () => {
    const answerWith = (status: number, seconds: number): Answer => ({
      status,
      headers: { 'retry-after': String(seconds) },
    });
    const { delivery } = await due([
      answerWith(429, 600), // 5 s become 10 min
      answerWith(503, 10), // 5 min stay
      answerWith(503, 100 * 3_600), // 30 min become 10 h
      answerWith(500, 36_000), // 2 h stay
      answerWith(404, 36_000), // 5 h stay
      answerWith(429, 36_001), // 10 h stay
    ]);
    expect(await outcomeOf(delivery)).to.equal('succeeded');
    const measured = waitsBetween(await attemptRows(delivery.id));
    const expectedWaits = [10 * minute, 5 * minute, 10 * hour, 2 * hour, 5 * hour, 10 * hour];
    expect(measured).to.have.length(expectedWaits.length);
    for (const [index, wait] of measured.entries()) {
      expect(wait, `after attempt ${index + 1}`).to.be.within(
        expectedWaits[index] ?? 0,
        (expectedWaits[index] ?? 0) + engineMs,
      );
    }
  });

  describe('a delivery of a paused endpoint', () => {
    it('expires after 30 days without a request', async () => {
      const { receiver, delivery, now } = await due();
      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
      expect(await outcomeOf(delivery)).to.equal('canceled');
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'canceled', cancelReason: 'expired', attemptCount: 0 });
      expect((row.completedAt?.getTime() ?? 0) - now.getTime()).to.be.within(30 * day, 30 * day + 2 * second);
      expect(receiver.requests).to.have.length(0);
    });

    it('expires after 30 days even after an attempt before the pause', async () => {
      const { receiver, delivery, now } = await due(failures(2));
      const handle = await start(delivery);
      await until(
        'the first attempt',
        { timeoutMs: 5_000 },
        async () => (await deliveryRow(delivery.id)).attemptCount === 1,
      );
      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
      expect(await handle.result()).to.equal('canceled');
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'canceled', cancelReason: 'expired', attemptCount: 1 });
      expect((row.completedAt?.getTime() ?? 0) - now.getTime()).to.be.within(30 * day, 30 * day + 2 * second);
      expect(receiver.requests).to.have.length(1);
    });

    it('waits at the gate until the endpoint is enabled again', async () => {
      const { receiver, delivery } = await due();
      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
      const handle = await start(delivery);
      await untilSteps(handle, 1);
      await handle.signal('lookAgain'); // a wake that changes nothing
      await untilSteps(handle, 2);
      expect(receiver.requests).to.have.length(0);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', attemptCount: 0 });

      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'enabled' });
      await handle.signal('lookAgain');
      await receiver.waitFor(1, 5 * second);
      expect(await handle.result()).to.equal('succeeded');
    });
  });

  it('ends without another request when the student is removed', async () => {
    const { receiver, delivery } = await due(failures(1));
    const handle = await start(delivery);
    await receiver.waitFor(1, 5 * second);
    await untilSteps(handle, 1);
    const { db } = await testDeps();
    await removeStudent(depsOn(db), delivery.clubId, delivery.studentId, new Date());
    await handle.signal('lookAgain');
    expect(await handle.result()).to.equal('canceled');
    expect(receiver.requests).to.have.length(1);
  });

  describe('with a first attempt as a local activity', () => {
    it('succeeds without an ordinary activity', async () => {
      const { receiver, delivery } = await due();
      const handle = await start(delivery, { local: true });
      expect(await handle.result()).to.equal('succeeded');
      expect(await eventTypesOf(handle)).not.to.include('ActivityTaskScheduled');
      expect(receiver.requests).to.have.length(1);
    });

    it('makes the later attempts as ordinary activities', async () => {
      const { delivery } = await due(failures(2));
      const handle = await start(delivery, { local: true });
      expect(await handle.result()).to.equal('succeeded');
      const attempts = await attemptRows(delivery.id);
      expect(attempts.map(({ number }) => number)).to.deep.equal([1, 2, 3]);
      const [first, next] = waitsBetween(attempts);
      expect(first).to.be.within(5 * second, 5 * second + engineMs);
      expect(next).to.be.within(5 * minute, 5 * minute + engineMs);
      expect((await eventTypesOf(handle)).filter((type) => type === 'ActivityTaskScheduled')).to.have.length(2);
    });
  });

  it('makes all attempts even if the worker has no cache', async () => {
    const { receiver, delivery } = await due(failures(3));
    expect(await outcomeOf(delivery, { taskQueue: uncached, local: true })).to.equal('succeeded');
    expect(receiver.requests).to.have.length(4);
    const attempts = await attemptRows(delivery.id);
    expect(attempts.map(({ number, fence }) => ({ number, fence }))).to.deep.equal(
      [1, 2, 3, 4].map((number) => ({ number, fence: number })),
    );
  });

  async function eventTypesOf(handle: DeliveryHandle): Promise<string[]> {
    const { events } = await handle.fetchHistory();
    return (events ?? []).map((event) => (event.attributes ?? '').replace('EventAttributes', '')).map(capitalized);
  }

  /** Counts only steps as ordinary activities. */
  async function untilSteps(handle: DeliveryHandle, count: number): Promise<void> {
    await until(`step ${count}`, { timeoutMs: 5 * second }, async () => {
      const types = await eventTypesOf(handle);
      return (
        types.filter((type) => type === 'ActivityTaskCompleted').length >= count && types.at(-1) === 'TimerStarted'
      );
    });
  }
});

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
