import { expect } from 'chai';
import { removeStudent } from '../../../../domain/students/students.ts';
import { handOverLost } from '../../../../domain/webhooks/attempts/claims.ts';
import { rotateSecret } from '../../../../domain/webhooks/endpoints/rotation.ts';
import { fanOutFacts, type FanOutOptions } from '../../../../domain/webhooks/events/fan-out.ts';
import { bulk, type Priority } from '../../../../entities/facts/values.ts';
import { WebhookDelivery } from '../../../../entities/webhooks/webhook-delivery.ts';
import type { EventType } from '../../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { recordFact, type ClaimedFact } from '../../../../platform/engine/facts.ts';
import { StaleRead, type Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { attemptRows, deliveryOf, deliveryRow, eventRow } from '../../../toolkit/assert/webhooks.ts';
import { buildEndpoint, buildSubscription, type Subscription } from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { claimed } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { inShort, startsOf } from '../../../toolkit/drive/facts.ts';
import { withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { unreliable, watching } from '../../../toolkit/fakes/databases.ts';
import { fakeLane } from '../../../toolkit/fakes/direct-lane.ts';
import { depsOn, testDeps } from '../../../toolkit/stack/database.ts';

const url = 'https://receiver.test/hook';
const leaseMs = 25_000;

describe('the fan-out to the direct lane (HOOK-18)', () => {
  let db: Database;
  let subscription: Subscription;
  let now: Date;
  beforeEach(async () => {
    ({ db } = await testDeps());
    now = new Date();
    subscription = await buildSubscription(url);
  });

  const recordFor = async (
    { clubId, studentId }: Subscription,
    type: EventType = 'student.updated',
    priority: Priority = 1,
    subjectId?: Id,
  ): Promise<ClaimedFact> => {
    const fact = { clubId, studentId, type, occurredAt: now, priority };
    const id = await db.transaction((tx) => recordFact(tx, { ...fact, ...(subjectId && { subjectId }) }));
    return { ...fact, id, subjectId: subjectId ?? null, details: null };
  };
  /** Whether each fact still waits for the relay. */
  const waiting = (facts: readonly ClaimedFact[]) =>
    Promise.all(facts.map(async ({ id }) => (await db.one(sql`SELECT 1 FROM facts WHERE id = ${id}`)) !== undefined));
  const deliveriesOf = ({ id }: { id: Id }) =>
    db.manager.find(WebhookDelivery, { where: { eventId: id }, order: { id: 'ASC' } });
  const fanOutNow = (facts: readonly ClaimedFact[], options: FanOutOptions, on = db) =>
    fanOutFacts(on, facts, now, options);
  const removeTheStudent = ({ clubId, studentId } = subscription) =>
    removeStudent(depsOn(db), clubId, studentId, new Date());
  const at =
    (...endpoints: readonly { id: Id }[]) =>
    ({ endpointId }: { endpointId: Id }) =>
      endpoints.some(({ id }) => id === endpointId);

  describe('the claim', () => {
    it('is written with the delivery: fence 1, a lease of 25 s, and attempt 1', async () => {
      const lane = fakeLane();
      const fact = await recordFor(subscription);
      const startedAt = Date.now();
      await fanOutNow([fact], { lane });
      const [row, ...others] = await deliveriesOf(fact);
      expect(others).to.deep.equal([]);
      expect(row).to.deep.include({
        status: 'pending',
        direct: true,
        fence: 1,
        attemptCount: 0,
        schedulePosition: 0,
        requested: null,
        inFlight: null,
        parkedAt: null,
        nextAttemptAt: now,
        createdAt: now,
        completedAt: null,
      });
      expect(row?.leaseUntil?.getTime()).to.be.within(startedAt + leaseMs - 1, Date.now() + leaseMs + 1);
      expect(await attemptRows(row?.id ?? '')).to.deep.equal([
        {
          deliveryId: row?.id,
          fence: 1,
          number: 1,
          trigger: 'schedule',
          startedAt: now,
          outcome: null,
          durationMs: null,
          responseStatus: null,
          responseExcerpt: null,
          retryAfterSeconds: null,
          errorCode: null,
        },
      ]);
      expect(lane.startedAttempts.map(({ id }) => id)).to.deep.equal([row?.id]);
    });

    for (const secrets of ['one secret', 'a rotated secret', 'a rotated secret that has expired'] as const) {
      it(`equals the claim of a workflow step (${secrets})`, async () => {
        const { clubId, endpoint } = subscription;
        if (secrets !== 'one secret')
          await rotateSecret(await testDeps(), clubId, endpoint.id, { expirePrevious: false }, now);
        if (secrets.endsWith('expired'))
          await alter('webhook_endpoints', endpoint.id, { previous_secret_expires_at: new Date(now.getTime() - 1) });
        await alter('webhook_endpoints', endpoint.id, { breaker_epoch: 3 });
        const fact = await recordFor(subscription);
        const rows = async () => {
          const found = await deliveriesOf(fact);
          const ids = { id: null, leaseUntil: null, direct: null };
          const attempts = await Promise.all(found.map(({ id }) => attemptRows(id)));
          return {
            deliveries: found.map((one) => Object.assign({}, one, ids)),
            attempts: attempts.flat().map((one) => Object.assign({}, one, { deliveryId: null })),
          };
        };
        const lane = fakeLane();
        await fanOutNow([fact], { lane });
        const claimsHere = lane.startedAttempts.map(({ claim }) => claim);
        const rowsHere = await rows();

        for (const { id } of await deliveriesOf(fact))
          await db.run(sql`DELETE FROM webhook_attempts WHERE delivery_id = ${id}`);
        await db.run(sql`DELETE FROM webhook_deliveries WHERE event_id = ${fact.id}`);
        await db.run(sql`DELETE FROM webhook_events WHERE id = ${fact.id}`);
        await db.run(sql`DELETE FROM webhook_bodies WHERE event_id = ${fact.id}`);
        await fanOutNow([fact], {});
        const deliveries = await deliveriesOf(fact);
        const claimsOfRuns = await Promise.all(deliveries.map((one) => claimed(one, now.getTime())));
        expect(claimsHere).to.deep.equal(
          claimsOfRuns.map((claim) => ({ ...claim, direct: true, priority: fact.priority })),
        );
        expect(claimsHere[0]?.previousSecret !== null).to.equal(secrets === 'a rotated secret');
        expect(await rows()).to.deep.equal(rowsHere);
      });
    }

    it('is not made for a delivery without a permit', async () => {
      const lane = fakeLane(() => false);
      const fact = await recordFor(subscription);
      const [runs] = await fanOutNow([fact], { lane });
      const [row] = await deliveriesOf(fact);
      expect(startsOf(runs).map(({ subjectId }) => subjectId)).to.deep.equal([row?.id]);
      expect(row).to.include({ direct: false, fence: 0, leaseUntil: null });
      expect(await attemptRows(row?.id ?? '')).to.deep.equal([]);
      expect(lane.offered).to.deep.equal([{ deliveryId: row?.id, endpointId: subscription.endpoint.id, url }]);
      expect(lane.startedAttempts).to.deep.equal([]);
    });

    it('contains the time of the claim by the monotonic clock', async () => {
      const lane = fakeLane();
      const earliest = performance.now();
      await fanOutNow([await recordFor(subscription), await recordFor(subscription)], { lane });
      expect(lane.startedAttempts).to.have.length(2);
      for (const { claimedAt } of lane.startedAttempts) expect(claimedAt).to.be.within(earliest, performance.now());
    });
  });

  describe('a fact', () => {
    it('is deleted in the same transaction if all its deliveries are attempted directly', async () => {
      const endpoints = [subscription.endpoint, await buildEndpoint(subscription.clubId, url)];
      const lane = fakeLane();
      const fact = await recordFor(subscription);
      const factAtCommit: unknown[] = [];
      const looking = watching(db, async (tx) =>
        factAtCommit.push(await tx.one(sql`SELECT 1 FROM facts WHERE id = ${fact.id}`)),
      );
      expect((await fanOutNow([fact], { lane }, looking)).map(inShort)).to.deep.equal(['removed']);
      expect(factAtCommit).to.deep.equal([undefined]);
      expect(await waiting([fact])).to.deep.equal([false]);
      expect(lane.startedAttempts.map(({ claim }) => claim.endpointId).toSorted()).to.deep.equal(
        endpoints.map(({ id }) => id).toSorted(),
      );
    });

    describe('with one direct and one other delivery', () => {
      let other: { id: Id };
      let fact: ClaimedFact;
      let first: Awaited<ReturnType<typeof fanOutNow>>;
      beforeEach(async () => {
        other = await buildEndpoint(subscription.clubId, url);
        fact = await recordFor(subscription);
        first = await fanOutNow([fact], { lane: fakeLane(at(subscription.endpoint)) });
      });

      it('is kept, so that the relay starts the run of the other delivery', async () => {
        const otherDelivery = (await deliveriesOf(fact)).find(({ endpointId }) => endpointId === other.id);
        expect(first.map(startsOf)).to.deep.equal([
          [
            {
              workflowType: 'webhookDelivery',
              subjectId: otherDelivery?.id,
              clubId: fact.clubId,
              attributes: { ClubId: fact.clubId, EndpointId: other.id, EventType: 'student.updated' },
              localAttemptAt: other.id,
            },
          ],
        ]);
        expect(otherDelivery).to.include({ direct: false, fence: 0 });
        expect(await waiting([fact])).to.deep.equal([true]);
      });

      for (const { what, lane } of [
        { what: 'with the lane', lane: fakeLane() },
        { what: 'without the lane', lane: undefined },
      ]) {
        it(`starts no run for the direct delivery in a second fan-out (${what})`, async () => {
          const before = await deliveriesOf(fact);
          expect(await fanOutNow([fact], lane ? { lane } : {})).to.deep.equal(first);
          expect(await deliveriesOf(fact)).to.deep.equal(before);
          expect(lane?.startedAttempts ?? []).to.deep.equal([]);
          expect([...(lane?.permits ?? [])]).to.deep.equal([]);
          expect(await waiting([fact])).to.deep.equal([true]);
        });
      }

      it('starts a run for the direct delivery after its hand-over', async () => {
        const direct = (await deliveriesOf(fact)).filter((one) => one.direct);
        for (const { id } of direct) await endLease(id);
        await handOverLost(db, now);
        const [runs] = await fanOutNow([fact], { lane: fakeLane() });
        expect(startsOf(runs).map(({ attributes }) => attributes.EndpointId)).to.have.members([
          other.id,
          subscription.endpoint.id,
        ]);
      });
    });

    it('stays without a run if another consumer needs the fact', async () => {
      const facts = [await recordFor(subscription), await recordFor(subscription)];
      const [keptId] = facts.map(({ id }) => id);
      const lane = fakeLane();
      expect(
        (await fanOutNow(facts, { lane, neededByOthers: new Set(keptId ? [keptId] : []) })).map(inShort),
      ).to.deep.equal([0, 'removed']);
      expect(await waiting(facts)).to.deep.equal([true, false]);
      expect(lane.startedAttempts).to.have.length(2);
      expect(
        (await fanOutNow(facts.slice(0, 1), { lane, neededByOthers: new Set() })).map(inShort),
        'the second fan-out',
      ).to.deep.equal(['removed']);
      expect(lane.startedAttempts).to.have.length(2);
    });

    it('is deleted if a lane exists but no endpoint subscribes', async () => {
      const facts = [await recordFor(subscription, 'access.granted'), await recordFor(subscription, 'access.granted')];
      expect((await fanOutNow(facts.slice(0, 1), {})).map(inShort)).to.deep.equal([0]);
      expect(await waiting(facts)).to.deep.equal([true, true]);
      expect((await fanOutNow(facts.slice(0, 1), { lane: fakeLane() })).map(inShort)).to.deep.equal(['removed']);
      expect(await waiting(facts)).to.deep.equal([false, true]);
    });

    it('has its own result if several facts are fanned out together', async () => {
      const [runs, unsubscribed, locked] = [
        await buildSubscription(url),
        await buildSubscription(url, ['student.created']),
        await buildSubscription(url),
      ];
      const facts: ClaimedFact[] = [];
      for (const about of [subscription, runs, unsubscribed, locked, subscription]) facts.push(await recordFor(about));
      const lane = fakeLane(at(subscription.endpoint, locked.endpoint));
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT 1 FROM students WHERE id = ${locked.studentId} FOR UPDATE`),
        async () => {
          const answers = await fanOutNow(facts, { lane });
          expect(answers.map(inShort)).to.deep.equal(['removed', 1, 0, 'blocked', 'removed']);
        },
      );
      expect(await waiting(facts)).to.deep.equal([false, true, true, true, false]);
      expect(lane.startedAttempts.map(({ claim }) => claim.eventId)).to.deep.equal([facts[0]?.id, facts[4]?.id]);
      expect([...lane.permits]).to.deep.equal(lane.startedAttempts.map(({ id }) => id));
    });

    it('is attempted directly only while a permit is free', async () => {
      const facts: ClaimedFact[] = [];
      for (let count = 0; count < 5; count++) facts.push(await recordFor(subscription));
      let slots = 2;
      const lane = fakeLane(() => slots-- > 0);
      const answers = await fanOutNow(facts, { lane });
      expect(answers.map(inShort)).to.deep.equal(['removed', 'removed', 1, 1, 1]);
      expect(await waiting(facts)).to.deep.equal([false, false, true, true, true]);
    });
  });

  describe('the offer to the lane', () => {
    const failing = { consecutive_failures: 1, failing_since: new Date(0) };
    for (const { what, state, healthy } of [
      { what: 'fails', state: failing, healthy: false },
      { what: 'is throttled', state: { ...failing, consecutive_failures: 5, breaker_step: 1 }, healthy: false },
      { what: 'is throttled, although no failure is counted', state: { breaker_step: 1 }, healthy: true },
      { what: 'is paused', state: { status: 'paused' }, healthy: true },
    ]) {
      it(`is omitted if the endpoint ${what}, for one or several facts`, async () => {
        await alter('webhook_endpoints', subscription.endpoint.id, state);
        const lane = fakeLane();
        const facts: ClaimedFact[] = [];
        for (let count = 0; count < 3; count++) facts.push(await recordFor(subscription));
        const answers = [
          ...(await fanOutNow(facts.slice(0, 1), { lane })),
          ...(await fanOutNow(facts.slice(1), { lane })),
        ];
        expect(answers.map((runs) => startsOf(runs).map(({ localAttemptAt }) => localAttemptAt))).to.deep.equal(
          facts.map(() => [healthy ? subscription.endpoint.id : undefined]),
        );
        expect(lane.offered).to.deep.equal([]);
        const rows = (await Promise.all(facts.map(deliveriesOf))).flat();
        expect(rows.map(({ direct, fence }) => ({ direct, fence }))).to.deep.equal(
          facts.map(() => ({ direct: false, fence: 0 })),
        );
        expect(await waiting(facts)).to.deep.equal([true, true, true]);
      });
    }

    it('is omitted for a disabled endpoint', async () => {
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'disabled' });
      const lane = fakeLane();
      const fact = await recordFor(subscription);
      expect((await fanOutNow([fact], { lane })).map(inShort)).to.deep.equal(['removed']);
      expect(lane.offered).to.deep.equal([]);
      expect(await deliveriesOf(fact)).to.deep.equal([]);
    });

    it('is omitted for a removed student, except for the student.removed event', async () => {
      const facts = [await recordFor(subscription), await recordFor(subscription, 'student.removed')];
      await removeTheStudent();
      const lane = fakeLane();
      expect((await fanOutNow(facts, { lane })).map(inShort)).to.deep.equal(['removed', 'removed']);
      const rows = (await Promise.all(facts.map(deliveriesOf))).flat();
      const [canceled, removal] = rows;
      expect(rows).to.have.length(2);
      expect(canceled).to.include({
        status: 'canceled',
        cancelReason: 'student_removed',
        direct: false,
        fence: 0,
        leaseUntil: null,
      });
      expect(await attemptRows(canceled?.id ?? '')).to.deep.equal([]);
      expect(removal).to.include({ status: 'pending', direct: true, fence: 1 });
      expect(lane.offered.map(({ deliveryId }) => deliveryId)).to.deep.equal([removal?.id]);
      expect(lane.startedAttempts.map(({ id }) => id)).to.deep.equal([removal?.id]);
    });
  });

  describe('permits of the lane', () => {
    const unreadable = () => recordFor(subscription, 'lesson.completed', 1, newId());
    const failureOf = async (fanningOut: Promise<unknown>) =>
      fanningOut.then(
        () => 'none',
        (error: Error) => error.message,
      );
    const expectUnused = (lane: ReturnType<typeof fakeLane>) => {
      expect([...lane.permits]).to.deep.equal([]);
      expect(lane.startedAttempts).to.deep.equal([]);
    };

    it('are released if the transaction is rolled back', async () => {
      const facts = [await recordFor(subscription), await recordFor(subscription)];
      const lane = fakeLane();
      const cutOff = watching(db, () => Promise.reject(new Error('cut off')));
      for (const some of [facts, facts.slice(0, 1)]) {
        expect(await failureOf(fanOutNow(some, { lane }, cutOff))).to.equal('cut off');
        expectUnused(lane);
      }
      expect(lane.offered).to.have.length(3);
      expect((await Promise.all(facts.map(deliveriesOf))).flat()).to.deep.equal([]);
      expect(await waiting(facts)).to.deep.equal([true, true]);
    });

    it('are released if the body of one event is unreadable', async () => {
      subscription = await buildSubscription(url, ['student.updated', 'lesson.completed']);
      const facts = [await recordFor(subscription), await unreadable()];
      const lane = fakeLane();
      expect(await failureOf(fanOutNow(facts, { lane }))).not.to.equal('none');
      expectUnused(lane);
      expect(await waiting(facts)).to.deep.equal([true, true]);
      expect((await fanOutNow(facts.slice(0, 1), { lane })).map(inShort)).to.deep.equal(['removed']);
      expect(await failureOf(fanOutNow(facts.slice(1), { lane }))).not.to.equal('none');
      expect(await waiting(facts)).to.deep.equal([false, true]);
      expect(lane.startedAttempts.map(({ claim }) => claim.eventId)).to.deep.equal([facts[0]?.id]);
      expect([...lane.permits]).to.deep.equal(lane.startedAttempts.map(({ id }) => id));
    });

    it('belong to the last try if the transaction fails once and is repeated', async () => {
      for (const count of [1, 2]) {
        const facts: ClaimedFact[] = [];
        while (facts.length < count) facts.push(await recordFor(subscription));
        let tries = 0;
        const twice = watching(db, async () => {
          if (++tries === 1) throw new StaleRead();
        });
        const lane = fakeLane();
        expect((await fanOutNow(facts, { lane }, twice)).map(inShort)).to.deep.equal(facts.map(() => 'removed'));
        const ids = (await Promise.all(facts.map(deliveriesOf))).flat().map(({ id }) => id);
        expect(lane.offered).to.have.length(2 * count);
        expect([...lane.permits]).to.have.members(ids);
        expect(lane.startedAttempts.map(({ id }) => id)).to.have.members(ids);
      }
    });

    it('are released if the connection is lost after the commit', async () => {
      const fact = await recordFor(subscription);
      const lane = fakeLane();
      const losing = unreliable(db, () => 'after');
      expect(await failureOf(fanOutNow([fact], { lane }, losing))).to.equal('Connection terminated unexpectedly');
      expectUnused(lane);
      const [row] = await deliveriesOf(fact);
      expect(row).to.include({ direct: true, fence: 1 });
      expect(await waiting([fact])).to.deep.equal([false]);
      await endLease(row?.id ?? '');
      await handOverLost(db, now);
      expect((await deliveryRow(row?.id ?? '')).direct).to.equal(false);
    });

    it('are released if the deliveries already exist', async () => {
      const fact = await recordFor(subscription);
      await fanOutNow([fact], {});
      const [row] = await deliveriesOf(fact);
      const lane = fakeLane();
      const [runs] = await fanOutNow([fact], { lane });
      expect(startsOf(runs).map(({ subjectId }) => subjectId)).to.deep.equal([row?.id]);
      expect(lane.offered).to.have.length(1);
      expectUnused(lane);
      expect(await deliveriesOf(fact)).to.deep.equal([row]);
      expect(await attemptRows(row?.id ?? '')).to.deep.equal([]);
    });

    it('are released for an endpoint that subscribes later', async () => {
      const fact = await recordFor(subscription);
      await fanOutNow([fact], {});
      const [first] = await deliveriesOf(fact);
      const { body } = await eventRow(fact.id);
      await db.run(sql`UPDATE students SET name = 'Another' WHERE id = ${subscription.studentId}`);
      const endpoint = await buildEndpoint(subscription.clubId, url);
      const lane = fakeLane();
      const later = new Date(now.getTime() + 2 * 86_400_000);
      const [runs] = await fanOutFacts(db, [fact], later, { lane });
      expect(lane.offered).to.have.length(2);
      expectUnused(lane);
      const late = await deliveryOf(fact.id, endpoint.id);
      expect(late).to.deep.include({ status: 'pending', direct: false, fence: 0, leaseUntil: null, createdAt: now });
      const id = late?.id ?? '';
      expect(await attemptRows(id)).to.deep.equal([]);
      expect(startsOf(runs).map(({ subjectId }) => subjectId)).to.have.members([first?.id, id]);
      expect((await claimed({ id }, later.getTime())).body).to.equal(body);
    });

    it('are held by only one of four relays that fan out one fact', async () => {
      const fact = await recordFor(subscription);
      const lanes = [1, 2, 3, 4].map(() => fakeLane());
      const answers = await Promise.all(lanes.map((lane) => fanOutNow([fact], { lane })));
      expect(answers.map((results) => results.map(inShort))).to.deep.equal(lanes.map(() => ['removed']));
      const [row] = await deliveriesOf(fact);
      expect(lanes.flatMap((lane) => lane.startedAttempts.map(({ id }) => id))).to.deep.equal([row?.id]);
      expect(lanes.flatMap(({ permits }) => [...permits])).to.deep.equal([row?.id]);
    });
  });

  describe('attempts', () => {
    it('begin after the commit, when other connections see the rows', async () => {
      const facts = [await recordFor(subscription), await recordFor(subscription)];
      const lane = fakeLane();
      const rowsAtBegin: Promise<WebhookDelivery>[] = [];
      const beforeCommit: unknown[][] = [];
      const looking = watching(db, async () => beforeCommit.push([...lane.startedAttempts]));
      await fanOutNow(
        facts,
        {
          lane: {
            ...lane,
            begin(claims) {
              lane.begin(claims);
              rowsAtBegin.push(...claims.map(({ id }) => deliveryRow(id)));
            },
          },
        },
        looking,
      );
      expect(beforeCommit).to.deep.equal([[]]);
      expect((await Promise.all(rowsAtBegin)).map(({ direct, fence }) => ({ direct, fence }))).to.deep.equal([
        { direct: true, fence: 1 },
        { direct: true, fence: 1 },
      ]);
    });

    it('wait for the lane before the transaction begins', async () => {
      const order: string[] = [];
      const lane = fakeLane(() => {
        order.push('take');
        return true;
      });
      const waitingLane = { ...lane, ready: async () => void order.push('ready') };
      const unsubscribed = await recordFor(subscription, 'access.granted', bulk);
      expect((await fanOutNow([unsubscribed], { lane: waitingLane })).map(inShort)).to.deep.equal([0]);
      expect(order).to.deep.equal([]);
      expect(await waiting([unsubscribed])).to.deep.equal([true]);
      const looking = watching(db, async () => order.push('commit'));
      await fanOutNow([await recordFor(subscription)], { lane: waitingLane }, looking);
      expect(order).to.deep.equal(['ready', 'take', 'commit']);
    });
  });
});
