import { expect } from 'chai';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { AddOn } from '../../../entities/billing/add-on.ts';
import type { Id } from '../../../platform/core/ids.ts';
import {
  defineLease,
  holdLease,
  ignoreLostLease,
  LeaseLost,
  runStep,
  type Claim,
} from '../../../platform/engine/lease.ts';
import { buildAddOn } from '../../toolkit/builders/billing.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { until } from '../../toolkit/drive/until.ts';
import { unreliable } from '../../toolkit/fakes/databases.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

const lease = defineLease(AddOn, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: 60,
  counts: 'attemptCount',
  sets: { paymentMethodId: null, currency: 'usd' },
  stamps: 'createdAt',
});

describe('leases (ENG-2)', () => {
  const now = new Date();
  let id: Id;
  beforeEach('build a due add-on', async () => {
    const { id: clubId } = await buildClub();
    ({ id } = await buildAddOn(clubId, { next_attempt_at: now }));
  });
  const claim = async (at = now.getTime()) =>
    lease.claim<Claim & { at: Date }>(
      (await testDeps()).db,
      id,
      at,
      sql`SELECT id, fence, ${new Date(at)}::timestamptz AS at FROM claimed`,
    );
  const change = async (to: Partial<AddOn>) => (await testDatabase()).manager.update(AddOn, { id }, to);
  const stored = async () => (await testDatabase()).manager.findOneByOrFail(AddOn, { id });

  it('give a due row to only one of three concurrent claims', async () => {
    const before = await stored();
    const claims = await Promise.all([claim(), claim(), claim()]);
    expect(claims.filter((one) => one !== undefined)).to.deep.equal([{ id, fence: before.fence + 1, at: now }]);
    const { fence, attemptCount, currency, paymentMethodId, createdAt, leaseUntil } = await stored();
    expect({ fence, attemptCount, currency, paymentMethodId, createdAt }).to.deep.equal({
      fence: before.fence + 1,
      attemptCount: before.attemptCount + 1,
      currency: 'usd',
      paymentMethodId: null,
      createdAt: now,
    });
    expect(leaseUntil?.getTime()).to.be.within(Date.now() + 50_000, Date.now() + 70_000);
  });

  it('are not granted for a row that is not due or has ended', async () => {
    expect(await claim(now.getTime() - 1)).to.equal(undefined);
    await change({ status: 'failed', settledAt: now });
    expect(await claim()).to.equal(undefined);
  });

  it('refuse the outcome of the first claim after a second claim', async () => {
    const first = await claim();
    await change({ leaseUntil: new Date(Date.now() - 1_000) });
    const second = await claim();
    if (!first || !second) throw new Error('One of the two claims did not get the row');
    const db = new Queries((await testDatabase()).manager);
    const error = await lease
      .record(db, first, { status: 'failed', settledAt: now })
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(LeaseLost);
    expect(await stored()).to.include({ status: 'pending', fence: second.fence });
    await lease.record(db, second, { nextAttemptAt: new Date(now.getTime() + 1_000) });
    expect(await stored()).to.include({ status: 'pending', leaseUntil: null });
  });

  it('refuse an outcome for a row that has ended', async () => {
    const claimed = await claim();
    if (!claimed) throw new Error('The add-on was not claimed.');
    await change({ status: 'failed', settledAt: now });
    const db = new Queries((await testDatabase()).manager);
    const error = await lease.record(db, claimed, { paymentId: 'p' }).catch((thrown: unknown) => thrown);
    expect([error instanceof LeaseLost, (await stored()).paymentId]).to.deep.equal([true, null]);
  });
});

