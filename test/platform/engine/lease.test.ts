import { expect } from 'chai';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { AddOn } from '../../../entities/billing/add-on.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { defineLease, LeaseLost, runStep, type Claim } from '../../../platform/engine/lease.ts';
import { buildAddOn } from '../../toolkit/builders/billing.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
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
  beforeEach('an add-on that is due', async () => {
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

  it('give a due row to one claim, with its fence, count and changes', async () => {
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

  it('give no row that is not due or has ended', async () => {
    expect(await claim(now.getTime() - 1)).to.equal(undefined);
    await change({ status: 'failed', settledAt: now });
    expect(await claim()).to.equal(undefined);
  });

  it('give a row again once its lease has expired, and refuse the record of the first claim', async () => {
    const first = await claim();
    await change({ leaseUntil: new Date(Date.now() - 1_000) });
    const second = await claim();
    if (!first || !second) throw new Error('Both claims hold the row in turn');
    const db = new Queries((await testDatabase()).manager);
    const lost = await lease.record(db, first, { status: 'failed', settledAt: now }).catch((error: unknown) => error);
    expect(lost).to.be.instanceOf(LeaseLost);
    expect(await stored()).to.include({ status: 'pending', fence: second.fence });
    await lease.record(db, second, { nextAttemptAt: new Date(now.getTime() + 1_000) });
    expect(await stored()).to.include({ status: 'pending', leaseUntil: null });
  });

  it('refuse a record of a row that has ended', async () => {
    const claimed = await claim();
    if (!claimed) throw new Error('The add-on is due');
    await change({ status: 'failed', settledAt: now });
    const db = new Queries((await testDatabase()).manager);
    const lost = await lease.record(db, claimed, { paymentId: 'p' }).catch((error: unknown) => error);
    expect([lost instanceof LeaseLost, (await stored()).paymentId]).to.deep.equal([true, null]);
  });
});

describe('a step of a leased row', () => {
  const step = (claimed: boolean | undefined, act: () => Promise<void>) =>
    runStep({ claim: async () => claimed, act, state: async () => 'state' });

  it('answers the state of the row, claimed or not', async () => {
    let acts = 0;
    const act = async () => void (acts += 1);
    expect([await step(undefined, act), acts, await step(true, act), acts]).to.deep.equal(['state', 0, 'state', 1]);
  });

  it('answers the state of the row after a lost lease, and throws any other error', async () => {
    const fault = new Error('fault');
    const failing = (error: Error) => async (): Promise<void> => {
      throw error;
    };
    expect(await step(true, failing(new LeaseLost()))).to.equal('state');
    expect(await step(true, failing(fault)).catch((thrown: unknown) => thrown)).to.equal(fault);
  });
});
