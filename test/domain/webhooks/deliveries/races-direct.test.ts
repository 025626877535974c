import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { claimAttempt, type Claim } from '../../../../domain/webhooks/attempts/claims.ts';
import { handOverLost, returnClaim } from '../../../../domain/webhooks/attempts/claims.ts';
import { resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import type { AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { recordFailure } from '../../../../domain/webhooks/attempts/record-failure.ts';
import { deleteEndpoint, disableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { rotateSecret } from '../../../../domain/webhooks/endpoints/rotation.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { wakesOf } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import { buildSubscription, type TestWebhookDelivery } from '../../../toolkit/builders/webhooks.ts';
import { accepted, claimed, claimedDirectly, refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';
import { depsOn, testDeps } from '../../../toolkit/stack/database.ts';

/** `raised` means that a second request raised the wake. */
type Woken = 'nobody' | 'once' | 'raised';

interface Result {
  status: string;
  cancelReason?: string;
  requested?: string;
  isPurged?: true;
  woken: Woken;
}

/**
 * An act during a direct attempt. The result depends on which begins first: the record of the attempt, or the act.
 */
interface Race {
  act: 'removal' | 'pause' | 'disable' | 'deletion' | 'rotation' | 'resend';
  /** The record of a success does not lock the endpoint's row, so it does not wait for this act. */
  passes?: true;
  success: Result | { recordFirst: Result; actFirst: Result };
  failure: Result | { recordFirst: Result; actFirst: Result };
}

const ended = { status: 'canceled', cancelReason: 'student_removed' };
const races: readonly Race[] = [
  {
    act: 'removal',
    success: {
      recordFirst: { status: 'succeeded', isPurged: true, woken: 'nobody' },
      actFirst: { ...ended, isPurged: true, woken: 'once' },
    },
    failure: {
      recordFirst: { ...ended, isPurged: true, woken: 'raised' },
      actFirst: { ...ended, isPurged: true, woken: 'once' },
    },
  },
  {
    act: 'pause',
    passes: true,
    success: { status: 'succeeded', woken: 'nobody' },
    failure: { status: 'pending', woken: 'once' },
  },
  {
    act: 'disable',
    success: {
      recordFirst: { status: 'succeeded', woken: 'nobody' },
      actFirst: { status: 'succeeded', woken: 'once' },
    },
    failure: {
      recordFirst: { status: 'canceled', woken: 'raised' },
      actFirst: { status: 'canceled', woken: 'once' },
    },
  },
  {
    act: 'deletion',
    success: {
      recordFirst: { status: 'succeeded', woken: 'nobody' },
      actFirst: { status: 'succeeded', woken: 'once' },
    },
    failure: {
      recordFirst: { status: 'canceled', woken: 'raised' },
      actFirst: { status: 'canceled', woken: 'once' },
    },
  },
  {
    act: 'rotation',
    passes: true,
    success: { status: 'succeeded', woken: 'nobody' },
    failure: { status: 'pending', woken: 'once' },
  },
  {
    act: 'resend',
    success: {
      recordFirst: { status: 'succeeded', requested: 'manual', woken: 'once' },
      actFirst: { status: 'succeeded', requested: 'manual', woken: 'raised' },
    },
    failure: { status: 'pending', requested: 'manual', woken: 'raised' },
  },
];

describe('concurrent changes during a direct attempt (HOOK-18)', () => {
  let deps: VaultDeps;
  let delivery: TestWebhookDelivery;
  let claim: Claim;
  let now: Date;
  beforeEach(async () => {
    deps = await testDeps();
    now = new Date();
    await deps.db.run(sql`UPDATE webhook_deliveries SET direct = false WHERE direct`);
    ({ delivery, claim } = await claimedDirectly(await buildSubscription('https://receiver.test/hook'), now.getTime()));
    await deps.db.run(sql`DELETE FROM wakes WHERE club_id = ${delivery.clubId}`);
  });

  const random = () => 0.5;
  const succeeds = (db = deps.db, answer: AttemptAnswer = accepted) =>
    createSuccessWriter(db)(delivery.id, claim, answer, now);
  const fails = (db = deps.db, answer: AttemptAnswer = refused) =>
    recordFailure({ ...deps, db, random }, delivery.id, claim, answer, now);
  const acts: Record<Race['act'], (db?: Database) => Promise<unknown>> = {
    removal: (db = deps.db) => removeStudent(depsOn(db), delivery.clubId, delivery.studentId, now),
    pause: (db = deps.db) => pauseEndpoint({ ...deps, db }, delivery.clubId, delivery.endpoint.id, now),
    disable: (db = deps.db) => disableEndpoint({ ...deps, db }, delivery.clubId, delivery.endpoint.id, now),
    deletion: (db = deps.db) => deleteEndpoint({ ...deps, db }, delivery.clubId, delivery.endpoint.id, now),
    rotation: (db = deps.db) =>
      rotateSecret({ ...deps, db }, delivery.clubId, delivery.endpoint.id, { expirePrevious: false }, now),
    resend: (db = deps.db) => resendDelivery({ ...deps, db }, delivery.clubId, delivery.endpoint.id, delivery.id, now),
  };
  const woken = async (): Promise<Woken> => {
    const wakes = (await wakesOf(delivery.clubId)).filter(({ subjectId }) => subjectId === delivery.id);
    return wakes.length === 0 ? 'nobody' : wakes.some(({ raised }) => raised) ? 'raised' : 'once';
  };
  /** Starts `second` while the transaction of `first` is open. If `passes` is true, `second` does not wait. */
  const inOrder = async (first: (db: Database) => Promise<unknown>, second: () => Promise<unknown>, passes = false) => {
    let other: Promise<unknown> | undefined;
    await withOpenTransaction(
      (tx) => first(databaseOf(tx)),
      async () => {
        other = second();
        if (passes) await other;
        else await untilWaitingForLocks(1);
      },
    );
    await other;
  };
  const expectResult = async (
    { status, cancelReason, requested, isPurged, woken: expectedWakes }: Result,
    outcome: 'succeeded' | 'http_error',
  ) => {
    expect(await deliveryRow(delivery.id)).to.include({
      status,
      cancelReason: cancelReason ?? null,
      requested: requested ?? null,
      direct: false,
      leaseUntil: null,
      inFlight: null,
      parkedAt: null,
      fence: 1,
      attemptCount: 1,
    });
    const attempts = (await attemptRows(delivery.id)).map((one) => [one.number, one.outcome, one.responseExcerpt]);
    const excerpt = isPurged ? null : 'Stella';
    expect(attempts).to.deep.equal([[1, outcome, excerpt]]);
    expect(await woken()).to.equal(expectedWakes);
    expect(await handOverLost(deps.db, now)).to.equal(0);
  };

  for (const { act, passes, ...left } of races) {
    const [success, failure] = [left.success, left.failure].map((one) =>
      'status' in one ? { recordFirst: one, actFirst: one } : one,
    );
    for (const { what, outcome, record, leaves } of [
      { what: 'success', outcome: 'succeeded', record: succeeds, leaves: success },
      { what: 'failure', outcome: 'http_error', record: fails, leaves: failure },
    ] as const) {
      const recordAnswer = (db = deps.db) =>
        record(db, { outcome, responseStatus: 200, durationMs: 1, responseExcerpt: 'Stella' });
      if (!leaves) continue;

      it(`leave the expected rows if a ${what} is recorded during a ${act}`, async () => {
        await inOrder(acts[act], () => recordAnswer(), outcome === 'succeeded' && passes === true);
        await expectResult(leaves.actFirst, outcome);
      });

      it(`leave the expected rows if a ${act} begins during the record of a ${what}`, async () => {
        await inOrder(recordAnswer, () => acts[act]());
        await expectResult(leaves.recordFirst, outcome);
      });
    }
  }

  describe('in the next step', () => {
    it('parks the failed delivery if the endpoint was paused', async () => {
      await inOrder(acts.pause, () => fails());
      const due = (await deliveryRow(delivery.id)).nextAttemptAt.getTime();
      expect(await stepOf(delivery, accepted, due)).to.deep.include({ posted: 0 });
      expect((await deliveryRow(delivery.id)).parkedAt).not.to.equal(null);
    });

    it('signs attempt 2 with both secrets after a rotation', async () => {
      await inOrder(acts.rotation, () => fails());
      const due = (await deliveryRow(delivery.id)).nextAttemptAt.getTime();
      const next = await claimed(delivery, due);
      expect(next.previousSecret).to.deep.equal(claim.secret);
      expect(next.secret).not.to.deep.equal(claim.secret);
    });

    for (const { what, record } of [
      { what: 'success', record: succeeds },
      { what: 'failure', record: fails },
    ] as const) {
      it(`posts a second request if a resend was requested before the ${what} was recorded`, async () => {
        await inOrder(acts.resend, () => record());
        expect(await stepOf(delivery, accepted, now.getTime())).to.deep.equal({
          step: { done: true, outcome: 'succeeded' },
          posted: 1,
        });
        expect((await attemptRows(delivery.id)).map(({ number, trigger }) => ({ number, trigger }))).to.deep.equal([
          { number: 1, trigger: 'schedule' },
          { number: 2, trigger: 'manual' },
        ]);
      });
    }
  });

  describe('a lost claim', () => {
    beforeEach(() => endLease(delivery.id));

    for (const { what, record, status } of [
      { what: 'success', record: succeeds, status: 'succeeded' },
      { what: 'failure', record: fails, status: 'pending' },
    ] as const) {
      it(`allows the record of a late ${what} after the hand-over`, async () => {
        await inOrder(
          (db) => handOverLost(db, now),
          () => record(),
        );
        expect(await deliveryRow(delivery.id)).to.include({ status, direct: false, attemptCount: 1, leaseUntil: null });
        expect(await woken()).to.equal(status === 'pending' ? 'raised' : 'once');
      });

      it(`prevents the record of a late ${what} after a run’s claim`, async () => {
        await inOrder(
          (db) => claimAttempt(db.source, delivery.id, now.getTime()),
          () => record(),
        );
        expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', fence: 2, attemptCount: 0 });
        expect((await attemptRows(delivery.id)).map(({ outcome }) => outcome)).to.deep.equal(['interrupted', null]);
        expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 0 });
        expect(await woken()).to.equal('nobody');
      });
    }

    it('is not handed over after its success is recorded', async () => {
      await inOrder(
        (db) => succeeds(db),
        async () => expect(await handOverLost(deps.db, now)).to.equal(0),
        true,
      );
      expect(await handOverLost(deps.db, now)).to.equal(0);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', direct: false });
      expect(await woken()).to.equal('nobody');
    });
  });

  it('leave no attempt if the claim is returned after a student’s removal', async () => {
    const giveBack = (db = deps.db) => returnClaim(db, { id: delivery.id, claim, claimedAt: performance.now() }, now);
    await inOrder(acts.removal, () => giveBack());
    expect(await deliveryRow(delivery.id)).to.include({ ...ended, direct: false, leaseUntil: null });
    expect(await attemptRows(delivery.id)).to.deep.equal([]);
    expect(await woken()).to.equal('once');
  });
});
