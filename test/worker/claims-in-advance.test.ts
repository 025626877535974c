import { expect } from 'chai';
import { attemptDelivery, type DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import { claimAttempt } from '../../domain/webhooks/attempts/claims.ts';
import { returnClaim } from '../../domain/webhooks/attempts/claims.ts';
import { fanOutFacts, type DeliveryRun } from '../../domain/webhooks/events/fan-out.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { createAttemptPermits } from '../../worker/lanes/attempt-permits.ts';
import { deliveryRun, wakesBy } from '../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow } from '../toolkit/assert/webhooks.ts';
import { buildSubscription, factAbout, type Subscription } from '../toolkit/builders/webhooks.ts';
import { accepted, answering } from '../toolkit/drive/attempts.ts';
import { startsOf } from '../toolkit/drive/facts.ts';
import { watching } from '../toolkit/fakes/databases.ts';
import { useStoppedClock } from '../toolkit/fakes/timers.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const urgent = 0;

describe('claims that a fan-out makes for runs of its process (HOOK-15)', () => {
  const pass = useStoppedClock();
  let db: Database;
  let subscription: Subscription;
  let permits: ReturnType<typeof createAttemptPermits>;
  let posts: number;
  let deps: DeliveryDeps;
  beforeEach(async () => {
    ({ db } = await testDeps());
    subscription = await buildSubscription('https://receiver.test/hook');
    permits = createAttemptPermits();
    posts = 0;
    deps = await answering(
      async () => {
        posts++;
        return accepted;
      },
      { permits: permits.permits, onAttempt: permits.onAttempt },
    );
  });

  const fact = (of = subscription) => ({ ...factAbout(of, 'student.updated', new Date()), priority: urgent }) as const;
  /** @returns the runs of one fact each, fanned out together */
  const fannedOut = async (count = 1, on = db): Promise<DeliveryRun[]> => {
    const facts = Array.from({ length: count }, () => fact());
    const { localPermits } = permits;
    const results = await fanOutFacts(on, facts, new Date(), { ...(localPermits && { localPermits }) });
    return results.flatMap((result) => [...startsOf(result)]);
  };
  const one = async (): Promise<DeliveryRun> => {
    const [run] = await fannedOut();
    if (!run) throw new Error('There is no delivery.');
    return run;
  };
  /** Starts the run. @param begins what its start does before it is answered @returns whether its attempt is to be local */
  const started = async (
    { subjectId: id, localAttemptAt: endpointId, claimed }: DeliveryRun,
    isEager: boolean | Error,
    begins: () => Promise<unknown> = async () => {},
  ): Promise<boolean | undefined> => {
    let isLocal: boolean | undefined;
    await permits.start(
      { id, endpointId, claimed },
      {
        async start(local) {
          isLocal = local;
          await begins();
          if (isEager instanceof Error) throw isEager;
          return isEager;
        },
        returnClaim: (unused) => returnClaim(db, unused, new Date()),
      },
    );
    return isLocal;
  };
  const step = ({ subjectId }: DeliveryRun) => attemptDelivery(deps, subjectId, Date.now());
  const attempts = async ({ subjectId }: DeliveryRun) =>
    (await attemptRows(subjectId)).map(({ fence, number, outcome }) => ({ fence, number, outcome }));
  const succeeded = { done: true, outcome: 'succeeded' };

  it('are written with the delivery, which is not direct', async () => {
    const run = await one();
    const row = await deliveryRow(run.subjectId);
    expect(row).to.include({ status: 'pending', fence: 1, direct: false });
    expect(row.leaseUntil?.getTime()).to.be.greaterThan(Date.now());
    expect(run.claimed?.claim).to.include({ fence: 1, number: 1, trigger: 'schedule', endpointId: row.endpointId });
    expect(run.claimed?.claim).not.to.have.property('direct');
    expect(await attempts(run)).to.deep.equal([{ fence: 1, number: 1, outcome: null }]);
  });

  it('are taken from memory by the first step, once', async () => {
    const run = await one();
    expect(await started(run, true)).to.equal(true);
    expect(await step(run)).to.deep.equal(succeeded);
    expect({ posts, attempts: await attempts(run) }).to.deep.equal({
      posts: 1,
      attempts: [{ fence: 1, number: 1, outcome: 'succeeded' }],
    });
    expect(await step(run)).to.deep.equal(succeeded);
    expect(posts).to.equal(1);
  });

  for (const { what, isEager } of [
    { what: 'begins elsewhere', isEager: false },
    { what: 'is not started', isEager: new Error('away') },
  ]) {
    it(`are given back where the run ${what}: no attempt is left, and a run is woken`, async () => {
      const run = await one();
      const woken = await wakesBy(subscription.clubId, () => started(run, isEager).catch(() => {}));
      expect(woken).to.deep.equal([deliveryRun({ id: run.subjectId })]);
      expect(await deliveryRow(run.subjectId)).to.include({ status: 'pending', fence: 1, leaseUntil: null });
      expect(await attempts(run)).to.deep.equal([]);
      expect(await step(run)).to.deep.equal(succeeded);
      expect(await attempts(run)).to.deep.equal([{ fence: 2, number: 1, outcome: 'succeeded' }]);
    });
  }

  for (const { what, isEager, claimable } of [
    { what: 'keeps its place until its step has ended: turns alone are free', isEager: false, claimable: 8 },
    { what: 'gives its place back where it is not started', isEager: new Error('away'), claimable: 16 },
  ]) {
    it(`a run that does not begin here ${what}`, async () => {
      const runs = await fannedOut(8);
      for (const run of runs) await started(run, isEager).catch(() => {});
      pass(10_000);
      expect((await fannedOut(16)).filter(({ claimed }) => claimed)).to.have.length(claimable);
    });
  }

  it('stay with a run that came here by the queue before its start was answered', async () => {
    const run = await one();
    const woken = await wakesBy(subscription.clubId, () => started(run, false, () => step(run)));
    expect(woken).to.deep.equal([]);
    expect(await attempts(run)).to.deep.equal([{ fence: 1, number: 1, outcome: 'succeeded' }]);
  });

  it('are not made for 10 s once four runs in a row have begun elsewhere, and then again', async () => {
    for (const isEager of [false, false, false, true, false, false, false]) {
      const run = await one();
      expect(run).to.have.property('claimed');
      await started(run, isEager, () => step(run));
    }
    await started(await one(), false);
    const meanwhile = await one();
    expect(meanwhile).not.to.have.property('claimed');
    expect(await deliveryRow(meanwhile.subjectId)).to.include({ fence: 0, leaseUntil: null });
    expect(await started(meanwhile, true)).to.equal(true);
    pass(9_999);
    expect(await one()).not.to.have.property('claimed');
    pass(1);
    expect(await one()).to.have.property('claimed');
  });

  it('are not posted when they are older than 5 s: the step claims anew', async () => {
    const [old, young] = [await one(), await one()];
    for (const run of [old, young]) await started(run, true);
    pass(4_999);
    await step(young);
    pass(2);
    await step(old);
    expect([await attempts(young), await attempts(old)]).to.deep.equal([
      [{ fence: 1, number: 1, outcome: 'succeeded' }],
      [{ fence: 2, number: 1, outcome: 'succeeded' }],
    ]);
    expect(posts).to.equal(2);
  });

  it('are twice as many as there are permits: the rest is claimed by its run', async () => {
    const runs = await fannedOut(17);
    expect(runs.filter(({ claimed }) => claimed)).to.have.length(16);
    for (const { claimed, subjectId } of runs)
      expect((await deliveryRow(subjectId)).fence, subjectId).to.equal(claimed ? 1 : 0);
  });

  it('wait for their place, and are posted under it', async () => {
    const runs = await fannedOut(9);
    const isLocal: (boolean | undefined)[] = [];
    const all = runs.map((run) => started(run, true).then((local) => isLocal.push(local)));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(isLocal).to.have.length(8);
    for (const run of runs.slice(0, 8)) expect(await step(run)).to.deep.equal(succeeded);
    await Promise.all(all);
    expect(isLocal.at(-1)).to.equal(true);
    const [last] = runs.slice(8);
    if (last) await step(last);
    expect(last && (await attempts(last))).to.deep.equal([{ fence: 1, number: 1, outcome: 'succeeded' }]);
    expect(posts).to.equal(9);
  });

  it('are given back where no place comes in time, and the run claims for itself', async () => {
    const runs = await fannedOut(9);
    const [last] = runs.slice(8);
    if (!last) throw new Error('There is no ninth.');
    for (const run of runs.slice(0, 8)) await started(run, true);
    const waiting = started(last, true);
    expect(await waiting, 'after a second').to.equal(false);
    expect(await deliveryRow(last.subjectId)).to.include({ status: 'pending', fence: 1, leaseUntil: null });
    expect(await attempts(last)).to.deep.equal([]);
    expect(await step(last)).to.deep.equal(succeeded);
    expect(await attempts(last)).to.deep.equal([{ fence: 2, number: 1, outcome: 'succeeded' }]);
  });

  it('give their permits back where the transaction is rolled back', async () => {
    const cutOff = watching(db, () => Promise.reject(new Error('cut off')));
    for (const on of [cutOff, db]) {
      const runs = await fannedOut(8, on).catch(() => []);
      expect(runs.filter(({ claimed }) => claimed)).to.have.length(on === db ? 8 : 0);
    }
  });

  it('that no run has taken yield to the lease: another process claims when it is over', async () => {
    const run = await one();
    expect(await claimAttempt(db.source, run.subjectId, Date.now())).to.equal(undefined);
  });
});
