import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import type { Claim } from '../../../../domain/webhooks/attempts/claims.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { recordFailure } from '../../../../domain/webhooks/attempts/record-failure.ts';
import { disableEndpoint, enableEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { fanOut } from '../../../../domain/webhooks/events/fan-out.ts';
import { gateRun, wakesBy } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildSubscription,
  buildWebhookDelivery,
  factAbout,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { accepted, claimed, refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const minute = 60_000;

/** Complements races-record.test.ts: which rows a record changes. */
describe('the record of a webhook attempt', () => {
  let deps: VaultDeps;
  let subscription: Subscription;
  let delivery: TestWebhookDelivery;
  let now: number;
  beforeEach(async () => {
    deps = await testDeps();
    now = Date.now();
    subscription = await buildSubscription('https://receiver.test/hook');
    delivery = await due();
  });

  const due = () => buildWebhookDelivery(subscription, new Date(now));
  const succeeds = (claim: Claim, answer = accepted, { id } = delivery) =>
    createSuccessWriter(deps.db)(id, claim, answer, new Date(now));
  const fails = (claim: Claim, answer = refused, { id } = delivery) =>
    recordFailure({ ...deps, random: () => 0.5 }, id, claim, answer, new Date(now));
  const endpointId = () => subscription.endpoint.id;
  const alterEndpoint = (columns: object) => alter('webhook_endpoints', endpointId(), { ...columns });
  const resend = () => resendDelivery(deps, subscription.clubId, endpointId(), delivery.id, new Date(now));
  const recover = () =>
    recoverDeliveries(deps, subscription.clubId, endpointId(), new Date(now - minute), new Date(now));
  const hasFailed = () =>
    alter('webhook_deliveries', delivery.id, {
      status: 'failed',
      completed_at: new Date(now),
      attempt_count: 8,
      schedule_position: 8,
    });
  const outcomesOf = async ({ id }: { id: string }) => (await attemptRows(id)).map(({ outcome }) => outcome);
  const isFailing = { consecutive_failures: 1, failing_since: new Date(0), enabled_at: new Date() };

  for (const { what, before, record, outcome } of [
    { what: 'a success', before: {}, record: succeeds, outcome: 'succeeded' },
    { what: 'a success at an endpoint with failures', before: isFailing, record: succeeds, outcome: 'succeeded' },
    { what: 'a failure', before: {}, record: fails, outcome: 'http_error' },
  ] as const) {
    it(`changes no other attempt in flight to the endpoint after ${what}`, async () => {
      if (Object.keys(before).length > 0) await alterEndpoint(before);
      const other = await due();
      await claimed(other, now);
      await record(await claimed(delivery, now));
      expect(await outcomesOf(delivery)).to.deep.equal([outcome]);
      expect(await outcomesOf(other)).to.deep.equal([null]);
    });
  }

  it('updates only the endpoint of the attempt after a success', async () => {
    const elsewhere = await buildSubscription('https://elsewhere.test/hook');
    await succeeds(await claimed(delivery, now));
    expect((await endpointRow(endpointId())).lastSuccessAt?.getTime()).to.equal(now);
    expect((await endpointRow(elsewhere.endpoint.id)).lastSuccessAt).to.equal(null);
  });

  for (const { outcome, record } of [
    { outcome: 'succeeded', record: succeeds },
    { outcome: 'http_error', record: fails },
  ] as const) {
    it(`stores no excerpt for student.removed, because the answer may quote the person (${outcome})`, async () => {
      const created = await fanOut(deps.db, factAbout(subscription, 'student.removed', new Date(now)), new Date(now));
      const removal = created.map(({ id }) => ({ ...delivery, id }));
      expect(removal).to.have.length(1);
      for (const one of removal) {
        const claim = await claimed(one, now);
        await record(claim, { ...accepted, outcome, responseExcerpt: 'Stella Student was told' }, one);
        expect((await attemptRows(one.id))[0]).to.include({ outcome, responseExcerpt: null });
      }
    });
  }

  describe('a late success without a claim', () => {
    let lostClaim: Claim;
    let current: Claim;
    beforeEach('begin another attempt', async () => {
      lostClaim = await claimed(delivery, now);
      await endLease(delivery.id);
      current = await claimed(delivery, now);
    });
    const everything = async () => ({
      delivery: await deliveryRow(delivery.id),
      attempts: await attemptRows(delivery.id),
      endpoint: await endpointRow(endpointId()),
    });

    it('changes nothing while the other attempt is in flight', async () => {
      const before = await everything();
      expect(await succeeds(lostClaim)).to.equal(false);
      expect(await everything()).to.deep.equal(before);
    });

    it('changes nothing after the other attempt has ended', async () => {
      await succeeds(current);
      await claimed(await due(), now);
      const before = await everything();
      now += minute;
      expect(await succeeds(lostClaim)).to.equal(false);
      expect(await everything()).to.deep.equal(before);
    });
  });

  describe('a resend or recovery during the attempt', () => {
    /** Another worker parks the delivery, because its lease has ended and its endpoint is paused. */
    const parkDelivery = async () => {
      await endLease(delivery.id);
      await alterEndpoint({ status: 'paused' });
      expect(await stepOf(delivery, accepted, now)).to.deep.include({ posted: 0 });
      expect((await deliveryRow(delivery.id)).parkedAt?.getTime()).to.equal(now);
    };

    it('is dropped if it is a recovery and the attempt succeeds', async () => {
      await hasFailed();
      await resend();
      const claim = await claimed(delivery, now);
      expect(await recover()).to.deep.equal({ recovered: 1 });
      expect(await succeeds(claim)).to.equal(true);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', requested: null, parkedAt: null });
    });

    it('is still made if it is a recovery and the eighth attempt fails', async () => {
      await alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 });
      const claim = await claimed(delivery, now);
      await disableEndpoint(deps, subscription.clubId, endpointId(), new Date(now));
      await enableEndpoint(deps, subscription.clubId, endpointId(), new Date(now));
      expect(await recover()).to.deep.equal({ recovered: 1 });
      await fails(claim);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', requested: 'recovery', attemptCount: 8 });
      await tendGate(deps, endpointId(), now);
      expect(await stepOf(delivery, accepted, now)).to.deep.equal({
        step: { done: true, outcome: 'succeeded' },
        posted: 1,
      });
    });

    it('stays parked if it is a resend and the attempt succeeds', async () => {
      const claim = await claimed(delivery, now);
      await resend();
      await parkDelivery();
      expect(await succeeds(claim)).to.equal(true);
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'succeeded', requested: 'manual' });
      expect(row.parkedAt?.getTime()).to.equal(now);
    });

    it('stays parked if it is a second resend and the first resend fails', async () => {
      await hasFailed();
      await resend();
      const claim = await claimed(delivery, now);
      await resend();
      await parkDelivery();
      await fails(claim);
      const row = await deliveryRow(delivery.id);
      expect(row).to.include({ status: 'failed', requested: 'manual' });
      expect(row.parkedAt?.getTime()).to.equal(now);
    });
  });

  it('keeps the status and the due time of a delivery after a failed resend', async () => {
    await hasFailed();
    await alter('webhook_deliveries', delivery.id, { attempt_count: 3, schedule_position: 3 });
    await resend();
    const before = await deliveryRow(delivery.id);
    await fails(await claimed(delivery, now));
    const { status, schedulePosition, nextAttemptAt, completedAt } = await deliveryRow(delivery.id);
    expect({ status, schedulePosition, nextAttemptAt, completedAt }).to.deep.equal({
      status: 'failed',
      schedulePosition: 3,
      nextAttemptAt: before.nextAttemptAt,
      completedAt: before.completedAt,
    });
  });

  it('does not count a failure against an endpoint that was disabled during the attempt', async () => {
    const claim = await claimed(delivery, now);
    await disableEndpoint(deps, subscription.clubId, endpointId(), new Date(now));
    await fails(claim);
    expect(await endpointRow(endpointId())).to.include({ consecutiveFailures: 0, failingSince: null });
    expect((await deliveryRow(delivery.id)).attemptCount).to.equal(1);
  });

  describe('the endpoint’s gate after a record (HOOK-5)', () => {
    const looksAt = () => new Date(now + 7 * minute);
    const hold = () => new Date(now + 9 * minute);
    const releasing = () => alterEndpoint({ gate_looks_at: looksAt(), release_page: 4 });
    /** The gate of the throttled endpoint has admitted this delivery as a probe. */
    const probing = async (admitted: { id: string }) =>
      alterEndpoint({
        ...isFailing,
        consecutive_failures: 6,
        breaker_step: 1,
        breaker_epoch: 1,
        hold_until: hold(),
        gate_looks_at: looksAt(),
        release_page: 4,
        admitted_delivery_id: admitted.id,
      });
    const gateAfter = async (record: () => Promise<unknown>) => {
      const wakes = await wakesBy(subscription.clubId, record);
      const { admittedDeliveryId: admitted, gateLooksAt, releasePage } = await endpointRow(endpointId());
      return { called: wakes.includes(gateRun(subscription.endpoint)), admitted, looksAt: gateLooksAt, releasePage };
    };
    const untouched = () => ({ called: false, admitted: null, looksAt: looksAt(), releasePage: 4 });

    it('stays unchanged after a failure that does not open the breaker', async () => {
      await releasing();
      const claim = await claimed(delivery, now);
      expect(await gateAfter(() => fails(claim))).to.deep.equal(untouched());
    });

    it('stays unchanged after a success at an endpoint that is not throttled', async () => {
      await releasing();
      await alterEndpoint(isFailing);
      const claim = await claimed(delivery, now);
      expect(await gateAfter(() => succeeds(claim))).to.deep.equal(untouched());
      expect(await endpointRow(endpointId())).to.include({ consecutiveFailures: 0, failingSince: null });
    });

    it('is woken by the failure that opens the breaker', async () => {
      await releasing();
      await alterEndpoint({ ...isFailing, consecutive_failures: 4 });
      const claim = await claimed(delivery, now);
      expect(await gateAfter(() => fails(claim))).to.deep.equal({
        called: true,
        admitted: null,
        looksAt: new Date(now + minute),
        releasePage: 0,
      });
    });

    it('keeps its admitted delivery if an attempt fails that began before the breaker opened', async () => {
      const claim = await claimed(delivery, now);
      const admitted = await due();
      await probing(admitted);
      expect(await gateAfter(() => fails(claim))).to.deep.equal({ ...untouched(), admitted: admitted.id });
    });

    it('admits no delivery after the admitted delivery has failed', async () => {
      await probing(delivery);
      const claim = await claimed(delivery, now);
      expect(await gateAfter(() => fails(claim))).to.deep.equal({
        called: true,
        admitted: null,
        looksAt: new Date(now + 2 * minute),
        releasePage: 0,
      });
    });

    it('is woken if an earlier attempt of the admitted delivery fails', async () => {
      const claim = await claimed(delivery, now);
      await probing(delivery);
      expect(await gateAfter(() => fails(claim))).to.deep.equal({ ...untouched(), called: true });
    });

    it('withdraws the admission of a delivery if a resend fails', async () => {
      await probing(await due());
      await resend();
      const claim = await claimed(delivery, now);
      expect(await gateAfter(() => fails(claim))).to.deep.equal({
        called: true,
        admitted: null,
        looksAt: new Date(now + 2 * minute),
        releasePage: 0,
      });
    });

    it('opens immediately after the success of any attempt', async () => {
      const claim = await claimed(delivery, now);
      await probing(await due());
      expect(await gateAfter(() => succeeds(claim))).to.deep.equal({
        called: true,
        admitted: null,
        looksAt: new Date(now),
        releasePage: 0,
      });
    });

    for (const { outcome, record } of [
      { outcome: 'success', record: succeeds },
      { outcome: 'failure', record: fails },
    ] as const) {
      it(`is woken by the ${outcome} of a recovery, to release the next recovery`, async () => {
        await hasFailed();
        await recover();
        await tendGate(deps, endpointId(), now);
        const claim = await claimed(delivery, now);
        expect(claim.trigger).to.equal('recovery');
        expect(await gateAfter(() => record(claim))).to.include({ called: true, admitted: null });
      });
    }
  });
});
