/** Tests the fields of an endpoint's record that deliveries change. These fields are correct at every moment (WEP-7). */
import { expect } from 'chai';
import { useStoppedClock } from '../toolkit/fakes/timers.ts';
import type { Id } from '../../platform/core/ids.ts';
import { attemptDelivery } from '../../domain/webhooks/attempts/attempt.ts';
import { buildWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { clock } from '../toolkit/drive/api.ts';
import { answering } from '../toolkit/drive/attempts.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { openEndpointScene, type EndpointScene } from '../toolkit/drive/webhook-calls.ts';

const second = 1_000;
const minute = 60 * second;

describe('the record of a webhook endpoint', () => {
  let scene: EndpointScene;
  beforeEach(async () => {
    scene = await openEndpointScene();
  });
  useStoppedClock();
  const read = async () => (await scene.webhooks.read(scene.endpoint.id)).body.data;
  /** Makes one attempt of a delivery at the clock's time. The receiver returns this status. Creates the delivery if no id is given. */
  const attempt = async (status: number, id?: Id): Promise<Id> => {
    const at = clock.now();
    const deliveryId = id ?? (await buildWebhookDelivery(scene.subscription, at)).id;
    const outcome = status < 300 ? 'succeeded' : 'http_error';
    const deps = await answering(async () => ({ outcome, durationMs: 1, responseStatus: status }));
    await attemptDelivery(deps, deliveryId, at.getTime());
    return deliveryId;
  };
  const expectTime = (actual: string, expected: number) => expect(Date.parse(actual)).to.equal(expected);

  it('shows no failure, no success and nothing pending for a new endpoint', async () => {
    const record = await read();
    expect(record).to.include({ status: 'enabled', consecutive_failures: 0, pending_deliveries: 0 });
    const whereTheyApply = [
      'description',
      'disabled_reason',
      'disabled_at',
      'failing_since',
      'hold_until',
      'last_success_at',
    ];
    expect(record).to.not.have.any.keys([...whereTheyApply, 'previous_secret_expires_at']);
  });

  it('counts consecutive failures and pending retries, and shows the first failure’s time as failing_since', async () => {
    await attempt(500);
    const { failing_since: since } = await read();
    expectTime(since, clock.now().getTime());
    for (let failures = 2; failures <= 4; failures++) {
      clock.advance(minute);
      await attempt(404);
      expect(await read(), `failures ${failures}`).to.include({
        consecutive_failures: failures,
        failing_since: since,
        pending_deliveries: failures,
      });
      expect(await read(), `failures ${failures}`).to.not.have.property('hold_until');
    }
  });

  it('shows hold_until, 1 minute ahead, from the fifth failure in a row', async () => {
    for (let failures = 1; failures <= 5; failures++) await attempt(500);
    const record = await read();
    expect(record).to.include({ status: 'enabled', consecutive_failures: 5 });
    expectTime(record.hold_until, clock.now().getTime() + minute);
    clock.advance(minute + second);
    expect(await read()).to.not.have.property('hold_until');
    expect(await read()).to.include({ consecutive_failures: 5, failing_since: record.failing_since });
  });

  it('clears the failures and sets last_success_at after a 2xx response', async () => {
    let deliveryId = '';
    for (let failures = 1; failures <= 5; failures++) deliveryId = await attempt(500);
    await scene.webhooks.resend(scene.endpoint.id, deliveryId);
    clock.advance(10 * second);
    await attempt(204, deliveryId);
    const record = await read();
    expect(record).to.include({ consecutive_failures: 0, pending_deliveries: 4 });
    expect(record).to.not.have.any.keys('failing_since', 'hold_until');
    expectTime(record.last_success_at, clock.now().getTime());
  });

  it('keeps last_success_at during failures, and updates it with each success', async () => {
    await attempt(200);
    const first = (await read()).last_success_at;
    clock.advance(minute);
    await attempt(500);
    expect((await read()).last_success_at).to.equal(first);
    for (let success = 1; success <= 2; success++) {
      clock.advance(minute);
      await attempt(200);
      expectTime((await read()).last_success_at, clock.now().getTime());
    }
  });

  it('does not change updated_at when deliveries change the record', async () => {
    const { updated_at: before } = await read();
    clock.advance(minute);
    for (const status of [200, 500, 200]) await attempt(status);
    expect((await read()).updated_at).to.equal(before);
  });

  it('counts unfinished deliveries in pending_deliveries, but not the resend of an ended delivery', async () => {
    const { webhooks, endpoint } = scene;
    const ended = await attempt(200);
    await webhooks.resend(endpoint.id, ended);
    expect((await read()).pending_deliveries).to.equal(0);
    await webhooks.sendTest(endpoint.id);
    await attempt(500);
    const failed = await buildWebhookDelivery(scene.subscription, clock.now());
    await alter('webhook_deliveries', failed.id, { status: 'failed', completed_at: clock.now() });
    expect((await read()).pending_deliveries).to.equal(2);
    await webhooks.recover(endpoint.id, new Date(clock.now().getTime() - minute));
    expect((await read()).pending_deliveries).to.equal(3);
    await webhooks.disable(endpoint.id);
    expect((await read()).pending_deliveries).to.equal(0);
  });

  it('is the same when one endpoint is read and when all endpoints are listed', async () => {
    for (const status of [200, 500, 500, 500, 500, 500]) await attempt(status);
    await scene.webhooks.rotate(scene.endpoint.id);
    expect((await scene.webhooks.list()).body.data).to.deep.equal([await read()]);
  });
});
