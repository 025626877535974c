import { expect } from 'chai';
import { fanOut } from '../../domain/webhooks/fan-out.ts';
import { deliveryRules } from '../../domain/webhooks/schedule.policy.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { testPlatform } from '../toolkit/stack/database.ts';
import { deliveryRun, gateRun, wakesBy } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildEndpoint, buildWebhookDelivery, factAbout } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  publicUrl,
  openEndpointScene,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';

describe('DELETE /v1/clubs/{clubId}/webhook-endpoints/{endpointId}', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const remove = () => scene.webhooks.remove(id);

  describe('204', () => {
    it('an empty answer; the endpoint is gone for everybody who asks', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      const { status, text } = await remove();
      expect([status, text]).to.deep.equal([204, '']);
      const { data, total } = (await scene.webhooks.list()).body;
      expect(data.map((endpoint: { id: string }) => endpoint.id)).to.deep.equal([other.id]);
      expect(total).to.equal(1);
    });

    it('its secrets are erased, the one before a rotation too', async () => {
      await scene.webhooks.rotate(id);
      expect((await endpointRow(id)).previousSecret).to.not.equal(null);
      await remove();
      const row = await endpointRow(id);
      expect(row.secret).to.have.length(0);
      expect(row).to.include({ previousSecret: null, previousSecretExpiresAt: null });
    });

    it('what is pending is canceled, without a cancel_reason; each of its workflows and the gate are woken', async () => {
      const deliveries = [
        await buildWebhookDelivery(scene.subscription),
        await buildWebhookDelivery(scene.subscription),
      ];
      expect(await wakesBy(scene.club.id, remove)).to.deep.equal(
        [gateRun({ id }), ...deliveries.map(deliveryRun)].toSorted(),
      );
      for (const delivery of deliveries) {
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status: 'canceled', cancelReason: null });
        expect(row.completedAt).to.be.an.instanceOf(Date);
      }
    });

    it('a resend that was asked for is not made any more', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription);
      await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: new Date() });
      await scene.webhooks.resend(id, delivery.id);
      expect(await wakesBy(scene.club.id, remove)).to.deep.equal([gateRun({ id }), deliveryRun(delivery)].toSorted());
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', requested: null });
    });

    it('nothing new is created for it; the club`s other endpoints are told', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      await remove();
      const { database } = await testPlatform();
      const made = await fanOut(database, factAbout(scene.subscription, 'student.updated'), new Date());
      expect(made.map(({ endpointId }) => endpointId)).to.deep.equal([other.id]);
    });

    it('a paused and a disabled endpoint can be deleted', async () => {
      for (const state of ['pause', 'disable'] as const) {
        const endpoint = await buildEndpoint(scene.club.id, publicUrl);
        await scene.webhooks[state](endpoint.id);
        expect((await scene.webhooks.remove(endpoint.id)).status).to.equal(204);
        expectError(await scene.webhooks.read(endpoint.id), 'not_found');
      }
    });

    it('a deleted endpoint does not count for the limit of 20', async () => {
      while ((await scene.webhooks.list()).body.total < deliveryRules.endpointsPerClub) {
        await buildEndpoint(scene.club.id, publicUrl);
      }
      expectError(await scene.webhooks.register(), 'endpoint_limit_reached');
      await remove();
      expect((await scene.webhooks.register()).status).to.equal(201);
      expectError(await scene.webhooks.register(), 'endpoint_limit_reached');
    });
  });

  describe('404', () => {
    it('an unknown endpoint, one of another club and a deleted one answer alike', async () => {
      const answers = [];
      for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.remove(unknown));
      for (const answer of answers) expectError(answer, 'not_found');
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    });

    it('every operation on a deleted endpoint, and none of them changes or wakes anything', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription);
      await remove();
      const before = [await endpointRow(id), await deliveryRow(delivery.id)];
      const { webhooks } = scene;
      const everyOther = {
        read: () => webhooks.read(id),
        change: () => webhooks.change(id, { description: 'x' }),
        'change of the url': () => webhooks.change(id, { url: publicUrl }),
        enable: () => webhooks.enable(id),
        pause: () => webhooks.pause(id),
        disable: () => webhooks.disable(id),
        rotate: () => webhooks.rotate(id),
        'rotate, expiring': () => webhooks.rotate(id, { expire_previous: true }),
        'send a test': () => webhooks.sendTest(id),
        'list deliveries': () => webhooks.deliveries(id),
        'read a delivery': () => webhooks.delivery(id, delivery.id),
        resend: () => webhooks.resend(id, delivery.id),
        recover: () => webhooks.recover(id, new Date(clock.now().getTime() - 60_000)),
        'delete again': remove,
      };
      const wakes = await wakesBy(scene.club.id, async () => {
        for (const [name, operation] of Object.entries(everyOther)) {
          const answer = await operation();
          expect(answer.body?.error?.code, name).to.equal('not_found');
          expectError(answer, 'not_found');
        }
      });
      expect(wakes).to.deep.equal([]);
      expect([await endpointRow(id), await deliveryRow(delivery.id)]).to.deep.equal(before);
    });

    it('the endpoint of another club stays as it is', async () => {
      const foreign = (await openEndpointScene()).endpoint;
      const before = await endpointRow(foreign.id);
      await scene.webhooks.remove(foreign.id);
      expect(await endpointRow(foreign.id)).to.deep.equal(before);
    });

    it('of two deletions at once one deletes', async () => {
      const answers = await oneAfterAnother(id, [remove, remove]);
      expect(answers.map(({ status }) => status)).to.deep.equal([204, 404]);
    });

    it('what waits for a deletion finds nothing any more', async () => {
      const { webhooks } = scene;
      const late = {
        change: () => webhooks.change(id, { description: 'x' }),
        enable: () => webhooks.enable(id),
        rotate: () => webhooks.rotate(id),
        'send a test': () => webhooks.sendTest(id),
      };
      const [removed, ...answers] = await oneAfterAnother(id, [remove, ...Object.values(late)]);
      expect(removed?.status).to.equal(204);
      for (const answer of answers) expectError(answer, 'not_found');
      expect(await endpointRow(id)).to.include({ status: 'disabled', description: null });
    });
  });
});
