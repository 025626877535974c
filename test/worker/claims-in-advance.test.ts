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

describe('a fan-out that claims first attempts for its own process (HOOK-15)', () => {
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
  /** One fan-out handles all facts. Returns the runs to start. */
  const fanOut = async (count = 1, on = db): Promise<DeliveryRun[]> => {
    const facts = Array.from({ length: count }, () => fact());
    const { localPermits } = permits;
    const results = await fanOutFacts(on, facts, new Date(), { ...(localPermits && { localPermits }) });
    return results.flatMap((result) => [...startsOf(result)]);
  };
  const fanOutOne = async (): Promise<DeliveryRun> => {
    const [run] = await fanOut();
    if (!run) throw new Error('The fan-out made no delivery.');
    return run;
  };
  /** `begins` runs before the call that starts the run returns. Returns whether the started run makes its first attempt as a local activity
   */
  const startRun = async (
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

  it('stores the claim together with the delivery', async () => {
    const run = await fanOutOne();
    const row = await deliveryRow(run.subjectId);
    expect(row).to.include({ status: 'pending', fence: 1, direct: false });
    expect(row.leaseUntil?.getTime()).to.be.greaterThan(Date.now());
    expect(run.claimed?.claim).to.include({ fence: 1, number: 1, trigger: 'schedule', endpointId: row.endpointId });
    expect(run.claimed?.claim).not.to.have.property('direct');
    expect(await attempts(run)).to.deep.equal([{ fence: 1, number: 1, outcome: null }]);
  });

  it('gives its claim only to the first step of the run', async () => {
    const run = await fanOutOne();
    expect(await startRun(run, true)).to.equal(true);
    expect(await step(run)).to.deep.equal(succeeded);
    expect({ posts, attempts: await attempts(run) }).to.deep.equal({
      posts: 1,
      attempts: [{ fence: 1, number: 1, outcome: 'succeeded' }],
    });
    expect(await step(run)).to.deep.equal(succeeded);
    expect(posts).to.equal(1);
  });

  for (const { what, isEager } of [
    { what: 'begins in another process', isEager: false },
    { what: 'cannot be started', isEager: new Error('away') },
  ]) {
    it(`deletes the claimed attempt and wakes the delivery if the run ${what}`, async () => {
      const run = await fanOutOne();
      const woken = await wakesBy(subscription.clubId, () => startRun(run, isEager).catch(() => {}));
      expect(woken).to.deep.equal([deliveryRun({ id: run.subjectId })]);
      expect(await deliveryRow(run.subjectId)).to.include({ status: 'pending', fence: 1, leaseUntil: null });
      expect(await attempts(run)).to.deep.equal([]);
      expect(await step(run)).to.deep.equal(succeeded);
      expect(await attempts(run)).to.deep.equal([{ fence: 2, number: 1, outcome: 'succeeded' }]);
    });
  }

  for (const { what, isEager, claimable } of [
    {
      what: 'keeps the permit if the run begins in another process',
      isEager: false,
      claimable: 8,
    },
    { what: 'releases the permit if the run cannot be started', isEager: new Error('away'), claimable: 16 },
  ]) {
    it(what, async () => {
      const runs = await fanOut(8);
      for (const run of runs) await startRun(run, isEager).catch(() => {});
      pass(10_000);
      expect((await fanOut(16)).filter(({ claimed }) => claimed)).to.have.length(claimable);
    });
  }

  it('keeps the claim if the run begins before the start call returns', async () => {
    const run = await fanOutOne();
    const woken = await wakesBy(subscription.clubId, () => startRun(run, false, () => step(run)));
    expect(woken).to.deep.equal([]);
    expect(await attempts(run)).to.deep.equal([{ fence: 1, number: 1, outcome: 'succeeded' }]);
  });

  it('stops claiming for 10 s after four runs in a row began in another process', async () => {
    for (const isEager of [false, false, false, true, false, false, false]) {
      const run = await fanOutOne();
      expect(run).to.have.property('claimed');
      await startRun(run, isEager, () => step(run));
    }
    await startRun(await fanOutOne(), false);
    const meanwhile = await fanOutOne();
    expect(meanwhile).not.to.have.property('claimed');
    expect(await deliveryRow(meanwhile.subjectId)).to.include({ fence: 0, leaseUntil: null });
    expect(await startRun(meanwhile, true)).to.equal(true);
    pass(9_999);
    expect(await fanOutOne()).not.to.have.property('claimed');
    pass(1);
    expect(await fanOutOne()).to.have.property('claimed');
  });

  it('lets the run claim again if the claim is older than 5 s', async () => {
    const [old, young] = [await fanOutOne(), await fanOutOne()];
    for (const run of [old, young]) await startRun(run, true);
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

  it('claims at most twice as many attempts as the process has permits', async () => {
    const runs = await fanOut(17);
    expect(runs.filter(({ claimed }) => claimed)).to.have.length(16);
    for (const { claimed, subjectId } of runs)
      expect((await deliveryRow(subjectId)).fence, subjectId).to.equal(claimed ? 1 : 0);
  });

  it('makes the attempt when a permit becomes free', async () => {
    const runs = await fanOut(9);
    const isLocal: (boolean | undefined)[] = [];
    const all = runs.map((run) => startRun(run, true).then((local) => isLocal.push(local)));
    for (let tick = 0; tick < 20; tick++) await Promise.resolve();
    expect(isLocal).to.have.length(8);
    for (const run of runs.slice(0, 8)) expect(await step(run)).to.deep.equal(succeeded);
    await Promise.all(all);
    expect(isLocal.at(-1)).to.equal(true);
    const [last] = runs.slice(8);
    if (last) await step(last);
    expect(last && (await attempts(last))).to.deep.equal([{ fence: 1, number: 1, outcome: 'succeeded' }]);
    expect(posts).to.equal(9);
  });

  it('gives up the claim if no permit becomes free within a second', async () => {
    const runs = await fanOut(9);
    const [last] = runs.slice(8);
    if (!last) throw new Error('The fan-out made fewer than nine deliveries.');
    for (const run of runs.slice(0, 8)) await startRun(run, true);
    const waiting = startRun(last, true);
    expect(await waiting, 'after a second').to.equal(false);
    expect(await deliveryRow(last.subjectId)).to.include({ status: 'pending', fence: 1, leaseUntil: null });
    expect(await attempts(last)).to.deep.equal([]);
    expect(await step(last)).to.deep.equal(succeeded);
    expect(await attempts(last)).to.deep.equal([{ fence: 2, number: 1, outcome: 'succeeded' }]);
  });

  it('releases the permits of the claims when the transaction is rolled back', async () => {
    const cutOff = watching(db, () => Promise.reject(new Error('cut off')));
    for (const on of [cutOff, db]) {
      const runs = await fanOut(8, on).catch(() => []);
      expect(runs.filter(({ claimed }) => claimed)).to.have.length(on === db ? 8 : 0);
    }
  });

  it('prevents a claim by another process while its lease lasts', async () => {
    const run = await fanOutOne();
    expect(await claimAttempt(db.source, run.subjectId, Date.now())).to.equal(undefined);
  });
});
