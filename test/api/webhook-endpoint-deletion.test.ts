import { expect } from 'chai';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { endpointRules } from '../../domain/webhooks/endpoints/endpoints.policy.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryRun, gateRun, wakesBy } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildEndpoint, buildWebhookDelivery, factAbout } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  publicUrl,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { testDeps } from '../toolkit/stack/database.ts';

describe('DELETE /v1/clubs/{clubId}/webhook-endpoints/{endpointId}', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const remove = () => scene.webhooks.remove(id);

  describe('204', () => {
    it('removes the endpoint from the list', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      const { status, text } = await remove();
      expect([status, text]).to.deep.equal([204, '']);
      const { data, total } = (await scene.webhooks.list()).body;
      expect(data.map((endpoint: { id: string }) => endpoint.id)).to.deep.equal([other.id]);
      expect(total).to.equal(1);
    });

    it('erases the secrets of the endpoint, including the previous secret', async () => {
      await scene.webhooks.rotate(id);
      expect((await endpointRow(id)).previousSecret).to.not.equal(null);
      await remove();
      const row = await endpointRow(id);
      expect(row.secret).to.have.length(0);
      expect(row).to.include({ previousSecret: null, previousSecretExpiresAt: null });
    });

    it('cancels pending deliveries without a cancel reason, and wakes their workflows and the gate', async () => {
      const deliveries = [
        await buildWebhookDelivery(scene.subscription),
        await buildWebhookDelivery(scene.subscription),
      ];
      expect(await wakesBy(scene.club.id, remove)).to.deep.equal(
        [gateRun({ id }), ...deliveries.map(deliveryRun)].toSorted(),
      );
      await eachCase(deliveries, async (delivery) => {
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status: 'canceled', cancelReason: null });
        expect(row.completedAt).to.be.an.instanceOf(Date);
      });
    });

    it('removes a requested resend that has not been sent yet', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription);
      await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: new Date() });
      await scene.webhooks.resend(id, delivery.id);
      expect(await wakesBy(scene.club.id, remove)).to.deep.equal([gateRun({ id }), deliveryRun(delivery)].toSorted());
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', requested: null });
    });

    it('stops new deliveries to the endpoint, but not to the club’s other endpoints', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      await remove();
      const { db } = await testDeps();
      const deliveries = await fanOut(db, factAbout(scene.subscription, 'student.updated'), new Date());
      expect(deliveries.map(({ endpointId }) => endpointId)).to.deep.equal([other.id]);
    });

    it('deletes a paused and a disabled endpoint', async () => {
      await eachCase(['pause', 'disable'] as const, async (state) => {
        const endpoint = await buildEndpoint(scene.club.id, publicUrl);
        await scene.webhooks[state](endpoint.id);
        expect((await scene.webhooks.remove(endpoint.id)).status).to.equal(204);
        expectError(await scene.webhooks.read(endpoint.id), 'not_found');
      });
    });

    it('makes the endpoint stop counting against the limit of 20', async () => {
      while ((await scene.webhooks.list()).body.total < endpointRules.endpointsPerClub) {
        await buildEndpoint(scene.club.id, publicUrl);
      }
      expectError(await scene.webhooks.register(), 'endpoint_limit_reached');
      await remove();
      expect((await scene.webhooks.register()).status).to.equal(201);
      expectError(await scene.webhooks.register(), 'endpoint_limit_reached');
    });
  });

  describe('404', () => {
    it('has the same text for every endpoint that is unknown, deleted or of another club', async () => {
      const answers = [];
      for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.remove(unknown));
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    });

    it('is returned by every operation on a deleted endpoint', async () => {
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
        await eachCase(Object.entries(everyOther), async ([, operation]) =>
          expectError(await operation(), 'not_found'),
        );
      });
      expect(wakes).to.deep.equal([]);
      expect([await endpointRow(id), await deliveryRow(delivery.id)]).to.deep.equal(before);
    });

    it('is returned for an endpoint of another club, and does not delete it', async () => {
      const foreign = (await openEndpointScene()).endpoint;
      const before = await endpointRow(foreign.id);
      await scene.webhooks.remove(foreign.id);
      expect(await endpointRow(foreign.id)).to.deep.equal(before);
    });

    it('is returned to the later of two simultaneous deletions', async () => {
      const answers = await oneAfterAnother(id, [remove, remove]);
      expect(answers.map(({ status }) => status)).to.deep.equal([204, 404]);
    });

    it('is returned to operations that wait for the lock of an endpoint that is being deleted', async () => {
      const { webhooks } = scene;
      const late = {
        change: () => webhooks.change(id, { description: 'x' }),
        enable: () => webhooks.enable(id),
        rotate: () => webhooks.rotate(id),
        'send a test': () => webhooks.sendTest(id),
      };
      const [removed, ...answers] = await oneAfterAnother(id, [remove, ...Object.values(late)]);
      expect(removed?.status).to.equal(204);
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(await endpointRow(id)).to.include({ status: 'disabled', description: null });
    });
  });
});
