import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VaultDeps } from '../../domain/deps.ts';
import { disableEndpoint } from '../../domain/webhooks/queues/endpoint-states.ts';
import { recoverDeliveries, resendDelivery } from '../../domain/webhooks/deliveries/manual.ts';
import { sendTest } from '../../domain/webhooks/events/test-event.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { attemptRows, deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildWebhookDelivery, type Subscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { until } from '../toolkit/drive/until.ts';
import { attemptsAt, endOf, useSkippedEngine } from '../toolkit/stack/skipped-engine.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

describe('a requested attempt (test, resend, recovery)', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  /** The endpoint is throttled after 5 failures, and these 5 deliveries wait at the gate. Later requests get this status. */
  const throttled = async (status: () => number) => {
    const { receiver, subscription } = await engine().endpoint((_, number) => ({
      status: number <= 5 ? 500 : status(),
    }));
    const parked = await engine().deliverAll(subscription, 5);
    await engine().pass(6 * second);
    const { holdUntil, breakerStep } = await endpointRow(subscription.endpoint.id);
    expect(breakerStep).to.equal(1);
    return { receiver, subscription, parked, holdUntil: holdUntil?.getTime() ?? Number.NaN };
  };
  const recover = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => recoverDeliveries(deps, clubId, endpoint.id, new Date(now.getTime() - hour), now));
  const resend = ({ clubId, endpoint, id }: TestWebhookDelivery) =>
    engine().act((deps, now) => resendDelivery(deps, clubId, endpoint.id, id, now));
  /** The delivery still has its body. */
  const failed = async (subscription: Subscription) => {
    const now = await engine().now();
    const delivery = await buildWebhookDelivery(subscription, now);
    await alter('webhook_deliveries', delivery.id, {
      status: 'failed',
      completed_at: now,
      attempt_count: 8,
      schedule_position: 8,
    });
    return delivery;
  };

  describe('at a throttled endpoint (DEL-5)', () => {
    type Ask = (subscription: Subscription, earlier: TestWebhookDelivery) => Promise<string>;
    const asks: { what: string; trigger: string; ask: Ask }[] = [
      {
        what: 'a test',
        trigger: 'test',
        ask: async ({ clubId, endpoint }) =>
          (await engine().act((deps: VaultDeps, now) => sendTest(deps, clubId, endpoint.id, now))).id,
      },
      {
        what: 'a resend',
        trigger: 'manual',
        ask: async (_, earlier) => (await resend(earlier)).id,
      },
      {
        what: 'a recovery',
        trigger: 'recovery',
        ask: async (subscription, earlier) => {
          await recover(subscription);
          await until('its run', { timeoutMs: 5_000 }, async () => (await attemptRows(earlier.id)).length > 0);
          return earlier.id;
        },
      },
    ];
    for (const { what, trigger, ask } of asks) {
      it(`resets the circuit breaker if ${what} during the hold succeeds`, async () => {
        const { subscription, parked, holdUntil } = await throttled(() => 200);
        const id = await ask(subscription, await failed(subscription));
        expect(await engine().runOf({ id }).result()).to.equal('succeeded');
        const [attempt] = await attemptRows(id);
        expect(attempt).to.include({ trigger, outcome: 'succeeded' });
        expect(attempt && endOf(attempt)).to.be.below(holdUntil);
        expect(await engine().outcomesOf(parked)).to.deep.equal(parked.map(() => 'succeeded'));
        expect(await engine().gateOf(subscription).result()).to.equal('open');
        const [, , , , , , probe] = await attemptsAt(subscription.endpoint.id);
        expect(probe?.startedAt.getTime(), 'the parked deliveries are sent before the end of the hold').to.be.below(
          holdUntil,
        );
        expect(await endpointRow(subscription.endpoint.id)).to.deep.include({
          consecutiveFailures: 0,
          failingSince: null,
          holdUntil: null,
          breakerStep: 0,
        });
      });

      it(`trips the circuit breaker again if ${what} during the hold fails`, async () => {
        const { subscription, holdUntil } = await throttled(() => 503);
        const id = await ask(subscription, await failed(subscription));
        await until('its failure', { timeoutMs: 10_000 }, async () => (await attemptRows(id))[0]?.outcome);
        const [attempt] = await attemptRows(id);
        expect(attempt).to.include({ trigger, outcome: 'http_error' });
        expect(attempt && endOf(attempt)).to.be.below(holdUntil);
        const after = await until('the arming', { timeoutMs: 5_000 }, async () => {
          const row = await endpointRow(subscription.endpoint.id);
          return row.breakerStep === 2 && row;
        });
        expect((after.holdUntil?.getTime() ?? 0) - (attempt ? endOf(attempt) : 0)).to.be.within(
          2 * minute - 5,
          2 * minute + 500,
        );
        // Otherwise the five deliveries would continue to fail while later tests skip time.
        const { clubId, endpoint } = subscription;
        await engine().act((deps, now) => disableEndpoint(deps, clubId, endpoint.id, now));
      });
    }
  });

  describe('recovery', () => {
    it('sends at most 4 deliveries at a time', async () => {
      let open = 0;
      let most = 0;
      const four = Promise.withResolvers<void>();
      const { receiver, subscription } = await engine().endpoint(async () => {
        most = Math.max(most, ++open);
        if (most === 4) four.resolve();
        await four.promise;
        await sleep(150); // a fifth attempt would arrive during this time
        open--;
        return { status: 500 };
      });
      const deliveries: TestWebhookDelivery[] = [];
      while (deliveries.length < 14) deliveries.push(await failed(subscription));
      expect(await recover(subscription)).to.deep.equal({ recovered: 14 });
      await receiver.waitFor(14, 20 * second);
      expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'failed'));
      expect(most).to.equal(4);
      expect(receiver.requests).to.have.length(14);
      expect(await endpointRow(subscription.endpoint.id)).to.include({ consecutiveFailures: 14 });
      await eachCase(deliveries, async ({ id }) => {
        expect(await deliveryRow(id)).to.include({
          status: 'failed',
          attemptCount: 9,
          requested: null,
          inFlight: null,
        });
        expect((await attemptRows(id)).map(({ trigger }) => trigger)).to.deep.equal(['recovery']);
      });
    });

    it('succeeds, and then the workflow run of the gate ends', async () => {
      const { subscription } = await engine().endpoint();
      const deliveries = [await failed(subscription), await failed(subscription)];
      await recover(subscription);
      await until('both', { timeoutMs: 10_000 }, async () => {
        const rows = await Promise.all(deliveries.map(({ id }) => deliveryRow(id)));
        return rows.every(({ status }) => status === 'succeeded');
      });
      expect(await engine().outcomesOf(deliveries)).to.deep.equal(['succeeded', 'succeeded']);
      expect(await engine().gateOf(subscription).result()).to.equal('open');
    });
  });

  describe('a resend', () => {
    it('causes one manual attempt if requested during the eighth attempt', async () => {
      let delivery: TestWebhookDelivery | undefined;
      const { receiver, subscription } = await engine().endpoint(async (_, number) => {
        if (number === 8 && delivery) await resend(delivery);
        return { status: 500 };
      });
      delivery = await engine().deliver(subscription);
      expect(await engine().runOf(delivery).result()).to.equal('failed');
      const attempts = await attemptRows(delivery.id);
      expect(attempts.map(({ number, trigger }) => ({ number, trigger }))).to.deep.equal([
        ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => ({ number, trigger: 'schedule' })),
        { number: 9, trigger: 'manual' },
      ]);
      const [eighth, ninth] = attempts.slice(7);
      expect((ninth?.startedAt.getTime() ?? 0) - (eighth ? endOf(eighth) : 0)).to.be.within(0, 2 * second);
      expect(receiver.requests).to.have.length(9);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', attemptCount: 9, schedulePosition: 8 });
    });

    it('makes a pending delivery do its next attempt immediately', async () => {
      const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
      const delivery = await engine().deliver(subscription);
      await engine().pass(2 * minute);
      await until(
        'two attempts',
        { timeoutMs: 5_000 },
        async () => (await deliveryRow(delivery.id)).attemptCount === 2,
      );
      await resend(delivery);
      expect(await engine().runOf(delivery).result()).to.equal('failed');
      const attempts = await attemptRows(delivery.id);
      expect(attempts.map(({ trigger }) => trigger)).to.deep.equal([
        'schedule',
        'schedule',
        'manual',
        ...Array.from({ length: 5 }, () => 'schedule'),
      ]);
      expect(receiver.requests).to.have.length(8);
      const waits = attempts.slice(1).map((next, index) => {
        const before = attempts[index];
        return next.startedAt.getTime() - (before ? endOf(before) : Number.NaN);
      });
      expect(waits[1], 'made early').to.be.within(minute, 3 * minute);
      const expectedWaits = [30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];
      for (const [index, wait] of waits.slice(2).entries()) {
        expect(wait, `after attempt ${index + 3}`).to.be.within(
          expectedWaits[index] ?? 0,
          (expectedWaits[index] ?? 0) + 2 * second,
        );
      }
    });
  });
});
