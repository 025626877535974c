/**
 * Tests that the service disables an endpoint after 5 days without a success, cancels its queue and notifies its administrators (STATE-5).
 */
import { expect } from 'chai';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import type { Id } from '../../platform/core/ids.ts';
import { mailKinds } from '../../domain/contexts.ts';
import { sendTransactionalMail, type OutgoingMail } from '../../domain/mail/transactional/send.ts';
import { attemptDelivery, type DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import { tendGate } from '../../domain/webhooks/queues/gate.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryRun, wakesBy } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildClub, buildMember } from '../toolkit/builders/clubs.ts';
import { buildEndpoint, buildWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { answering } from '../toolkit/drive/attempts.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { openEndpointScene, publicUrl, type EndpointScene } from '../toolkit/drive/webhook-calls.ts';
import { endLease } from '../toolkit/drive/deliveries.ts';
import { mailsTo, testDeps } from '../toolkit/stack/database.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const failingMail = 'webhook_endpoint_failing';

describe('webhook endpoints that fail', () => {
  let scene: EndpointScene;
  let id: Id;
  let now: number;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
    now = Date.now();
  });

  /** Runs one step of a delivery to a receiver that returns this status. */
  const attempt = async (deliveryId: Id, status: number, changes: Partial<DeliveryDeps> = {}) =>
    attemptDelivery(
      await answering(
        async () => ({
          outcome: status < 300 ? 'succeeded' : 'http_error',
          durationMs: 1,
          responseStatus: status,
        }),
        changes,
      ),
      deliveryId,
      now,
    );
  const failsOnce = async () => {
    const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
    await attempt(delivery.id, 500);
    return delivery;
  };
  /** Makes an attempt that an administrator requested, which does not wait for the circuit breaker. */
  const failsByHand = async () => {
    const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
    await alter('webhook_deliveries', delivery.id, { requested: 'manual' });
    await attempt(delivery.id, 500);
  };
  const tend = async (at = now) => tendGate(await testDeps(), id, at);
  const failingFor = (ms: number, columns: object = {}) =>
    alter('webhook_endpoints', id, { consecutive_failures: 4, failing_since: new Date(now - ms), ...columns });
  const read = async () => (await scene.webhooks.read(id)).body.data;
  const ownerMails = async () => (await mailsTo(scene.club.owner.id)).filter((template) => template === failingMail);

  describe('the disabling of the endpoint', () => {
    it('happens at the next failed attempt, and stores the reason and the time of the first failure', async () => {
      await failingFor(5 * day);
      await withClockStopped(failsOnce); // the attempt has a duration of zero
      const record = await read();
      expect(record).to.include({
        status: 'disabled',
        disabled_reason: 'failing',
        consecutive_failures: 5,
        failing_since: new Date(now - 5 * day).toISOString(),
        pending_deliveries: 0,
      });
      expect(Date.parse(record.disabled_at)).to.equal(now);
      expect(record.updated_at).to.equal(record.disabled_at);
      expect(record).to.not.have.property('hold_until');
    });

    it('is done by the gate of the endpoint if no delivery makes an attempt', async () => {
      await failingFor(5 * day, { breaker_step: 7, hold_until: new Date(now + 30 * minute) });
      expect(await tend()).to.deep.equal({ done: true, outcome: 'disabled' });
      expect(await read()).to.include({ status: 'disabled', disabled_reason: 'failing' });
      expect(await endpointRow(id)).to.include({ breakerStep: 0, holdUntil: null, gateLooksAt: null });
    });

    it('is done by the gate at the exact time, even if the gate would wait longer', async () => {
      await failingFor(5 * day - minute, { breaker_step: 7, hold_until: new Date(now + 30 * minute) });
      expect(await tend()).to.deep.include({ done: false, at: now + minute, givenUpAt: now + minute });
      expect(await tend(now + minute - 1)).to.include({ done: false });
      expect(await tend(now + minute)).to.include({ outcome: 'disabled' });
    });

    it('cancels the queue of the endpoint, wakes each delivery and requests one mail', async () => {
      await failingFor(5 * day);
      const waiting = await buildWebhookDelivery(scene.subscription, new Date(now));
      const last = await buildWebhookDelivery(scene.subscription, new Date(now));
      const wakes = await wakesBy(scene.club.id, () => attempt(last.id, 500));
      const isMail = (run: string) => run.startsWith('transactional-mail/');
      expect(wakes.filter((run) => !isMail(run))).to.deep.equal([waiting, last].map(deliveryRun).toSorted());
      expect(wakes.filter(isMail)).to.have.length(1);
      await eachCase([waiting, last], async (delivery) =>
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: null }),
      );
      expect((await deliveryRow(last.id)).attemptCount).to.equal(1);
    });
  });

  describe('an endpoint that has not failed for 5 days', () => {
    it('stays enabled until a minute before the 5 days end', async () => {
      await failingFor(5 * day - minute);
      await failsOnce();
      expect(await read()).to.include({ status: 'enabled', consecutive_failures: 5 });
      expect(await ownerMails()).to.deep.equal([]);
    });

    it('stays enabled if a successful delivery resets the failures', async () => {
      await failingFor(6 * day);
      const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
      await attempt(delivery.id, 200);
      expect(await read()).to.include({ status: 'enabled', consecutive_failures: 0 });
      expect(await read()).to.not.have.property('failing_since');
      await failsOnce();
      expect((await read()).status).to.equal('enabled');
    });

    it('stays enabled if it never failed, even if its last success is old', async () => {
      await alter('webhook_endpoints', id, { last_success_at: new Date(now - 60 * day) });
      expect(await tend()).to.deep.equal({ done: true, outcome: 'open' });
      await failsOnce();
      expect((await read()).status).to.equal('enabled');
    });

    it('stays enabled for another 5 days after a pause', async () => {
      await failingFor(6 * day);
      await scene.webhooks.pause(id);
      expect(await tend()).to.include({ done: false, doing: 'paused' });
      await scene.webhooks.enable(id);
      await failsOnce();
      expect((await read()).status).to.equal('enabled');
      now += 5 * day + minute;
      await tend();
      expect(await read()).to.include({ status: 'disabled', disabled_reason: 'failing' });
    });

    it('stays enabled if its attempts failed because the service itself crashed', async () => {
      await failingFor(6 * day);
      const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
      const dies = { failpoint: () => Promise.reject(new Error('the worker crashed')) };
      for (let death = 1; death <= 4; death++) {
        await attempt(delivery.id, 500, dies).catch(() => undefined);
        await endLease(delivery.id);
      }
      await attempt(delivery.id, 500);
      expect((await deliveryRow(delivery.id)).attemptCount).to.equal(1);
      expect(await read()).to.include({ status: 'enabled', consecutive_failures: 4 });
    });
  });

  describe('an endpoint that answers 410 Gone', () => {
    it('is disabled with the reason `gone`, and its waiting deliveries are canceled', async () => {
      const waiting = await buildWebhookDelivery(scene.subscription, new Date(now));
      const lastDelivery = await buildWebhookDelivery(scene.subscription, new Date(now));
      await attempt(lastDelivery.id, 410);
      expect(await read()).to.include({ status: 'disabled', disabled_reason: 'gone', pending_deliveries: 0 });
      await eachCase([waiting, lastDelivery], async (delivery) =>
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: null }),
      );
      expect((await deliveryRow(lastDelivery.id)).attemptCount).to.equal(1);
      expect(await mailsTo(scene.club.owner.id)).to.deep.equal(['webhook_endpoint_gone']);
    });

    it('can be enabled again, and then its canceled deliveries can be recovered', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
      await attempt(delivery.id, 410);
      await scene.webhooks.enable(id);
      expect(await read()).to.include({ status: 'enabled', consecutive_failures: 0 });
      expect(await read()).to.not.have.property('disabled_reason');
    });
  });

  describe('a throttled endpoint', () => {
    it('becomes throttled after its first 429, but not after its first 500, and then gets no attempt', async () => {
      const [first, other] = [
        await buildWebhookDelivery(scene.subscription, new Date(now)),
        await buildWebhookDelivery(scene.subscription, new Date(now)),
      ];
      await attempt(first.id, 500);
      expect(await read()).to.not.have.property('hold_until');
      await attempt(other.id, 429);
      expect(Date.parse((await read()).hold_until)).to.be.within(now, now + minute);
      const third = await buildWebhookDelivery(scene.subscription, new Date(now));
      expect(await attempt(third.id, 200)).to.include({ done: false, waitingFor: 'gate' });
      expect((await deliveryRow(third.id)).attemptCount).to.equal(0);
    });

    it('causes a mail to administrators at its first failure after an hour', async () => {
      await failingFor(hour, { breaker_step: 6, throttled_since: new Date(now - hour + 1) });
      await failsByHand();
      expect(await mailsTo(scene.club.owner.id)).to.deep.equal([]);
      now += 1;
      await failsByHand();
      await failsByHand();
      expect(await mailsTo(scene.club.owner.id)).to.deep.equal(['webhook_endpoint_throttled']);
      const delivery = await buildWebhookDelivery(scene.subscription, new Date(now));
      await alter('webhook_deliveries', delivery.id, { requested: 'manual' });
      await attempt(delivery.id, 200);
      expect(await endpointRow(id)).to.include({ throttledSince: null, throttleMailedAt: null });
    });
  });

  describe('the e-mail about a disabled endpoint', () => {
    it('is sent to owners and admins, but not to other members', async () => {
      const [admin, editor, support] = [
        await buildMember(scene.club.id, 'admin'),
        await buildMember(scene.club.id, 'editor'),
        await buildMember(scene.club.id, 'support'),
      ];
      const elsewhere = await buildClub();
      await failingFor(5 * day);
      await failsOnce();
      const mails = Object.fromEntries(
        await Promise.all(
          Object.entries({ owner: scene.club.owner, admin, editor, support, elsewhere: elsewhere.owner }).map(
            async ([name, administrator]) => [name, await mailsTo(administrator.id)] as const,
          ),
        ),
      );
      expect(mails).to.deep.equal({
        owner: [failingMail],
        admin: [failingMail],
        editor: [],
        support: [],
        elsewhere: [],
      });
      expect(await mailsTo(scene.subscription.studentId)).to.deep.equal([]);
    });

    it('is not sent if an administrator disabled the endpoint', async () => {
      await failingFor(6 * day);
      await scene.webhooks.disable(id);
      expect(await ownerMails()).to.deep.equal([]);
    });

    it('is sent once, even if two attempts and the gate disable the endpoint simultaneously', async () => {
      await failingFor(5 * day);
      const due = () => buildWebhookDelivery(scene.subscription, new Date(now));
      const both = [await due(), await due()];
      await Promise.all(both.map((delivery) => attempt(delivery.id, 500)));
      await tend();
      expect(await read()).to.include({ status: 'disabled', disabled_reason: 'failing' });
      expect(await ownerMails()).to.deep.equal([failingMail]);
    });

    it('is sent for each of 8 endpoints, although 8 mails exceed the hourly limit', async () => {
      const endpoints = [scene.endpoint];
      while (endpoints.length < 8) endpoints.push(await buildEndpoint(scene.club.id, publicUrl));
      for (const endpoint of endpoints) {
        await alter('webhook_endpoints', endpoint.id, {
          consecutive_failures: 9,
          failing_since: new Date(now - 5 * day),
        });
        await tendGate(await testDeps(), endpoint.id, now);
      }
      expect(await ownerMails()).to.have.length(8);
    });

    /** Sends the pending mails of the owner. @returns the mails */
    const sendAll = async (): Promise<OutgoingMail[]> => {
      const { db, vault } = await testDeps();
      const outbox: OutgoingMail[] = [];
      const rows = await db.source.query<{ id: Id }[]>(
        `SELECT id FROM transactional_mails WHERE administrator_id = $1 AND template = $2`,
        [scene.club.owner.id, failingMail],
      );
      const deps = {
        db,
        vault,
        sendMail: async (mail: OutgoingMail) => void outbox.push(mail),
        links: {
          classroomUrl: 'https://{slug}.example.com',
          dashboardUrl: 'https://dashboard.example.com',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [],
        kinds: mailKinds,
        onOutcome() {},
      };
      for (const { id: mailId } of rows) await sendTransactionalMail(deps, mailId, now + minute);
      return outbox;
    };

    it('contains club, url and a link to the endpoint', async () => {
      await failingFor(5 * day);
      await failsOnce();
      const [mail, ...others] = await sendAll();
      expect(others).to.deep.equal([]);
      expect(mail?.to).to.equal(scene.club.owner.email);
      expect(mail?.subject).to.equal(`A webhook endpoint of Club ${scene.club.owner.id} was disabled`);
      expect(mail?.text).to.include(publicUrl).and.include(`https://dashboard.example.com/webhooks/${id}`);
      expect(mail?.text).to.not.include('Stella').and.not.include('whsec_');
    });

    it('is not sent if the endpoint was deleted before the mail is sent', async () => {
      await failingFor(5 * day);
      await failsOnce();
      await scene.webhooks.remove(id);
      expect(await sendAll()).to.deep.equal([]);
    });
  });

  it('have no failures after they are enabled again, until five new ones throttle them', async () => {
    await failingFor(5 * day);
    await failsOnce();
    await scene.webhooks.enable(id);
    now += minute;
    for (let failure = 1; failure <= 4; failure++) await failsOnce();
    expect(await read()).to.include({ status: 'enabled', consecutive_failures: 4 });
    expect(await endpointRow(id)).to.include({ breakerStep: 0 });
    await failsOnce();
    expect(await endpointRow(id)).to.include({ breakerStep: 1, consecutiveFailures: 5, status: 'enabled' });
  });
});