describe('leases of several rows', () => {
  const now = new Date();
  const dueAddOn = async () => {
    const { id: clubId } = await buildClub();
    return (await buildAddOn(clubId, { next_attempt_at: now })).id;
  };
  const stored = async (id: Id) => (await testDatabase()).manager.findOneByOrFail(AddOn, { id });
  const claim = async (id: Id, by = lease) => {
    const claimed = await by.claim<Claim>((await testDeps()).db, id, now.getTime(), sql`SELECT id, fence FROM claimed`);
    if (!claimed) throw new Error('The add-on was not claimed.');
    return claimed;
  };

  it('are granted only for the requested row if several rows are due', async () => {
    const [id, other] = [await dueAddOn(), await dueAddOn()];
    await claim(id);
    expect(await stored(other)).to.include({ fence: 0, leaseUntil: null, attemptCount: 0 });
  });

  it('store the number and the time of claims only if the table has columns for them', async () => {
    const id = await dueAddOn();
    const { attemptCount, createdAt } = await stored(id);
    await claim(id, defineLease(AddOn, { open: { status: 'pending' }, due: 'nextAttemptAt', seconds: 60 }));
    expect(await stored(id)).to.deep.include({ fence: 1, attemptCount, createdAt });
  });

  describe('leases that a worker renews', () => {
    let claimed: Claim;
    let renewals: number;
    let stop: AbortController;
    const heldLeases: { release(): void }[] = [];
    beforeEach(async () => {
      claimed = await claim(await dueAddOn());
      renewals = 0;
      stop = new AbortController();
    });
    afterEach('release the leases', () => {
      for (const one of heldLeases.splice(0)) one.release();
    });
    const hold = async (changes: { db?: Queries; still?: ReturnType<typeof sql>; onRenewal?: () => void } = {}) => {
      const { db = (await testDeps()).db, ...more } = changes;
      const lasting = { seconds: 3_600, everyMs: 5, onRenewal: () => void renewals++, stop: stop.signal };
      const one = holdLease(db, AddOn, claimed, { ...lasting, ...more });
      heldLeases.push(one);
      return one;
    };
    const untilRenewed = (times: number) => until('renewals', { timeoutMs: 10_000 }, async () => renewals >= times);
    const leaseOf = async (id: Id) => (await stored(id)).leaseUntil?.getTime() ?? 0;
    /** A claim lasts a minute, and a renewal an hour. */
    const isProlonged = async (id: Id) => (await leaseOf(id)) > Date.now() + 1_800_000;
    const untilLost = (signal: AbortSignal) =>
      until('the loss of the lease', { timeoutMs: 10_000 }, async () => signal.aborted);

    it('are extended, unlike other leases', async () => {
      const other = await claim(await dueAddOn());
      const before = await leaseOf(other.id);
      const { signal } = await hold();
      await until('the renewal', { timeoutMs: 10_000 }, () => isProlonged(claimed.id));
      await untilRenewed(3);
      expect(signal.aborted).to.equal(false);
      expect(await leaseOf(other.id)).to.equal(before);
    });

    it('are not renewed after their release', async () => {
      const one = await hold();
      await untilRenewed(1);
      one.release();
      const before = renewals;
      let others = 0;
      await hold({ onRenewal: () => void others++ });
      await until('renewals of another', { timeoutMs: 10_000 }, async () => others >= 4);
      expect(renewals).to.equal(before);
    });

    it('are lost if a later claim gets the row', async () => {
      await (await testDatabase()).manager.update(AddOn, { id: claimed.id }, { leaseUntil: new Date(0) });
      const { fence } = await claim(claimed.id);
      expect(fence).to.equal(claimed.fence + 1);
      const { signal } = await hold();
      await untilLost(signal);
      expect(signal.reason).to.be.instanceOf(LeaseLost);
      expect(await isProlonged(claimed.id)).to.equal(false);
    });

    it('are lost after the outcome is recorded', async () => {
      const { db } = await testDeps();
      await lease.record(db, claimed, { nextAttemptAt: now });
      const { signal } = await hold();
      await untilLost(signal);
      expect(signal.reason).to.be.instanceOf(LeaseLost);
      expect(await stored(claimed.id)).to.include({ leaseUntil: null });
    });

    it('are lost if the row no longer meets the condition of the work', async () => {
      const { signal } = await hold({ still: sql`status = 'active'` });
      await untilLost(signal);
      expect(signal.reason).to.be.instanceOf(LeaseLost);
    });

    it('continue after an outage of Postgres', async () => {
      let absent = 3;
      const db = unreliable((await testDeps()).db, () => (absent-- > 0 ? 'before' : undefined));
      const { signal } = await hold({ db });
      await until('the renewal', { timeoutMs: 10_000 }, () => isProlonged(claimed.id));
      expect(absent).to.be.below(1);
      expect(renewals).to.be.at.least(4);
      expect(signal.aborted).to.equal(false);
    });

    it('use only one connection, even if a renewal takes long', async () => {
      let statements = 0;
      const never = Promise.withResolvers<undefined>();
      const db = unreliable((await testDeps()).db, () => {
        statements++;
        return never.promise;
      });
      await hold({ db });
      await untilRenewed(4);
      expect(statements).to.equal(1);
      never.resolve(undefined);
    });

    it('end when the process stops', async () => {
      const { signal } = await hold();
      stop.abort('the process stops');
      expect(signal.reason).to.equal('the process stops');
    });
  });
});

describe('a record after a lost lease', () => {
  it('ignores the error LeaseLost, and throws every other error', () => {
    expect(ignoreLostLease(new LeaseLost())).to.equal(undefined);
    expect(() => ignoreLostLease(new Error('fault'))).to.throw('fault');
  });
});

describe('a step of a leased row', () => {
  const step = (claimed: boolean | undefined, act: () => Promise<void>) =>
    runStep({ claim: async () => claimed, act, state: async () => 'state' });

  it('returns the state of the row even if the claim failed', async () => {
    let acts = 0;
    const act = async () => void (acts += 1);
    expect([await step(undefined, act), acts, await step(true, act), acts]).to.deep.equal(['state', 0, 'state', 1]);
  });

  it('returns the state of the row if the step lost its lease', async () => {
    const fault = new Error('fault');
    const failing = (error: Error) => async (): Promise<void> => {
      throw error;
    };
    expect(await step(true, failing(new LeaseLost()))).to.equal('state');
    expect(await step(true, failing(fault)).catch((thrown: unknown) => thrown)).to.equal(fault);
  });
});
