import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { attemptDelivery, type DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import { resendDelivery } from '../../domain/webhooks/deliveries/manual.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { createAttemptPermits, permitsPerHost, permitsPerEndpoint } from '../../worker/lanes/attempt-permits.ts';
import { createKeyedPermits } from '../../worker/lanes/keyed-permits.ts';
import { attemptRows, deliveryRow } from '../toolkit/assert/webhooks.ts';
import {
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
  type TestWebhookDelivery,
} from '../toolkit/builders/webhooks.ts';
import { accepted, answering, claimed, refused, stepOf } from '../toolkit/drive/attempts.ts';
import { endLease } from '../toolkit/drive/deliveries.ts';
import { until } from '../toolkit/drive/until.ts';
import { fakePermits } from '../toolkit/fakes/attempt-permits.ts';
import { depsOn, testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;

describe('attempt permits (HOOK-16, HOOK-17)', () => {
  it('postpone attempts by at most 5 minutes, depending on the receiver’s speed', () => {
    const permits = createKeyedPermits(permitsPerEndpoint, () => 0);
    permits.report('endpoint', 800);
    expect([1, 2, 3].map(() => permits.retryAt('endpoint', 0))).to.deep.equal([900, 1_000, 1_100]);
    expect(permits.retryAt('unknown', 0)).to.equal(15_000 + 15_000 / 8);
    permits.report('slow', 14_000);
    const times = Array.from({ length: 500 }, () => permits.retryAt('slow', 0));
    expect(Math.max(...times)).to.be.within(2.5 * minute, 5 * minute);
  });

  it('allow 8 attempts for an endpoint and 64 for a host', () => {
    expect({ permitsPerEndpoint, permitsPerHost }).to.deep.equal({ permitsPerEndpoint: 8, permitsPerHost: 64 });
  });
});

describe('a worker that limits concurrent attempts', () => {
  let posted: string[];
  let hang: PromiseWithResolvers<void>;
  let deps: DeliveryDeps;
  /** Receivers at hosts `hung…` answer after `hang` is resolved, and all others immediately. */
  beforeEach(async () => {
    posted = [];
    hang = Promise.withResolvers();
    deps = await answering(async ({ url }) => {
      posted.push(new URL(url).host);
      if (new URL(url).host.startsWith('hung')) await hang.promise;
      return accepted;
    });
  });
  const attempt = ({ id }: { id: string }) => attemptDelivery(deps, id, Date.now());
  const deliveriesTo = async (subscription: Subscription, count: number) => {
    const deliveries: TestWebhookDelivery[] = [];
    while (deliveries.length < count) deliveries.push(await buildWebhookDelivery(subscription));
    return deliveries;
  };
  const succeeded = { done: true, outcome: 'succeeded' };

  /** Nothing was recorded, and the attempt was postponed by more than 10 s. */
  async function expectPutOff(delivery: TestWebhookDelivery, step: Awaited<ReturnType<typeof attempt>>): Promise<void> {
    const row = await deliveryRow(delivery.id);
    expect(step).to.deep.equal({ done: false, waitingFor: 'attempt', attempt: 1, at: row.nextAttemptAt.getTime() });
    expect(row).to.include({ status: 'pending', attemptCount: 0, leaseUntil: null, parkedAt: null });
    expect(row.nextAttemptAt.getTime() - Date.now()).to.be.greaterThan(10 * second);
    expect(await attemptRows(delivery.id)).to.deep.equal([]);
  }

  it('postpones attempts above the limit of an endpoint (HOOK-16)', async () => {
    const { permits, onAttempt } = createAttemptPermits({ perEndpoint: 2, perHost: 9 });
    deps = { ...deps, permits, onAttempt };
    const deliveries = await deliveriesTo(await buildSubscription('https://hung-endpoint.example/'), 3);
    const [healthy] = await deliveriesTo(await buildSubscription('https://healthy.example/'), 1);
    const steps = deliveries.map(attempt);
    const first = await Promise.race(steps.map((step, index) => step.then((result) => ({ result, index }))));
    await expectPutOff(deliveries[first.index] as TestWebhookDelivery, first.result);
    expect(await attempt(healthy as TestWebhookDelivery)).to.deep.equal(succeeded);
    hang.resolve();
    expect((await Promise.all(steps)).filter(({ done }) => done)).to.deep.equal([succeeded, succeeded]);
    expect(posted.toSorted()).to.deep.equal(['healthy.example', 'hung-endpoint.example', 'hung-endpoint.example']);
    // The postponed attempt is due now, and permits are free.
    expect(
      await attemptDelivery(deps, deliveries[first.index]?.id ?? '', 'at' in first.result ? first.result.at : 0),
    ).to.deep.equal(succeeded);
  });

  it('postpones attempts of all clubs above the limit of a host (HOOK-17)', async () => {
    const { permits, onAttempt } = createAttemptPermits({ perEndpoint: 8, perHost: 2 });
    deps = { ...deps, permits, onAttempt };
    const deliveries: TestWebhookDelivery[] = [];
    for (const path of ['a', 'b', 'c'])
      deliveries.push(...(await deliveriesTo(await buildSubscription(`https://hung-host.example/${path}`), 1)));
    const [otherPort] = await deliveriesTo(await buildSubscription('https://healthy.example:8443/'), 1);
    const steps = deliveries.map(attempt);
    const first = await Promise.race(steps.map((step, index) => step.then((result) => ({ result, index }))));
    await expectPutOff(deliveries[first.index] as TestWebhookDelivery, first.result);
    expect(await attempt(otherPort as TestWebhookDelivery)).to.deep.equal(succeeded);
    hang.resolve();
    await Promise.all(steps);
    expect(posted.filter((host) => host === 'hung-host.example')).to.have.length(2);
  });

  describe('in a step without a permit', () => {
    const full = (retryAt: number): DeliveryDeps['permits'] => ({
      ...fakePermits,
      acquire: ({ isManual }) => (isManual ? undefined : retryAt),
    });
    const outcomesOf = async ({ id }: { id: string }) =>
      (await attemptRows(id)).map(({ number, fence, outcome }) => ({ number, fence, outcome }));
    let one: TestWebhookDelivery;
    let other: TestWebhookDelivery;
    let now: number;
    beforeEach(async () => {
      const deliveries = await deliveriesTo(await buildSubscription('https://receiver.example/'), 2);
      [one, other] = deliveries as [TestWebhookDelivery, TestWebhookDelivery];
      now = Date.now();
    });

    it('keeps earlier attempts and attempts of other deliveries', async () => {
      for (const delivery of [one, other]) await stepOf(delivery, refused, now);
      const again = now + minute;
      await claimed(other, again);
      deps = { ...deps, permits: full(again + minute) };
      expect(await attemptDelivery(deps, one.id, again)).to.include({ waitingFor: 'attempt', at: again + minute });
      const failed = { number: 1, fence: 1, outcome: 'http_error' };
      expect(await outcomesOf(one)).to.deep.equal([failed]);
      expect(await outcomesOf(other)).to.deep.equal([failed, { number: 2, fence: 2, outcome: null }]);
    });

    it('does not end the lease of a second worker', async () => {
      const failpoint = async () => {
        await endLease(one.id);
        await claimed(one, now);
      };
      deps = { ...deps, permits: full(now + minute), failpoint };
      expect(await attemptDelivery(deps, one.id, now)).to.include({ done: false, waitingFor: 'lease' });
      expect(await outcomesOf(one)).to.deep.equal([
        { number: 1, fence: 1, outcome: 'interrupted' },
        { number: 1, fence: 2, outcome: null },
      ]);
    });

    it('makes the delivery due immediately if a resend was requested in the meantime', async () => {
      const failpoint = async () => {
        await resendDelivery(await testDeps(), one.clubId, one.endpoint.id, one.id, new Date(now));
      };
      deps = { ...deps, permits: full(now + minute), failpoint };
      const dueNow = { done: false, waitingFor: 'attempt', at: now, attempt: 1 };
      expect(await attemptDelivery(deps, one.id, now)).to.deep.equal(dueNow);
      const row = await deliveryRow(one.id);
      expect(row.nextAttemptAt.getTime(), 'the time of the next attempt').to.equal(now);
      expect(await attemptDelivery({ ...deps, failpoint: async () => {} }, one.id, now)).to.deep.equal(succeeded);
      expect((await attemptRows(one.id)).map(({ trigger }) => trigger)).to.deep.equal(['manual']);
    });

    it('cancels the delivery if its student was removed in the meantime', async () => {
      const failpoint = () => removeStudent(depsOn(deps.db), one.clubId, one.studentId, new Date(now));
      deps = { ...deps, permits: full(now + minute), failpoint };
      expect(await attemptDelivery(deps, one.id, now)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await outcomesOf(one)).to.deep.equal([]);
    });
  });

  it('makes fewer attempts while recording is slow (ENG-18)', () => {
    const { permits } = createAttemptPermits();
    const now = Date.now();
    const acquire = (isManual = false) =>
      permits.acquire({ deliveryId: newId(), endpointId: newId(), host: newId(), isManual }, now);
    const countAcquired = () =>
      Array.from({ length: 600 }, () => acquire()).filter((later) => later === undefined).length;
    permits.reportRecord(3);
    const quickly = Array.from({ length: 20 }, newId);
    for (const deliveryId of quickly)
      expect(permits.acquire({ deliveryId, endpointId: newId(), host: newId(), isManual: false }, now)).to.equal(
        undefined,
      );
    permits.reportRecord(second);
    expect(countAcquired(), 'besides twenty attempts, at one second for each record over four connections').to.equal(
      12,
    );
    const later = acquire();
    expect((later ?? 0) - now).to.be.within(8 * second, 16 * second);
    expect(acquire(true), 'a manual attempt').to.equal(undefined);
    for (const deliveryId of quickly) permits.release(deliveryId);
    expect(countAcquired()).to.equal(19);
    for (let records = 0; records < 40; records++) permits.reportRecord(3);
    expect(countAcquired(), 'Postgres is quick again').to.equal(600);
  });

  it('makes attempts that a person requests, even above both limits', async () => {
    const { permits, onAttempt } = createAttemptPermits({ perEndpoint: 1, perHost: 1 });
    deps = { ...deps, permits, onAttempt };
    const [one, other] = await deliveriesTo(await buildSubscription('https://hung-by-hand.example/'), 2);
    const { clubId, endpoint, id } = other as TestWebhookDelivery;
    await resendDelivery(await testDeps(), clubId, endpoint.id, id, new Date());
    const ordinary = attempt(one as TestWebhookDelivery); // this attempt starts first, because the manual attempt would use its permit
    await until('the ordinary attempt', { timeoutMs: 10_000 }, async () => posted.length === 1);
    const steps = [ordinary, attempt({ id })];
    await until('both attempts', { timeoutMs: 10_000 }, async () => posted.length === 2);
    hang.resolve();
    expect(await Promise.all(steps)).to.deep.equal([succeeded, succeeded]);
  });
});
