/** Tests the effects of an endpoint's state on its deliveries (STATE-1 to STATE-7). */
import { expect } from 'chai';
import type { Receiver } from '../../../../dev/clients/receiver.ts';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { deliveryRun, gateRun, wakesBy } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

const second = 1_000;
const minute = 60 * second;
const day = 1_440 * minute;

describe('the effect of an endpoint’s state on its deliveries', () => {
  const delivering = useDeliveries();
  let receiver: Receiver;
  let subscription: Subscription;
  let now: number;
  beforeEach(async () => {
    receiver = await delivering().receiver();
    subscription = await buildSubscription(receiver.url);
    now = Date.now();
  });

  const due = () => buildWebhookDelivery(subscription, new Date(now));
  const attempt = ({ id }: { id: string }) => attemptDelivery(delivering().deps(), id, now);
  const tend = async () => tendGate(await testDeps(), subscription.endpoint.id, now);
  const on = (change: typeof enableEndpoint) => async () =>
    change(await testDeps(), subscription.clubId, subscription.endpoint.id, new Date(now));
  const [enable, pause, disable] = [on(enableEndpoint), on(pauseEndpoint), on(disableEndpoint)];
  const statusOf = async ({ id }: TestWebhookDelivery) => (await deliveryRow(id)).status;

  describe('a paused endpoint', () => {
    it('parks due deliveries without an attempt', async () => {
      const delivery = await due();
      await pause();
      const created = now;
      for (const later of [0, day, 29 * day]) {
        now = created + later;
        expect(await attempt(delivery), `${later / day} days`).to.include({ done: false, waitingFor: 'endpoint' });
      }
      expect(receiver.requests).to.have.length(0);
      expect(await attemptRows(delivery.id)).to.deep.equal([]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', attemptCount: 0 });
    });

    it('sends parked deliveries through the gate if the endpoint is enabled within 30 days', async () => {
      const deliveries = [await due(), await due()];
      await pause();
      for (const delivery of deliveries) await attempt(delivery);
      now += 29 * day;
      expect(await wakesBy(subscription.clubId, enable)).to.deep.equal([gateRun(subscription.endpoint)]);
      for (let round = 0; round < deliveries.length; round++) {
        await tend();
        for (const delivery of deliveries) await attempt(delivery);
        now += 2 * second;
      }
      expect(await Promise.all(deliveries.map(statusOf))).to.deep.equal(['succeeded', 'succeeded']);
      expect(receiver.requests).to.have.length(2);
      expect(await tend()).to.deep.equal({ done: true, outcome: 'open' });
    });

    it('cancels each delivery as expired after 30 days', async () => {
      const delivery = await due();
      await pause();
      await attempt(delivery);
      now += 30 * day;
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: 'expired' });
      await enable();
      await tend();
      await attempt(delivery);
      expect(receiver.requests).to.have.length(0);
    });

    it('parks a resend from before the pause, and sends it when the endpoint is enabled', async () => {
      const delivery = await due();
      await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: new Date(now) });
      const deps = await testDeps();
      await resendDelivery(deps, subscription.clubId, subscription.endpoint.id, delivery.id, new Date(now));
      await pause();
      expect(await attempt(delivery)).to.include({ done: false, waitingFor: 'endpoint' });
      expect(await wakesBy(subscription.clubId, enable)).to.include(deliveryRun(delivery));
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
    });

    it('stops the gate if the endpoint is paused again during the release', async () => {
      const deliveries = [await due(), await due(), await due()];
      await pause();
      for (const delivery of deliveries) await attempt(delivery);
      await enable();
      await tend(); // releases the first delivery
      await pause();
      for (const delivery of deliveries) await attempt(delivery);
      now += 2 * second;
      expect(await tend()).to.include({ done: false, doing: 'paused', parked: 3 });
      expect(receiver.requests).to.have.length(0);
    });

    it('is still throttled after it is enabled', async () => {
      await alter('webhook_endpoints', subscription.endpoint.id, {
        consecutive_failures: 5,
        failing_since: new Date(now),
        breaker_step: 1,
        breaker_epoch: 1,
        hold_until: new Date(now + minute),
      });
      const deliveries = [await due(), await due()];
      await pause();
      for (const delivery of deliveries) await attempt(delivery);
      await enable();
      expect(await tend()).to.include({ doing: 'holding', at: now + minute });
      now += minute;
      expect(await tend()).to.include({ doing: 'probing', parked: 1 });
    });
  });

  describe('a disabled endpoint', () => {
    it('ends the gate', async () => {
      await pause();
      await tend();
      await disable();
      expect(await tend()).to.deep.equal({ done: true, outcome: 'disabled' });
      expect(await endpointRow(subscription.endpoint.id)).to.include({ gateLooksAt: null });
    });

    it('resets the breaker when the endpoint is enabled', async () => {
      await alter('webhook_endpoints', subscription.endpoint.id, {
        consecutive_failures: 9,
        failing_since: new Date(now),
        breaker_step: 5,
        breaker_epoch: 5,
        hold_until: new Date(now + 60 * minute),
      });
      await disable();
      await enable();
      expect(await attempt(await due())).to.deep.equal({ done: true, outcome: 'succeeded' });
    });

    it('does not open the breaker if an older attempt fails', async () => {
      const failing = await delivering().receiver(() => ({ status: 500 }));
      subscription = await buildSubscription(failing.url);
      await alter('webhook_endpoints', subscription.endpoint.id, {
        consecutive_failures: 5,
        failing_since: new Date(now),
        breaker_step: 1,
        breaker_epoch: 1,
        hold_until: new Date(now - 1),
      });
      const delivery = await due();
      await alter('webhook_endpoints', subscription.endpoint.id, { admitted_delivery_id: delivery.id });
      const meanwhile = async () => {
        await disable();
        await enable();
      };
      const deps = delivering().deps({
        failpoint: (at) => (at === 'posted' ? meanwhile() : Promise.resolve()),
      });
      await attemptDelivery(deps, delivery.id, now);
      expect(failing.requests).to.have.length(1);
      expect(await endpointRow(subscription.endpoint.id)).to.include({ breakerStep: 0, holdUntil: null });
    });
  });
});
