/** Tests how administrators change the state of a webhook endpoint (STATE-1, STATE-2, STATE-6, STATE-7). */
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryRun, gateRun, wakesBy, wakesOf } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import {
  buildEndpoint,
  buildWebhookDelivery,
  factAbout,
  type TestWebhookDelivery,
} from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  publicUrl,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { useStoppedClock } from '../toolkit/fakes/timers.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

const minute = 60_000;
const failures = () => ({
  consecutive_failures: 7,
  failing_since: new Date('2026-03-01T12:00:00Z'),
  hold_until: new Date(Date.now() + 30 * minute),
  breaker_step: 3,
  breaker_epoch: 5,
});

describe('the state of a webhook endpoint', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });

  const operations = ['enable', 'pause', 'disable'] as const;
  type Move = (typeof operations)[number];
  const move = (operation: Move): Promise<Answer> => scene.webhooks[operation](id);
  const wakesByMove = (operation: Move) => wakesBy(scene.club.id, () => move(operation));
  const queue = (length: number): Promise<TestWebhookDelivery[]> =>
    Promise.all(Array.from({ length }, () => buildWebhookDelivery(scene.subscription)));
  const newDeliveries = async () => {
    const { db } = await testDeps();
    return fanOut(db, factAbout(scene.subscription, 'student.updated'), new Date());
  };

  /** @returns the fields that the operation changed. Also asserts that the answer equals the record that a later read returns. */
  const changesBy = async (operation: Move): Promise<Record<string, unknown>> => {
    const before = (await scene.webhooks.read(id)).body.data;
    clock.advance(minute);
    const { status, body } = await move(operation);
    expect(status).to.equal(200);
    expect((await scene.webhooks.read(id)).body.data).to.deep.equal(body.data);
    const names = new Set([...Object.keys(before), ...Object.keys(body.data)]);
    const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(body.data[name]));
    return Object.fromEntries(changed.map((name) => [name, body.data[name]]));
  };
  /** Asserts that a repeated operation changes nothing and wakes no run. */
  const expectNothingChanges = async (operation: Move) => {
    await queue(1);
    const before = await endpointRow(id);
    clock.advance(minute);
    let answer: Answer | undefined;
    expect(await wakesBy(scene.club.id, async () => (answer = await move(operation)))).to.deep.equal([]);
    expect(answer?.status).to.equal(200);
    expect(await endpointRow(id)).to.deep.equal(before);
  };

  describe('POST …/pause', () => {
    it('changes only status and updated_at', async () => {
      await alter('webhook_endpoints', id, failures());
      const changed = await changesBy('pause');
      expect(changed).to.deep.equal({ status: 'paused', updated_at: changed['updated_at'] });
    });

    it('does not prevent new deliveries, but lets them wait until the endpoint is enabled', async () => {
      await queue(1);
      await move('pause');
      expect(await newDeliveries()).to.have.length(1);
      await queue(1);
      expect((await scene.webhooks.read(id)).body.data).to.include({ status: 'paused', pending_deliveries: 3 });
    });

    it('wakes the gate of the endpoint, but no delivery', async () => {
      await queue(2);
      expect(await wakesByMove('pause')).to.deep.equal([gateRun({ id })]);
      const [wake] = await wakesOf(scene.club.id);
      expect(wake).to.include({ workflowType: 'endpointGate', subjectId: id, clubId: scene.club.id });
      expect(wake?.attributes).to.deep.equal({ ClubId: scene.club.id, EndpointId: id });
    });

    it('does not change an endpoint that is already paused', async () => {
      await move('pause');
      await expectNothingChanges('pause');
    });

    it('returns 409 endpoint_not_enabled for a disabled endpoint, and changes and wakes nothing', async () => {
      await move('disable');
      const before = await endpointRow(id);
      expect(
        await wakesBy(scene.club.id, async () => expectError(await move('pause'), 'endpoint_not_enabled')),
      ).to.deep.equal([]);
      expect(await endpointRow(id)).to.deep.equal(before);
    });
  });

  describe('POST …/enable', () => {
    it('does not change pending deliveries of a paused endpoint, and wakes the gate', async () => {
      const deliveries = await queue(3);
      await move('pause');
      for (const { id: parked } of deliveries) await alter('webhook_deliveries', parked, { parked_at: new Date() });
      expect(await wakesByMove('enable')).to.deep.equal([gateRun({ id })]);
      expect((await scene.webhooks.read(id)).body.data).to.include({ status: 'enabled', pending_deliveries: 3 });
      await eachCase(deliveries, async ({ id: parked }) =>
        expect(await deliveryRow(parked)).to.include({ status: 'pending', cancelReason: null }),
      );
    });

    it('does not reset the circuit breaker of a paused endpoint', async () => {
      await alter('webhook_endpoints', id, failures());
      await move('pause');
      const before = await endpointRow(id);
      const changed = await changesBy('enable');
      expect(changed).to.deep.equal({ status: 'enabled', updated_at: changed['updated_at'] });
      const { breakerStep, breakerEpoch, holdUntil, consecutiveFailures, failingSince } = await endpointRow(id);
      expect({ breakerStep, breakerEpoch, holdUntil, consecutiveFailures, failingSince }).to.deep.equal({
        breakerStep: 3,
        breakerEpoch: 5,
        holdUntil: before.holdUntil,
        consecutiveFailures: 7,
        failingSince: before.failingSince,
      });
    });

    it('wakes a resend that waited during the pause immediately, without the gate', async () => {
      const [waiting, resent] = await queue(2);
      if (!waiting || !resent) throw new Error('Query did not return two deliveries');
      await scene.webhooks.resend(id, resent.id);
      await move('pause');
      for (const parked of [waiting, resent]) {
        await alter('webhook_deliveries', parked.id, { parked_at: new Date() });
      }
      expect(await wakesByMove('enable')).to.deep.equal([gateRun({ id }), deliveryRun(resent)].toSorted());
      expect((await deliveryRow(resent.id)).parkedAt).to.equal(null);
      expect((await deliveryRow(waiting.id)).parkedAt).to.not.equal(null);
    });

    for (const reason of ['manual', 'failing'] as const) {
      it(`resets the circuit breaker of a disabled endpoint (${reason}), and removes reason and time`, async () => {
        await move('disable');
        await alter('webhook_endpoints', id, {
          disabled_reason: reason,
          consecutive_failures: 7,
          failing_since: new Date('2026-03-01T12:00:00Z'),
        });
        const changed = await changesBy('enable');
        expect(changed).to.deep.equal({
          status: 'enabled',
          disabled_reason: undefined,
          disabled_at: undefined,
          consecutive_failures: 0,
          failing_since: undefined,
          updated_at: changed['updated_at'],
        });
        expect(await endpointRow(id)).to.include({ breakerStep: 0, holdUntil: null, admittedDeliveryId: null });
      });
    }

    it('resets the circuit breaker of an endpoint that was disabled while it was throttled', async () => {
      await alter('webhook_endpoints', id, failures());
      await move('disable');
      await move('enable');
      const record = (await scene.webhooks.read(id)).body.data;
      expect(record).to.include({ status: 'enabled', consecutive_failures: 0 });
      expect(record).to.not.have.any.keys('failing_since', 'hold_until', 'disabled_at', 'disabled_reason');
      expect(await endpointRow(id)).to.include({ breakerStep: 0, holdUntil: null });
    });

    it('leaves the canceled deliveries of a disabled endpoint canceled, but lets new facts be delivered', async () => {
      const [canceled] = await queue(1);
      await move('disable');
      expect(await wakesByMove('enable')).to.deep.equal([]);
      expect((await deliveryRow(canceled?.id ?? '')).status).to.equal('canceled');
      expect(await newDeliveries()).to.have.length(1);
    });

    it('does not change an endpoint that is already enabled', () => expectNothingChanges('enable'));

    it('does not end the throttling of an enabled endpoint', async () => {
      await alter('webhook_endpoints', id, failures());
      await expectNothingChanges('enable');
    });
  });

  describe('POST …/disable', () => {
    useStoppedClock();

    it('sets status, reason and time', async () => {
      await queue(2);
      const changed = await changesBy('disable');
      expect(changed).to.deep.equal({
        status: 'disabled',
        disabled_reason: 'manual',
        disabled_at: changed['updated_at'],
        pending_deliveries: 0,
        updated_at: changed['updated_at'],
      });
      expect(changed['disabled_at']).to.equal(clock.now().toISOString());
    });

    it('cancels pending deliveries without a cancel reason, and wakes their workflows and the gate', async () => {
      const deliveries = await queue(3);
      await alter('webhook_deliveries', deliveries[0]?.id ?? '', { parked_at: new Date(), attempt_count: 2 });
      const wakes = await wakesByMove('disable');
      expect(wakes).to.deep.equal([gateRun({ id }), ...deliveries.map(deliveryRun)].toSorted());
      const { disabled_at: disabledAt } = (await scene.webhooks.read(id)).body.data;
      await eachCase(deliveries, async (delivery) => {
        const record = (await scene.webhooks.delivery(id, delivery.id)).body.data;
        expect(record).to.include({ status: 'canceled', completed_at: disabledAt, payload_purged: false });
        expect(record).to.not.have.any.keys('cancel_reason', 'next_attempt_at');
        expect(await deliveryRow(delivery.id)).to.include({ parkedAt: null, requested: null });
      });
      const wake = (await wakesOf(scene.club.id)).find(({ workflowType }) => workflowType === 'webhookDelivery');
      expect(wake?.attributes).to.deep.equal({
        ClubId: scene.club.id,
        EndpointId: id,
        EventType: 'student.updated',
      });
    });

    it('prevents new deliveries to the endpoint', async () => {
      await move('disable');
      expect(await newDeliveries()).to.deep.equal([]);
      expect((await scene.webhooks.deliveries(id)).body.total).to.equal(0);
    });

    it('keeps ended deliveries and deliveries of other endpoints', async () => {
      const ended = ['succeeded', 'failed', 'canceled'] as const;
      const deliveries = await queue(ended.length);
      for (const [index, status] of ended.entries()) {
        await alter('webhook_deliveries', deliveries[index]?.id ?? '', { status, completed_at: new Date() });
      }
      const other = await buildEndpoint(scene.club.id, publicUrl);
      const elsewhere = await buildWebhookDelivery({ ...scene.subscription, endpoint: other });
      // The fan-out also created a delivery to the tested endpoint. This update ends that delivery.
      await alter('webhook_deliveries', (await pendingOf()).id, { status: 'succeeded', completed_at: new Date() });
      const rows = () => Promise.all([...deliveries, elsewhere].map((delivery) => deliveryRow(delivery.id)));
      const before = await rows();
      expect(await wakesByMove('disable')).to.deep.equal([gateRun({ id })]);
      expect(await rows()).to.deep.equal(before);
    });
    const pendingOf = async (): Promise<{ id: string }> =>
      (await scene.webhooks.deliveries(id)).body.data.find(({ status }: { status: string }) => status === 'pending');

    it('removes a requested resend that has not been sent yet', async () => {
      const [delivery] = await queue(1);
      if (!delivery) throw new Error('No delivery was created');
      await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: new Date() });
      await scene.webhooks.resend(id, delivery.id);
      expect(await wakesByMove('disable')).to.deep.equal([gateRun({ id }), deliveryRun(delivery)].toSorted());
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', requested: null });
    });

    it('removes hold_until', async () => {
      await alter('webhook_endpoints', id, failures());
      expect(await changesBy('disable')).to.have.property('hold_until', undefined);
    });

    it('cancels the accumulated deliveries of a paused endpoint', async () => {
      const [delivery] = await queue(1);
      await move('pause');
      const answer = await move('disable');
      expect(answer.body.data).to.include({ status: 'disabled', disabled_reason: 'manual', pending_deliveries: 0 });
      expect((await deliveryRow(delivery?.id ?? '')).status).to.equal('canceled');
    });

    for (const reason of ['manual', 'failing'] as const) {
      it(`changes nothing of an endpoint that is disabled (${reason})`, async () => {
        await move('disable');
        await alter('webhook_endpoints', id, { disabled_reason: reason });
        const before = await endpointRow(id);
        clock.advance(minute);
        expect(await wakesByMove('disable')).to.deep.equal([]);
        expect(await endpointRow(id)).to.deep.equal(before);
      });
    }
  });

  describe('every operation', () => {
    for (const operation of operations) {
      it(`returns one 404 text for endpoints that are unknown, deleted or of another club: ${operation}`, async () => {
        const answers = [];
        for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks[operation](unknown));
        await eachCase(answers, (answer) => expectError(answer, 'not_found'));
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      });

      it(`does not change an endpoint of another club: ${operation}`, async () => {
        const foreign = (await openEndpointScene()).endpoint;
        // The endpoint of the other club first gets a state that the operation would change.
        await alter('webhook_endpoints', foreign.id, { status: operation === 'enable' ? 'paused' : 'enabled' });
        const before = await endpointRow(foreign.id);
        await scene.webhooks[operation](foreign.id);
        expect(await endpointRow(foreign.id)).to.deep.equal(before);
      });

      it(`returns no secret: ${operation}`, async () => {
        expect((await move(operation)).text)
          .to.not.include('whsec_')
          .and.not.include('"secret"');
      });
    }
  });

  describe('two simultaneous operations', () => {
    /** The result for each order of two operations on an enabled endpoint with two pending deliveries. */
    const orders = [
      { first: 'disable', second: 'enable', statuses: [200, 200], status: 'enabled', pending: 0 },
      { first: 'enable', second: 'disable', statuses: [200, 200], status: 'disabled', pending: 0 },
      { first: 'pause', second: 'disable', statuses: [200, 200], status: 'disabled', pending: 0 },
      { first: 'disable', second: 'pause', statuses: [200, 409], status: 'disabled', pending: 0 },
      { first: 'pause', second: 'enable', statuses: [200, 200], status: 'enabled', pending: 2 },
      { first: 'disable', second: 'disable', statuses: [200, 200], status: 'disabled', pending: 0 },
    ] as const;
    for (const { first, second, statuses, status, pending } of orders) {
      it(`run one after the other: ${first}, then ${second} (result: ${status}, ${pending} pending deliveries)`, async () => {
        await queue(2);
        const answers = await oneAfterAnother(id, [() => move(first), () => move(second)]);
        expect(answers.map((answer) => answer.status)).to.deep.equal(statuses);
        expect((await scene.webhooks.read(id)).body.data).to.include({ status, pending_deliveries: pending });
        expect(await endpointRow(id)).to.include({ disabledReason: status === 'disabled' ? 'manual' : null });
      });
    }
  });
});
