import { inShort, startsOf } from '../../../toolkit/drive/facts.ts';
import { expect } from 'chai';
import { bulk, type Priority } from '../../../../entities/facts/values.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sqlStateOf } from '../../../../platform/infra/postgres/errors.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import type { EventType } from '../../../../platform/core/event-types.ts';
import { createLevel } from '../../../../domain/learning/engagement/levels.ts';
import { createTag } from '../../../../domain/learning/engagement/tags.ts';
import { removeStudent, updateStudent } from '../../../../domain/students/students.ts';
import { fanOut, fanOutFacts } from '../../../../domain/webhooks/events/fan-out.ts';
import { WebhookDelivery } from '../../../../entities/webhooks/webhook-delivery.ts';
import { testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import { eventFaults } from '../../../toolkit/assert/contract-schemas.ts';
import { eventRow } from '../../../toolkit/assert/webhooks.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { buildEndpoint, buildSubscription, factAbout, type Subscription } from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { countingStatements } from '../../../toolkit/fakes/databases.ts';

const url = 'https://hooks.example.com/club';

describe('the fan-out of a fact', () => {
  let db: Database;
  before(async () => {
    ({ db } = await testDeps());
  });

  const deliveriesOf = (eventId: string) =>
    db.source.manager.find(WebhookDelivery, { where: { eventId }, order: { endpointId: 'ASC' } });
  const eventsOf = (eventId: string) =>
    db.source.query<unknown[]>(`SELECT 1 FROM webhook_events WHERE id = $1`, [eventId]);

  describe('the recipients', () => {
    it('are the club’s endpoints that subscribe to the type and are not disabled (DEL-10)', async () => {
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
      const deliveries = await fanOut(db, fact, now);

      const rows = await deliveriesOf(fact.id);
      expect(rows.map(({ endpointId }) => endpointId)).to.deep.equal([enabled, paused].toSorted());
      for (const row of rows) {
        expect(row, row.endpointId).to.deep.include({
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
      expect(deliveries).to.have.deep.members([
        { id: idOf(enabled), endpointId: enabled, healthy: true },
        { id: idOf(paused), endpointId: paused, healthy: true },
      ]);
    });

    it('get one run each, with a local attempt if the endpoint is healthy', async () => {
      const { clubId, studentId, endpoint } = await buildSubscription(url);
      const facts = [1, 2].map(() => ({
        ...factAbout({ clubId, studentId }, 'student.updated'),
        priority: 1 as const,
      }));
      const runs = (await fanOutFacts(db, facts, new Date())).flatMap(startsOf);
      const ids = (await Promise.all(facts.map(({ id }) => deliveriesOf(id)))).flat().map(({ id }) => id);
      expect(runs).to.deep.equal(
        ids.map((subjectId) => ({
          workflowType: 'webhookDelivery',
          subjectId,
          clubId,
          attributes: { ClubId: clubId, EndpointId: endpoint.id, EventType: 'student.updated' },
          localAttemptAt: endpoint.id,
        })),
      );
    });

    it('are found without a lock for bulk facts', async () => {
      const { clubId, studentId, endpoint } = await buildSubscription(url, ['student.created']);
      const bulkFact = (type: EventType) => ({
        ...factAbout({ clubId, studentId }, type),
        priority: bulk as Priority,
      });
      const unsubscribed = [bulkFact('student.updated'), bulkFact('access.granted')];
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT 1 FROM students WHERE id = ${studentId} FOR UPDATE`),
        async () => void expect((await fanOutFacts(db, unsubscribed, new Date())).map(inShort)).to.deep.equal([0, 0]),
      );
      const results = await fanOutFacts(db, [...unsubscribed, bulkFact('student.created')], new Date());
      expect(results.flatMap(startsOf).map(({ attributes }) => attributes)).to.deep.equal([
        { ClubId: clubId, EndpointId: endpoint.id, EventType: 'student.created' },
      ]);
    });

    describe('of several facts together', () => {
      const priority = 1 as const;
      const updateOf = (about: Parameters<typeof factAbout>[0]) => ({
        ...factAbout(about, 'student.updated'),
        priority,
      });

      it('are written together or, if one body is unreadable, not at all', async () => {
        const subscription = await buildSubscription(url, ['student.updated', 'lesson.completed']);
        const good = updateOf(subscription);
        const bad = { ...factAbout(subscription, 'lesson.completed'), priority, subjectId: newId() };
        const failed = await fanOutFacts(db, [good, bad], new Date()).catch((error: unknown) => error);
        expect(failed).to.be.instanceOf(Error);
        expect(await deliveriesOf(good.id)).to.deep.equal([]);
        expect((await fanOutFacts(db, [good], new Date())).map(inShort)).to.deep.equal([1]);
      });

      it('are found by club and type, in the order of the facts', async () => {
        const [one, other] = [await buildSubscription(url), await buildSubscription(url, ['student.created'])];
        const facts = [
          updateOf(one),
          updateOf(other),
          { ...factAbout(other, 'student.created'), priority },
          updateOf(one),
        ];
        const results = await fanOutFacts(db, facts, new Date());
        expect(results.map((runs) => startsOf(runs).map(({ attributes }) => attributes.EndpointId))).to.deep.equal([
          [one.endpoint.id],
          [],
          [other.endpoint.id],
          [one.endpoint.id],
        ]);
        expect(await Promise.all(facts.map(({ id }) => deliveriesOf(id).then((rows) => rows.length)))).to.deep.equal([
          1, 0, 1, 1,
        ]);
      });

      it('need no more statements for 20 facts than for two facts', async () => {
        const subscription = await buildSubscription(url, ['student.tagged', 'student.level_reached']);
        const { clubId } = subscription;
        const tag = await createTag({ db }, clubId, { name: 'vip' }, new Date());
        const level = await createLevel({ db }, clubId, { name: 'Bosun', points: 500 }, new Date());
        const statementsFor = async (count: number) => {
          const facts = Array.from({ length: count }, (_, at) => {
            const [type, { id: subjectId }]: [EventType, { id: Id }] =
              at % 2 === 0 ? ['student.tagged', tag] : ['student.level_reached', level];
            return { ...factAbout(subscription, type), priority, subjectId };
          });
          const counting = countingStatements(db);
          const results = await fanOutFacts(counting, facts, new Date());
          expect(results.map(inShort)).to.deep.equal(facts.map(() => 1));
          return counting.statements();
        };
        expect(await statementsFor(20))
          .to.equal(await statementsFor(2))
          .and.to.be.at.least(2);
      });

      it('exclude only a fact of a locked student', async () => {
        const [locked, free] = [await buildSubscription(url), await buildSubscription(url)];
        const facts = [updateOf(locked), updateOf(free)];
        await withOpenTransaction(
          (tx) => tx.run(sql`SELECT 1 FROM students WHERE id = ${locked.studentId} FOR UPDATE`),
          async () => {
            expect((await fanOutFacts(db, facts, new Date())).map(inShort)).to.deep.equal(['blocked', 1]);
          },
        );
        expect((await fanOutFacts(db, facts, new Date())).map(inShort)).to.deep.equal([1, 1]);
      });

      it('wait at most 100 ms for a locked endpoint, and then fail', async () => {
        const [locked, free] = [await buildSubscription(url), await buildSubscription(url)];
        const facts = [updateOf(locked), updateOf(free)];
        await withOpenTransaction(
          (tx) => tx.run(sql`SELECT 1 FROM webhook_endpoints WHERE id = ${locked.endpoint.id} FOR UPDATE`),
          async () => {
            const failed = await fanOutFacts(db, facts, new Date()).catch((error: unknown) => error);
            expect(sqlStateOf(failed)).to.equal('55P03');
            expect((await fanOutFacts(db, facts.slice(1), new Date())).map(inShort)).to.deep.equal([1]);
          },
        );
        expect(await deliveriesOf(facts[0]?.id ?? '')).to.deep.equal([]);
      });

      it('are the same in a second fan-out', async () => {
        const [one, other] = [await buildSubscription(url), await buildSubscription(url)];
        const facts = [updateOf(one), updateOf(other)];
        const first = await fanOutFacts(db, facts, new Date());
        await removeStudent(depsOn(db), other.clubId, other.studentId, new Date());
        const again = await fanOutFacts(db, [...facts, updateOf(other), updateOf(one)], new Date());
        expect(again[0]).to.deep.equal(first[0]);
        expect(again.slice(1).map(inShort)).to.deep.equal([0, 0, 1]);
        expect(new Set((await deliveriesOf(facts[1]?.id ?? '')).map(({ status }) => status))).to.deep.equal(
          new Set(['canceled']),
        );
      });
    });

    it('share one event with one body and one webhook-id', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      await fanOut(db, fact, new Date());
      expect((await deliveriesOf(fact.id)).map(({ eventId }) => eventId)).to.deep.equal([fact.id, fact.id, fact.id]);
      expect(await eventsOf(fact.id)).to.have.length(1);
    });

    it('are none if no endpoint subscribes to the type (DEL-16)', async () => {
      const subscription = await buildSubscription(url, ['student.created']);
      const fact = factAbout(subscription, 'student.updated');
      expect(await fanOut(db, fact, new Date())).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.deep.equal([]);
      expect(await eventsOf(fact.id)).to.deep.equal([]);
    });

    it('are marked as not healthy if their last attempt failed', async () => {
      const subscription = await buildSubscription(url);
      await alter('webhook_endpoints', subscription.endpoint.id, { consecutive_failures: 1 });
      const [delivery] = await fanOut(db, factAbout(subscription, 'student.updated'), new Date());
      expect(delivery?.healthy).to.equal(false);
    });

    it('exclude an endpoint that is being disabled', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let deliveries: unknown;
      await withOpenTransaction(
        (tx) =>
          tx.manager.query(`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = $1`, [
            subscription.endpoint.id,
          ]),
        async () => {
          deliveries = fanOut(db, fact, new Date());
          await untilWaitingForLocks(1);
        },
      );
      expect(await deliveries).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.deep.equal([]);
    });
  });

  describe('the body', () => {
    it('shows the resource at the time of the fan-out (DEL-15)', async () => {
      const deps = await testDeps();
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.created', new Date(1_750_000_000_000));
      await updateStudent(
        deps,
        subscription.clubId,
        subscription.studentId,
        { name: 'Married Name' },
        'owner',
        new Date(),
      );
      await fanOut(db, fact, new Date());
      const body = JSON.parse((await eventRow(fact.id)).body ?? '');
      expect(body).to.nested.include({ id: fact.id, type: 'student.created', 'data.student.name': 'Married Name' });
      expect(body.occurred_at).to.equal('2025-06-15T15:06:40.000Z');
    });

    for (const type of ['student.created', 'student.updated', 'student.removed'] as const) {
      it(`matches the contract for ${type}`, async () => {
        const subscription = await buildSubscription(url);
        if (type === 'student.removed') {
          await removeStudent(depsOn(db), subscription.clubId, subscription.studentId, new Date());
        }
        const fact = factAbout(subscription, type);
        await fanOut(db, fact, new Date());
        expect(eventFaults(type, JSON.parse((await eventRow(fact.id)).body ?? ''))).to.deep.equal([]);
      });
    }
  });

  describe('after the death of a relay', () => {
    it('returns the existing deliveries and changes no row', async () => {
      const deps = await testDeps();
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const first = await fanOut(db, fact, new Date());
      const before = { deliveries: await deliveriesOf(fact.id), event: await eventRow(fact.id) };

      await updateStudent(deps, subscription.clubId, subscription.studentId, { name: 'Other' }, 'owner', new Date());
      expect(await fanOut(db, fact, new Date(Date.now() + 60_000))).to.have.deep.members(first);
      expect({ deliveries: await deliveriesOf(fact.id), event: await eventRow(fact.id) }).to.deep.equal(before);
    });

    it('gives a new endpoint a delivery with the first creation time', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      const first = new Date();
      const [before] = await fanOut(db, fact, first);
      const later = await buildEndpoint(subscription.clubId, url);
      const deliveries = await fanOut(db, fact, new Date(first.getTime() + 40 * 86_400_000));
      expect(deliveries.map(({ endpointId }) => endpointId)).to.have.members([before?.endpointId, later.id]);
      expect((await deliveriesOf(fact.id)).map(({ createdAt }) => createdAt)).to.deep.equal([first, first]);
    });

    it('returns only the deliveries that have not ended', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const [ended, waiting] = await fanOut(db, fact, new Date());
      await alter('webhook_deliveries', ended?.id ?? '', { status: 'succeeded' });
      expect(await fanOut(db, fact, new Date())).to.deep.equal([waiting]);
    });

    it('writes one event in eight concurrent relays (ENG-8)', async () => {
      const subscription = await buildSubscription(url);
      await buildEndpoint(subscription.clubId, url);
      const fact = factAbout(subscription, 'student.updated');
      const answers = await Promise.all(Array.from({ length: 8 }, () => fanOut(db, fact, new Date())));
      const ids = (await deliveriesOf(fact.id)).map(({ id }) => id);
      expect(ids).to.have.length(2);
      const expected = ids.toSorted();
      expect(answers.map((deliveries) => deliveries.map(({ id }) => id).toSorted())).to.deep.equal(
        answers.map(() => expected),
      );
    });
  });

  describe('after the removal of a student (DEL-9)', () => {
    const remove = ({ clubId, studentId }: Subscription) => removeStudent(depsOn(db), clubId, studentId, new Date());
    /** Checks that the event's only delivery is canceled and purged. */
    const expectNothingToSend = async (eventId: string) => {
      const [row, ...others] = await deliveriesOf(eventId);
      expect(others).to.deep.equal([]);
      expect(row).to.include({ status: 'canceled', cancelReason: 'student_removed' });
      expect(row?.payloadPurgedAt).to.be.an.instanceOf(Date);
      expect(row?.completedAt).to.be.an.instanceOf(Date);
      expect((await eventRow(eventId)).body).to.equal(null);
    };

    it('records earlier facts as canceled deliveries without a body', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      await remove(subscription);
      expect(await fanOut(db, fact, new Date())).to.deep.equal([]);
      expect(await deliveriesOf(fact.id)).to.have.length(1);
      await expectNothingToSend(fact.id);
      expect(await fanOut(db, fact, new Date()), 'repeated').to.deep.equal([]);
    });

    it('sends student.removed with only the id', async () => {
      const subscription = await buildSubscription(url);
      await remove(subscription);
      const fact = factAbout(subscription, 'student.removed');
      expect(await fanOut(db, fact, new Date())).to.have.length(1);
      expect((await deliveriesOf(fact.id)).map(({ status }) => status)).to.deep.equal(['pending']);
      expect(JSON.parse((await eventRow(fact.id)).body ?? '').data).to.deep.equal({
        student: { id: subscription.studentId },
      });
    });

    it('waits for an uncommitted removal, and sends no event', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let removing: Promise<void> | undefined;
      let deliveries: Promise<unknown> | undefined;
      // The removal locks the student before the sessions. The test locks the sessions, so the removal waits there.
      await withOpenTransaction(
        (tx) =>
          tx.manager.query(`SELECT 1 FROM student_sessions WHERE student_id = $1 FOR UPDATE`, [subscription.studentId]),
        async () => {
          removing = remove(subscription);
          await untilWaitingForLocks(1);
          deliveries = fanOut(db, fact, new Date());
          await untilWaitingForLocks(2);
        },
      );
      await removing;
      expect(await deliveries).to.deep.equal([]);
      await expectNothingToSend(fact.id);
    });

    it('makes a removal wait for the fan-out, and then cancel its deliveries', async () => {
      const subscription = await buildSubscription(url);
      const fact = factAbout(subscription, 'student.updated');
      let removing: Promise<void> | undefined;
      let deliveries: Promise<readonly { id: string }[]> | undefined;
      // The fan-out locks the student before the endpoints. The test locks the endpoint, so the fan-out waits there.
      await withOpenTransaction(
        (tx) =>
          tx.manager.query(`SELECT 1 FROM webhook_endpoints WHERE id = $1 FOR UPDATE`, [subscription.endpoint.id]),
        async () => {
          deliveries = fanOut(db, fact, new Date());
          await untilWaitingForLocks(1);
          removing = remove(subscription);
          await untilWaitingForLocks(2);
        },
      );
      const [delivery] = (await deliveries) ?? [];
      await removing;
      await expectNothingToSend(fact.id);
      const wakes = await db.source.query<unknown[]>(`SELECT 1 FROM wakes WHERE workflow_id = $1`, [
        `webhook-delivery/${delivery?.id}`,
      ]);
      expect(wakes, 'the wake of its workflow').to.have.length(1);
    });

    it('leaves no body if a fan-out and a removal run together', async () => {
      await Promise.all(
        Array.from({ length: 30 }, async (_, round) => {
          const subscription = await buildSubscription(url);
          const fact = factAbout(subscription, 'student.updated');
          const acts = [() => fanOut(db, fact, new Date()), () => remove(subscription)];
          if (round % 2 === 1) acts.reverse();
          await Promise.all(acts.map((act) => act()));
          await expectNothingToSend(fact.id);
        }),
      );
    });
  });
});
