import { expect } from 'chai';
import fc from 'fast-check';
import { readConfig } from '../../../../config.ts';
import type { VaultDeps } from '../../../../domain/deps.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Claim } from '../../../../domain/webhooks/attempts/claims.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import type { AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import {
  createSuccessWriter,
  recordHoldsMs,
  type RecordSuccess,
} from '../../../../domain/webhooks/attempts/record-success.ts';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { createDataSource } from '../../../../entities/data-source.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { sqlStateOf } from '../../../../platform/infra/postgres/errors.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { deliveryRun, gateRun, wakesBy, wakesOf } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { eraseEndpoint } from '../../../toolkit/drive/erase-webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { accepted, claimed, claimedDirectly } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { unreliable, watching } from '../../../toolkit/fakes/databases.ts';
import { startPostgresLine } from '../../../toolkit/fakes/postgres-line.ts';
import { withTimersStopped } from '../../../toolkit/fakes/timers.ts';
import { depsOn, testDeps } from '../../../toolkit/stack/database.ts';

const url = 'https://receiver.test/hook';
const minute = 60_000;

const changed = (row: object | undefined, changes: object): object => Object.assign({}, row, changes);

interface InFlight {
  delivery: TestWebhookDelivery;
  claim: Claim;
}

describe('successful attempts that one process records (HOOK-19)', () => {
  let deps: VaultDeps;
  let subscription: Subscription;
  let now: number;
  let sizes: number[];
  let record: RecordSuccess;
  beforeEach(async () => {
    deps = await testDeps();
    now = Date.now();
    subscription = await buildSubscription(url);
    sizes = [];
    record = createSuccessWriter(deps.db, (size) => sizes.push(size));
  });

  const inFlight = async (to = subscription): Promise<InFlight> => {
    const delivery = await buildWebhookDelivery(to, new Date(now));
    return { delivery, claim: await claimed(delivery, now) };
  };
  const several = async (count: number, to = subscription) => {
    const attempts: InFlight[] = [];
    while (attempts.length < count) attempts.push(await inFlight(to));
    return attempts;
  };
  const succeeds = ({ delivery, claim }: InFlight, answer = accepted, at = now) =>
    record(delivery.id, claim, answer, new Date(at));
  const resend = ({ delivery }: InFlight) =>
    resendDelivery(deps, delivery.clubId, delivery.endpoint.id, delivery.id, new Date(now));
  const statusOf = async ({ delivery }: InFlight) => (await deliveryRow(delivery.id)).status;
  const everythingOf = async ({ delivery: { id, endpoint } }: InFlight) => ({
    delivery: await deliveryRow(id),
    attempts: await attemptRows(id),
    endpoint: await endpointRow(endpoint.id),
  });
  const lastSuccess = async ({ endpoint } = subscription) => (await endpointRow(endpoint.id)).lastSuccessAt?.getTime();

  describe('several at the same time', () => {
    const answers: readonly AttemptAnswer[] = [
      { outcome: 'succeeded', responseStatus: 200, durationMs: 7 },
      { outcome: 'succeeded', responseStatus: 204, durationMs: 0, responseExcerpt: '' },
      { outcome: 'succeeded', responseStatus: 299, durationMs: 14_999, responseExcerpt: '{"a":[NULL,"b\\\\c"]}' },
      { outcome: 'succeeded', responseStatus: 202, durationMs: 12, responseExcerpt: 'NULL' },
      { outcome: 'succeeded', responseStatus: 201, durationMs: 3, responseExcerpt: 'zwei\nZeilen, "quoted" – ✓' },
    ];

    it('are written in one statement, each with its own answer', async () => {
      const elsewhere = await buildSubscription(url);
      const all = [...(await several(3)), ...(await several(2, elsewhere))];
      const before = await Promise.all(all.map(everythingOf));
      const results = await Promise.all(all.map((one, index) => succeeds(one, answers[index], now + index)));
      expect(results).to.deep.equal([true, true, true, true, true]);
      expect(sizes).to.deep.equal([5]);
      for (const [index, one] of all.entries()) {
        const { delivery, attempts } = await everythingOf(one);
        const ended = { status: 'succeeded', completedAt: new Date(now + index), leaseUntil: null };
        expect(delivery).to.deep.equal(
          changed(before[index]?.delivery, { ...ended, attemptCount: 1, schedulePosition: 1 }),
        );
        const recordedAnswer = { responseExcerpt: null, retryAfterSeconds: null, ...answers[index] };
        expect(attempts).to.deep.equal([changed(before[index]?.attempts[0], recordedAnswer)]);
      }
    });

    it('do not change other attempts to the endpoint', async () => {
      const [one, other] = [await inFlight(), await inFlight()];
      const { delivery, attempts } = await everythingOf(other);
      await succeeds(one);
      expect(await everythingOf(other)).to.deep.include({ delivery, attempts });
    });

    it('join the next statement if they arrive during a statement', async () => {
      const gate = Promise.withResolvers<undefined>();
      record = createSuccessWriter(
        unreliable(deps.db, () => gate.promise),
        (size) => sizes.push(size),
      );
      const [first, ...others] = await several(4);
      const firstRecord = first && succeeds(first);
      await new Promise((resolve) => setTimeout(resolve, 5));
      const after = others.map((one) => succeeds(one));
      gate.resolve(undefined);
      expect(await Promise.all([firstRecord, ...after])).to.deep.equal([true, true, true, true]);
      expect(sizes).to.deep.equal([1, 3]);
    });

    it('end a direct attempt without a wake', async () => {
      const direct = await claimedDirectly(subscription, now);
      expect(await wakesBy(subscription.clubId, () => succeeds(direct))).to.deep.equal([]);
      expect(sizes).to.deep.equal([1]);
      expect(await deliveryRow(direct.delivery.id)).to.include({
        status: 'succeeded',
        direct: false,
        leaseUntil: null,
        fence: 1,
        attemptCount: 1,
        schedulePosition: 1,
      });
    });
  });

  it('use another connection after a statement has hung for a second', async () => {
    const [stuck, later] = [await inFlight(), await inFlight()];
    const line = await startPostgresLine();
    const config = { ...readConfig().database, url: new Secret(line.url) };
    const source = await createDataSource(config, 'club-test').initialize();
    record = createSuccessWriter(new Database(source, { notify() {} }));
    try {
      expect(await succeeds(await inFlight())).to.equal(true);
      line.freezeOpen();
      await withTimersStopped(async (advance) => {
        const hanging = succeeds(stuck).catch(({ message }: Error) => message);
        await new Promise(setImmediate); // the statement has been sent
        const recorded = succeeds(later);
        await advance(recordHoldsMs);
        expect(await recorded).to.equal(true);
        line.stop();
        expect(await hanging).to.equal('Connection terminated unexpectedly');
      });
      expect(await statusOf(later)).to.equal('succeeded');
    } finally {
      line.stop();
      await source.destroy();
    }
  });

  describe('of deliveries that ended during the attempt', () => {
    const answer: AttemptAnswer = { ...accepted, responseExcerpt: 'Stella Student was told' };

    it('leave the delivery canceled without an excerpt if the student was removed', async () => {
      const other = await inFlight();
      const elsewhere = await buildSubscription(url);
      const removed = await inFlight(elsewhere);
      await removeStudent(depsOn(deps.db), elsewhere.clubId, elsewhere.studentId, new Date(now - 1));
      expect(await Promise.all([succeeds(removed, answer), succeeds(other, answer)])).to.deep.equal([false, true]);
      expect(sizes).to.deep.equal([2]);
      const row = await deliveryRow(removed.delivery.id);
      expect(row).to.include({ status: 'canceled', cancelReason: 'student_removed', leaseUntil: null });
      expect(row).to.include({ attemptCount: 1, schedulePosition: 0 });
      expect(row.completedAt).to.deep.equal(new Date(now - 1));
      const excerpts = await Promise.all(
        [removed, other].map(async ({ delivery }) =>
          (await attemptRows(delivery.id)).map(({ outcome, responseExcerpt }) => ({ outcome, responseExcerpt })),
        ),
      );
      expect(excerpts).to.deep.equal([
        [{ outcome: 'succeeded', responseExcerpt: null }],
        [{ outcome: 'succeeded', responseExcerpt: 'Stella Student was told' }],
      ]);
    });

    it('change the canceled delivery to succeeded if the endpoint was disabled', async () => {
      const one = await inFlight();
      await disableEndpoint(deps, subscription.clubId, subscription.endpoint.id, new Date(now - 1));
      expect(await statusOf(one)).to.equal('canceled');
      expect(await succeeds(one, answer)).to.equal(true);
      expect(sizes).to.deep.equal([1]);
      const row = await deliveryRow(one.delivery.id);
      expect(row).to.include({ status: 'succeeded', cancelReason: null, attemptCount: 1, schedulePosition: 0 });
      expect(row.completedAt).to.deep.equal(new Date(now));
    });
  });

  describe('the time last_success_at of the endpoint', () => {
    it('is updated at most every 5 s, and never becomes earlier', async () => {
      const times = [];
      for (const at of [now, now + 5_000, now + 5_001, now + 2_000]) {
        await succeeds(await inFlight(), accepted, at);
        times.push(await lastSuccess());
      }
      expect(times).to.deep.equal([now, now, now + 5_001, now + 5_001]);
    });

    it('is the latest time of several successes', async () => {
      const elsewhere = await buildSubscription(url);
      const all = [...(await several(3)), await inFlight(elsewhere)];
      const later = [1, 3, 2, 4];
      await Promise.all(all.map((one, place) => succeeds(one, accepted, now + (later[place] ?? 0))));
      expect(sizes).to.deep.equal([4]);
      expect([await lastSuccess(), await lastSuccess(elsewhere)]).to.deep.equal([now + 3, now + 4]);
    });

    it('is not updated while another transaction locks the endpoint', async () => {
      const one = await inFlight();
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT 1 FROM webhook_endpoints WHERE id = ${subscription.endpoint.id} FOR UPDATE`),
        async () => {
          expect(await succeeds(one)).to.equal(true);
          expect(await statusOf(one)).to.equal('succeeded');
        },
      );
      expect(await lastSuccess()).to.equal(undefined);
      await succeeds(await inFlight(), accepted, now + 1);
      expect(await lastSuccess()).to.equal(now + 1);
    });
  });

  describe('recorded alone', () => {
    const failing = { consecutive_failures: 1, failing_since: new Date(0) };
    for (const { what, state, calls } of [
      { what: 'has failed', state: failing, calls: false },
      { what: 'is throttled', state: { ...failing, consecutive_failures: 5, breaker_step: 1 }, calls: true },
      { what: 'is throttled, although no failure is counted', state: { breaker_step: 1 }, calls: true },
    ]) {
      it(`reset the breaker if the endpoint ${what}`, async () => {
        const elsewhere = await buildSubscription(url);
        const [one, other] = [await inFlight(), await inFlight(elsewhere)];
        await alter('webhook_endpoints', subscription.endpoint.id, state);
        const wakes = await wakesBy(subscription.clubId, async () =>
          expect(await Promise.all([succeeds(one), succeeds(other)])).to.deep.equal([true, true]),
        );
        expect(wakes).to.deep.equal(calls ? [gateRun(subscription.endpoint)] : []);
        expect(sizes).to.deep.equal([2]);
        expect(await endpointRow(subscription.endpoint.id)).to.include({
          consecutiveFailures: 0,
          failingSince: null,
          breakerStep: 0,
          breakerEpoch: 1,
        });
        expect(await endpointRow(elsewhere.endpoint.id)).to.include({ breakerEpoch: 0 });
      });
    }

    it('wait for a transaction that locks the delivery', async () => {
      const [one, other] = [await inFlight(), await inFlight()];
      let waiting: Promise<boolean> | undefined;
      await withOpenTransaction(
        (tx) => tx.run(sql`SELECT 1 FROM webhook_deliveries WHERE id = ${one.delivery.id} FOR UPDATE`),
        async () => {
          waiting = succeeds(one);
          expect(await succeeds(other)).to.equal(true);
          await untilWaitingForLocks(1);
          expect(await statusOf(one)).to.equal('pending');
        },
      );
      expect(await waiting).to.equal(true);
      expect(sizes).to.deep.equal([2]);
      expect(await deliveryRow(one.delivery.id)).to.include({ status: 'succeeded', attemptCount: 1, leaseUntil: null });
    });

    it('do not wake the run again if a resend was requested', async () => {
      const one = await inFlight();
      await resend(one);
      expect(await wakesBy(subscription.clubId, () => succeeds(one))).to.deep.equal([]);
      expect(await deliveryRow(one.delivery.id)).to.include({ status: 'succeeded', requested: 'manual' });
    });

    describe('after a request to resend a direct delivery', () => {
      let direct: InFlight;
      beforeEach(async () => {
        direct = await claimedDirectly(subscription, now);
        await resend(direct);
      });

      it('wake the run of the delivery', async () => {
        expect(await wakesBy(subscription.clubId, () => succeeds(direct))).to.deep.equal([
          deliveryRun(direct.delivery),
        ]);
        const [wake] = await wakesOf(subscription.clubId);
        expect(wake).to.deep.include({
          workflowType: 'webhookDelivery',
          subjectId: direct.delivery.id,
          attributes: {
            ClubId: subscription.clubId,
            EndpointId: subscription.endpoint.id,
            EventType: 'student.updated',
          },
        });
        expect(await deliveryRow(direct.delivery.id)).to.include({
          status: 'succeeded',
          requested: 'manual',
          direct: false,
        });
      });

      it('wake the run only if the record commits', async () => {
        const before = await everythingOf(direct);
        const cutOff = watching(deps.db, () => Promise.reject(new Error('cut off')));
        record = createSuccessWriter(cutOff);
        const wakes = await wakesBy(subscription.clubId, async () => {
          const failed = await succeeds(direct).catch((error: Error) => error.message);
          expect(failed).to.equal('cut off');
        });
        expect(wakes).to.deep.equal([]);
        expect(await everythingOf(direct)).to.deep.equal(before);
      });
    });

    it('satisfy a requested recovery of a direct delivery without waking a run', async () => {
      const direct = await claimedDirectly(subscription, now);
      const of = [deps, subscription.clubId, subscription.endpoint.id] as const;
      await disableEndpoint(...of, new Date(now));
      await enableEndpoint(...of, new Date(now));
      expect(await recoverDeliveries(...of, new Date(now - minute), new Date(now))).to.deep.equal({ recovered: 1 });
      expect(await wakesBy(subscription.clubId, () => succeeds(direct))).to.deep.equal([]);
      expect(await deliveryRow(direct.delivery.id)).to.include({ status: 'succeeded', requested: null, direct: false });
    });

    it('include the success of a manual attempt', async () => {
      const one = await inFlight();
      await endLease(one.delivery.id);
      await resend(one);
      const manual = { ...one, claim: await claimed(one.delivery, now) };
      expect(manual.claim.trigger).to.equal('manual');
      expect(await succeeds(manual)).to.equal(true);
      expect(sizes).to.deep.equal([]);
      expect(await deliveryRow(one.delivery.id)).to.include({ status: 'succeeded', inFlight: null, attemptCount: 1 });
    });
  });

  describe('of a lost claim', () => {
    const expectNothing = async (stale: InFlight) => {
      const before = await everythingOf(stale);
      const elsewhere = await inFlight(await buildSubscription(url));
      expect(await Promise.all([succeeds(stale, accepted, now + minute), succeeds(elsewhere)])).to.deep.equal([
        false,
        true,
      ]);
      expect(sizes).to.deep.equal([2]);
      expect(await everythingOf(stale)).to.deep.equal(before);
    };

    it('change nothing if another attempt claimed the delivery in the meantime', async () => {
      const stale = await inFlight();
      await endLease(stale.delivery.id);
      await claimed(stale.delivery, now);
      await expectNothing(stale);
    });

    it('change nothing if the claim was returned', async () => {
      const stale = await inFlight();
      await alter('webhook_deliveries', stale.delivery.id, { lease_until: null });
      await expectNothing(stale);
    });

    it('change nothing, even beside a success of the current claim', async () => {
      const stale = await inFlight();
      await endLease(stale.delivery.id);
      const current = { ...stale, claim: await claimed(stale.delivery, now) };
      const answers = await Promise.all([
        succeeds(stale, { ...accepted, durationMs: 5 }),
        succeeds(current, { ...accepted, durationMs: 6 }),
      ]);
      expect(answers).to.deep.equal([false, true]);
      expect(await deliveryRow(stale.delivery.id)).to.include({ status: 'succeeded', attemptCount: 1, fence: 2 });
      const attempts = (await attemptRows(stale.delivery.id)).map(({ outcome, durationMs }) => ({
        outcome,
        durationMs,
      }));
      expect(attempts).to.deep.equal([
        { outcome: 'interrupted', durationMs: null },
        { outcome: 'succeeded', durationMs: 6 },
      ]);
    });

    it('change nothing if the endpoint and the delivery were deleted', async () => {
      const stale = await inFlight();
      await eraseEndpoint(deps.db.manager, subscription.endpoint.id);
      expect(await succeeds(stale)).to.equal(false);
      expect(await deps.db.rows(sql`SELECT 1 FROM webhook_deliveries WHERE id = ${stale.delivery.id}`)).to.have.length(
        0,
      );
    });
  });

  it('are written with a query plan that scans no whole partition', async () => {
    const customPlans: number[] = [];
    const steps: string[] = [];
    const scalars: Record<string, string> = { uuid: `'${newId()}'`, 'timestamp with time zone': 'now()' };
    const db = watching(deps.db, async (tx) => {
      const statement = await tx.one<{ customPlans: number; types: string[] }>(
        sql`SELECT custom_plans::int AS "customPlans", parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'record_succeeded'`,
      );
      if (!statement) throw new Error('The connection has not prepared the statement.');
      customPlans.push(statement.customPlans);
      const values = statement.types.map((type) => (type.endsWith('[]') ? `'{}'` : (scalars[type] ?? '5')));
      const explained = await tx.manager.query<{ 'QUERY PLAN': string }[]>(
        `EXPLAIN EXECUTE record_succeeded (${values.join(', ')})`,
      );
      steps.push(...explained.map((step) => step['QUERY PLAN']));
    });
    record = createSuccessWriter(db);
    for (const one of await several(2)) expect(await succeeds(one)).to.equal(true);
    expect(customPlans).to.deep.equal([0, 0]);
    expect(steps.filter((step) => /Seq Scan on webhook|Hash Join|Merge Join/.test(step))).to.deep.equal([]);
    expect(steps.filter((step) => step.includes('Subplans Removed'))).to.have.length.above(0);
  });

  describe('refused by Postgres', () => {
    for (const { what, state, answer, sqlState } of [
      {
        what: 'the answer',
        state: { attempt_count: 0 },
        answer: { ...accepted, responseExcerpt: 'a\u0000b' },
        sqlState: '22021',
      },
      { what: 'the row', state: { attempt_count: 32_767 }, answer: accepted, sqlState: '22003' },
    ]) {
      it(`do not prevent the record of the others if Postgres refuses ${what} of one`, async () => {
        const all = await several(5);
        const [, , refusedOne] = all;
        if (!refusedOne) throw new Error('The array has fewer than five entries.');
        await alter('webhook_deliveries', refusedOne.delivery.id, state);
        const before = await everythingOf(refusedOne);
        const ends = await Promise.all(
          all.map((one) =>
            succeeds(one, one === refusedOne ? answer : accepted).catch((error: unknown) => sqlStateOf(error)),
          ),
        );
        expect(ends).to.deep.equal([true, true, sqlState, true, true]);
        expect(sizes).to.deep.equal([2, 2]);
        expect(await Promise.all(all.map(statusOf))).to.deep.equal([
          'succeeded',
          'succeeded',
          'pending',
          'succeeded',
          'succeeded',
        ]);
        const { delivery, attempts } = before;
        expect(await everythingOf(refusedOne)).to.deep.include({ delivery, attempts });
      });
    }

    it('fail alone even if Postgres refuses several of them', async () => {
      const all = await several(4);
      const bad = { ...accepted, responseExcerpt: '\u0000' };
      const ends = await Promise.allSettled(all.map((one, index) => succeeds(one, index % 3 === 0 ? bad : accepted)));
      expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled', 'fulfilled', 'rejected']);
      expect(sizes).to.deep.equal([1, 1]);
    });
  });

  describe('while Postgres is unavailable', () => {
    const ends = (all: readonly InFlight[]) =>
      Promise.all(all.map((one) => succeeds(one).catch((error: Error) => error.message)));
    const connectionLost = 'Connection terminated unexpectedly';

    it('fail for each caller after one try', async () => {
      const all = await several(3);
      let calls = 0;
      record = createSuccessWriter(
        unreliable(deps.db, () => (++calls === 1 ? 'before' : undefined)),
        (size) => sizes.push(size),
      );
      expect(await ends(all)).to.deep.equal([connectionLost, connectionLost, connectionLost]);
      expect(calls).to.equal(1);
      expect(await ends(all)).to.deep.equal([true, true, true]);
      expect(sizes).to.deep.equal([3]);
    });

    it('are counted once if the connection is lost after the commit', async () => {
      const all = await several(2);
      let calls = 0;
      record = createSuccessWriter(unreliable(deps.db, () => (++calls === 1 ? 'after' : undefined)));
      expect(await ends(all)).to.deep.equal([connectionLost, connectionLost]);
      expect(await ends(all)).to.deep.equal([false, false]);
      for (const { delivery } of all)
        expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', attemptCount: 1 });
    });
  });

  describe('recorded together or alone', () => {
    const seed = 36;
    const cases = fc.sample(
      fc.record({
        direct: fc.boolean(),
        endpoint: fc.constantFrom('healthy', 'healthy', 'failing', 'throttled', 'paused', 'disabled', 'enabled again'),
        delivery: fc.constantFrom('as it was', 'as it was', 'removed', 'resent', 'handed over', 'claimed again'),
        earlier: fc.integer({ min: 0, max: 6 }),
        answer: fc.record({
          outcome: fc.constant('succeeded' as const),
          responseStatus: fc.integer({ min: 200, max: 299 }),
          durationMs: fc.integer({ min: 0, max: 15_000 }),
          responseExcerpt: fc.string({ unit: fc.constantFrom('a', '"', '\\', ',', '{', '}', '\n', 'ß', '✓', ' ') }),
        }),
      }),
      { seed, numRuns: 30 },
    );
    type Case = (typeof cases)[number];

    const build = async ({ direct, earlier, ...state }: Case): Promise<InFlight> => {
      const to = await buildSubscription(url);
      const { clubId, studentId, endpoint } = to;
      const one = direct ? await claimedDirectly(to, now) : await inFlight(to);
      const counts = { attempt_count: earlier, schedule_position: earlier };
      if (!direct) await alter('webhook_deliveries', one.delivery.id, counts);
      const of = [deps, clubId, endpoint.id, new Date(now)] as const;
      if (state.delivery === 'resent') await resend(one);
      if (state.delivery === 'removed') await removeStudent(depsOn(deps.db), clubId, studentId, new Date(now));
      if (state.delivery === 'handed over') await alter('webhook_deliveries', one.delivery.id, { direct: false });
      if (state.delivery === 'claimed again') {
        await endLease(one.delivery.id);
        await claimed(one.delivery, now);
      }
      if (state.endpoint === 'paused') await pauseEndpoint(...of);
      if (state.endpoint.startsWith('disabled') || state.endpoint === 'enabled again') await disableEndpoint(...of);
      if (state.endpoint === 'enabled again') await enableEndpoint(...of);
      if (state.endpoint === 'failing') await alter('webhook_endpoints', endpoint.id, { consecutive_failures: 2 });
      if (state.endpoint === 'throttled') {
        await alter('webhook_endpoints', endpoint.id, { consecutive_failures: 7, breaker_step: 2, breaker_epoch: 3 });
      }
      await deps.db.run(sql`DELETE FROM wakes WHERE club_id = ${clubId}`);
      return one;
    };

    /** Without ids, and without the columns that only the record of a single success writes. */
    const stateAfterRecord = async (one: InFlight) => {
      const { delivery, attempts, endpoint } = await everythingOf(one);
      const ids = { id: null, clubId: null, endpointId: null, eventId: null, studentId: null, deliveryId: null };
      return {
        delivery: changed(delivery, { ...ids, leaseUntil: delivery.leaseUntil !== null }),
        attempts: attempts.map((attempt) => changed(attempt, ids)),
        endpoint: changed(endpoint, { ...ids, secret: null, createdAt: null, updatedAt: null, breakerEpoch: null }),
        wakes: (await wakesOf(one.delivery.clubId)).map(({ workflowType, priority }) => ({ workflowType, priority })),
      };
    };

    it(`have equal effects in 30 generated cases (seed ${seed})`, async () => {
      const twins = [];
      for (const one of cases) twins.push({ one, together: await build(one), alone: await build(one) });
      // A manual attempt is always recorded alone.
      const asManual = ({ claim, ...one }: InFlight) => ({ ...one, claim: { ...claim, trigger: 'manual' as const } });
      const resultsAlone: boolean[] = [];
      for (const { alone, one } of twins) resultsAlone.push(await succeeds(asManual(alone), one.answer));
      expect(sizes).to.deep.equal([]);
      const resultsTogether = await Promise.all(twins.map(({ together, one }) => succeeds(together, one.answer)));
      expect(sizes).to.deep.equal([30]);
      await eachCase(twins.entries(), async ([index, { together, alone }]) => {
        expect(resultsTogether[index]).to.equal(resultsAlone[index]);
        expect(await stateAfterRecord(together)).to.deep.equal(await stateAfterRecord(alone));
      });
    });
  });
});
