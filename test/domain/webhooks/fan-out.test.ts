import { expect } from 'chai';
import type { Database } from '../../../domain/core/database.ts';
import type { EventType } from '../../../domain/facts/catalogue.policy.ts';
import { removeStudent, updateStudent } from '../../../domain/identity/students.ts';
import { fanOut } from '../../../domain/webhooks/fan-out.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { testPlatform, platformOn } from '../../toolkit/stack/database.ts';
import { eventFaults } from '../../toolkit/assert/contract-schemas.ts';
import {
  alter,
  buildSubscription,
  eventRow,
  factAbout,
  holdingOpen,
  waitingForLocks,
  type Subscription,
} from '../../toolkit/builders/deliveries.ts';
import { buildClub, buildEndpoint, buildStudent } from '../../toolkit/builders/factories.ts';

const url = 'https://hooks.example.com/club';

describe('fan-out of a fact', () => {
  let database: Database;
  before(async () => {
    ({ database } = await testPlatform());
  });

  const deliveriesOf = (eventId: string) =>
    database.source.manager.find(WebhookDelivery, { where: { eventId }, order: { endpointId: 'ASC' } });
  const eventsOf = (eventId: string) =>
    database.source.query<unknown[]>(`SELECT 1 FROM webhook_events WHERE id = $1`, [eventId]);

  describe('whom it goes to', () => {
    it('one delivery an endpoint that asked for the type and is not disabled; none to other clubs', async () => {
      const { id: clubId } = await buildClub();
      const student = await buildStudent(clubId);
      const endpoint = (types: readonly EventType[], status: string, club = clubId) =>
        buildEndpoint(club, url, types).then(async ({ id }) => {
          await alter('webhook_endpoints', id, { status });
          return id;
        });
      const enabled = await endpoint(['student.removed', 'student.updated'], 'enabled');
      const paused = await endpoint(['student.updated'], 'paused');
      await endpoint(['student.updated'], 'disabled');
      await endpoint(['student.created', 'student.removed'], 'enabled');
      await endpoint(['student.updated'], 'enabled', (await buildClub()).id);

      const fact = factAbout({ clubId, studentId: student.id }, 'student.updated', new Date(1_750_000_000_000));
      const now = new Date(1_750_000_005_000);
      const made = await fanOut(database, fact, now);

      const rows = await deliveriesOf(fact.id);
      expect(rows.map(({ endpointId }) => endpointId)).to.deep.equal([enabled, paused].toSorted());
      for (const row of rows) {
        expect(row).to.deep.include({
          clubId,
          eventId: fact.id,
          eventType: 'student.updated',
          studentId: student.id,
          status: 'pending',
          cancelReason: null,
          payloadPurgedAt: null,
          attemptCount: 0,
          nextAttemptAt: now,
          createdAt: now,
          completedAt: null,
          fence: 0,
        });
      }
      const idOf = (endpointId: string) => rows.find((row) => row.endpointId === endpointId)?.id;
      const attributes = { ClubId: clubId, EventType: 'student.updated' };
      expect(made).to.have.deep.members([
        { id: idOf(enabled), endpointId: enabled, healthy: true, attributes: { ...attributes, EndpointId: enabled } },
        { id: idOf(paused), endpointId: paused, healthy: true, attributes: { ...attributes, EndpointId: paused } },
      ]);
    });

    it('webhook-id: all endpoints of the club share one event with one body', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      await fanOut(database, fact, new Date());
      expect((await deliveriesOf(fact.id)).map(({ eventId }) => eventId)).to.deep.equal([fact.id, fact.id, fact.id]);
      expect(await eventsOf(fact.id)).to.have.length(1);
    });

    it('nobody asked: nothing is written', async () => {
      const subscription = await buildSubscription(url, ['student.created']);
      const fact = factAbout(subscription, 'student.updated');
      expect(await fanOut(database, fact, new Date())).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.deep.equal([]);
      expect(await eventsOf(fact.id)).to.deep.equal([]);
    });

    it('an endpoint whose last attempt failed is told apart', async () => {
      const subscription = await buildSubscription(url);
      await alter('webhook_endpoints', subscription.endpoint.id, { consecutive_failures: 1 });
      const [made] = await fanOut(database, factAbout(subscription, 'student.updated'), new Date());
      expect(made?.healthy).to.equal(false);
    });

    it('an endpoint that is being disabled gets nothing: the fan-out waits for the change', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let made: unknown;
      await holdingOpen(
        (tx) => tx.query(`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = $1`, [subscription.endpoint.id]),
        async () => {
          made = fanOut(database, fact, new Date());
          await waitingForLocks(1);
        },
      );
      expect(await made).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.deep.equal([]);
    });
  });

  describe('the body', () => {
    it('shows the resource as it is at that moment, not as it was at the fact', async () => {
      const platform = await testPlatform();
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.created', new Date(1_750_000_000_000));
      await updateStudent(platform, subscription.clubId, subscription.studentId, { name: 'Married Name' }, new Date());
      await fanOut(database, fact, new Date());
      const body = JSON.parse((await eventRow(fact.id)).body ?? '');
      expect(body).to.nested.include({ id: fact.id, type: 'student.created', 'data.student.name': 'Married Name' });
      expect(body.occurred_at).to.equal('2025-06-15T15:06:40.000Z');
    });

    for (const type of ['student.created', 'student.updated', 'student.removed'] as const) {
      it(`${type}: is what the contract declares`, async () => {
        const subscription = await buildSubscription(url);
        if (type === 'student.removed') {
          await removeStudent(platformOn(database), subscription.clubId, subscription.studentId, new Date());
        }
        const fact = factAbout(subscription, type);
        await fanOut(database, fact, new Date());
        expect(eventFaults(type, JSON.parse((await eventRow(fact.id)).body ?? ''))).to.deep.equal([]);
      });
    }
  });

  describe('repeated, because the relay that did it first has died', () => {
    it('changes nothing and gives the same answer', async () => {
      const platform = await testPlatform();
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const first = await fanOut(database, fact, new Date());
      const before = { deliveries: await deliveriesOf(fact.id), event: await eventRow(fact.id) };

      await updateStudent(platform, subscription.clubId, subscription.studentId, { name: 'Other' }, new Date());
      expect(await fanOut(database, fact, new Date(Date.now() + 60_000))).to.have.deep.members(first);
      expect({ deliveries: await deliveriesOf(fact.id), event: await eventRow(fact.id) }).to.deep.equal(before);
    });

    it('gives only what is still on its way', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const [done, waiting] = await fanOut(database, fact, new Date());
      await alter('webhook_deliveries', done?.id ?? '', { status: 'succeeded' });
      expect(await fanOut(database, fact, new Date())).to.deep.equal([waiting]);
    });

    it('by two relays at once: one event, one delivery an endpoint', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const answers = await Promise.all(Array.from({ length: 8 }, () => fanOut(database, fact, new Date())));
      const ids = (await deliveriesOf(fact.id)).map(({ id }) => id);
      expect(ids).to.have.length(2);
      for (const made of answers) expect(made.map(({ id }) => id)).to.have.members(ids);
    });
  });

  describe('delivery rule 9: a student who was removed', () => {
    const remove = ({ clubId, studentId }: Subscription) =>
      removeStudent(platformOn(database), clubId, studentId, new Date());
    /** Nothing that could be sent about the student is left. */
    const expectNothingToSend = async (eventId: string) => {
      const rows = await deliveriesOf(eventId);
      expect(rows).to.have.length(1);
      for (const row of rows) {
        expect(row).to.include({ status: 'canceled', cancelReason: 'student_removed' });
        expect(row.payloadPurgedAt).to.be.an.instanceOf(Date);
        expect(row.completedAt).to.be.an.instanceOf(Date);
      }
      expect((await eventRow(eventId)).body).to.equal(null);
    };

    it('what happened before is recorded as canceled, without a body, and starts nothing', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      await remove(subscription);
      expect(await fanOut(database, fact, new Date())).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.have.length(1);
      await expectNothingToSend(fact.id);
      expect(await fanOut(database, fact, new Date()), 'repeated').to.deep.equal([]);
    });

    it('student.removed alone goes out, with the id only', async () => {
      const subscription = await buildSubscription(url);
      await remove(subscription);
      const fact = factAbout(subscription, 'student.removed');
      expect(await fanOut(database, fact, new Date())).to.have.length(1);
      expect((await deliveriesOf(fact.id)).map(({ status }) => status)).to.deep.equal(['pending']);
      expect(JSON.parse((await eventRow(fact.id)).body ?? '').data).to.deep.equal({
        student: { id: subscription.studentId },
      });
    });

    it('removal under way, not yet committed: the fan-out waits for it and sends nothing', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let removing: Promise<void> | undefined;
      let made: Promise<unknown> | undefined;
      // The removal ends sessions after it has locked and emptied the student: there it is held up.
      await holdingOpen(
        (tx) => tx.query(`SELECT 1 FROM student_sessions WHERE student_id = $1 FOR UPDATE`, [subscription.studentId]),
        async () => {
          removing = remove(subscription);
          await waitingForLocks(1);
          made = fanOut(database, fact, new Date());
          await waitingForLocks(2);
        },
      );
      await removing;
      expect(await made).to.deep.equal([]);
      await expectNothingToSend(fact.id);
    });

    it('fan-out under way, not yet committed: the removal waits for it and takes everything back', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let removing: Promise<void> | undefined;
      let made: Promise<{ id: string }[]> | undefined;
      // The fan-out locks the endpoints after the student: there it is held up.
      await holdingOpen(
        (tx) => tx.query(`SELECT 1 FROM webhook_endpoints WHERE id = $1 FOR UPDATE`, [subscription.endpoint.id]),
        async () => {
          made = fanOut(database, fact, new Date());
          await waitingForLocks(1);
          removing = remove(subscription);
          await waitingForLocks(2);
        },
      );
      const [delivery] = (await made) ?? [];
      await removing;
      await expectNothingToSend(fact.id);
      const wakes = await database.source.query<unknown[]>(`SELECT 1 FROM wakes WHERE workflow_id = $1`, [
        `webhook-delivery/${delivery?.id}`,
      ]);
      expect(wakes, 'its workflow, if it was started, is told to look again').to.have.length(1);
    });

    it('both at once, thirty times: never a body, never a pending delivery', async () => {
      await Promise.all(
        Array.from({ length: 30 }, async (_, round) => {
          const subscription = await buildSubscription(url);
          const fact = factAbout(subscription, 'student.updated');
          const acts = [() => fanOut(database, fact, new Date()), () => remove(subscription)];
          if (round % 2 === 1) acts.reverse();
          await Promise.all(acts.map((act) => act()));
          await expectNothingToSend(fact.id);
        }),
      );
    });
  });
});
