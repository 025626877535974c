import { expect } from 'chai';
import { recordOverage, turnMonths } from '../../../../domain/billing/overages.ts';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../../platform/engine/workflow-types.ts';
import { overagesOf } from '../../../toolkit/assert/billing.ts';
import { wakesBy } from '../../../toolkit/assert/wakes.ts';
import { buildPlan, buildStudentCount } from '../../../toolkit/builders/billing.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { overageChargeRow, chargesOf, endMonths, exceed } from '../../../toolkit/drive/overages.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const march = new Date('2026-03-15T12:00:00Z');

describe('the end of a month (BILL-8)', () => {
  let clubId: Id;
  const moveTo = async (zone: string) =>
    (await testDatabase()).query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [clubId, zone]);
  beforeEach(async () => {
    await (await testDatabase()).query(`DELETE FROM overage_turns`);
    clubId = (await buildClub()).id;
    await moveTo('UTC');
    await buildPlan(clubId, 'business');
  });

  it('begins one charge for each exceeded resource, with the highest excess', async () => {
    await exceed(clubId, 40, march);
    await exceed(clubId, 250, march);
    await exceed(clubId, 90, march);
    await exceed(clubId, 1, march, 'storage_bytes');
    await endMonths(new Date('2026-03-31T23:59:59Z'));
    expect(await chargesOf(clubId)).to.deep.equal([]);
    await endMonths(new Date('2026-04-01T00:00:00Z'));
    expect(await chargesOf(clubId)).to.deep.equal([
      'storage_bytes 2026-03-01 1 1 pending',
      'students 2026-03-01 250 3 pending',
    ]);
  });

  it('wakes the workflow of the charge', async () => {
    await exceed(clubId, 40, march);
    const wakes = await wakesBy(clubId, () => endMonths(new Date('2026-04-01T00:00:00Z')));
    const id = (await overageChargeRow(clubId, '2026-03-01'))?.id ?? '';
    expect(wakes).to.deep.equal([workflowIdOf('overageCharge', id)]);
  });

  it('begins one charge if several workers end the month at the same time', async () => {
    await exceed(clubId, 40, march);
    const { db } = await testDeps();
    const april = new Date('2026-04-01T00:00:00Z');
    await Promise.all([1, 2, 3, 4].map(() => turnMonths(db, april)));
    expect(await chargesOf(clubId)).to.deep.equal(['students 2026-03-01 40 1 pending']);
  });

  it('begins a charge for each month if no worker ran for some months', async () => {
    await buildStudentCount(clubId, plans.business.allowances.students.included + 5);
    await exceed(clubId, 40, march);
    await endMonths(new Date('2026-06-02T00:00:00Z'));
    expect(await chargesOf(clubId)).to.deep.equal([
      'students 2026-03-01 40 1 pending',
      'students 2026-04-01 5 1 pending',
      'students 2026-05-01 5 1 pending',
    ]);
    expect(await overagesOf(clubId)).to.include('students 2026-06-01 5');
  });

  it('derives the same id for a charge whose row was lost', async () => {
    await exceed(clubId, 40, march);
    await endMonths(new Date('2026-04-01T00:00:00Z'));
    const before = (await overageChargeRow(clubId, '2026-03-01'))?.id;
    const source = await testDatabase();
    await source.query(`DELETE FROM overage_charges WHERE club_id = $1`, [clubId]);
    await source.query(`DELETE FROM overages WHERE club_id = $1`, [clubId]);
    await exceed(clubId, 30, march);
    await endMonths(new Date('2026-04-01T00:00:00Z'));
    expect(before).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect((await overageChargeRow(clubId, '2026-03-01'))?.id).to.equal(before);
  });

  it('charges the excess by the plan under which it was reached, even after a change to another plan', async () => {
    await exceed(clubId, 40, march);
    await buildPlan(clubId, 'professional');
    await endMonths(new Date('2026-05-01T00:00:00Z'));
    expect(await chargesOf(clubId)).to.deep.equal(['students 2026-03-01 40 1 pending']);
    expect(await overageChargeRow(clubId, '2026-03-01')).to.include({ plan: 'business' });
  });

  it('does not charge an excess that an earlier version recorded, unless it grows', async () => {
    const source = await testDatabase();
    await source.query(
      `INSERT INTO overages (club_id, resource, month, excess, reached_at)
       VALUES ($1, 'students', '2026-02-01', 9, $2), ($1, 'storage_bytes', '2026-03-01', 9, $2), ($1, 'students', '2026-03-01', 9, $2)`,
      [clubId, march],
    );
    await exceed(clubId, 40, march);
    await endMonths(new Date('2026-04-01T00:00:00Z'));
    expect(await chargesOf(clubId)).to.deep.equal(['students 2026-03-01 40 1 pending']);
  });

  describe('after a club has moved to another time zone', () => {
    it('counts an excess in a closed month for the following month, and charges no month twice', async () => {
      await moveTo('Pacific/Auckland');
      await exceed(clubId, 40, march);
      await endMonths(new Date('2026-03-31T11:00:00Z')); // April has begun in Auckland
      await moveTo('America/Los_Angeles');
      await exceed(clubId, 300, new Date('2026-03-31T20:00:00Z')); // still March in Los Angeles
      expect(await overagesOf(clubId)).to.deep.equal(['students 2026-03-01 40', 'students 2026-04-01 300']);
      await endMonths(new Date('2026-05-01T07:00:00Z'));
      expect(await chargesOf(clubId)).to.deep.equal([
        'students 2026-03-01 40 1 pending',
        'students 2026-04-01 300 3 pending',
      ]);
    });

    it('ends the month later if it has not ended yet in the new time zone', async () => {
      await moveTo('Pacific/Auckland');
      await exceed(clubId, 40, march);
      await moveTo('America/Los_Angeles');
      await endMonths(new Date('2026-04-01T06:59:59Z'));
      expect(await chargesOf(clubId)).to.deep.equal([]);
      await endMonths(new Date('2026-04-01T07:00:00Z'));
      expect(await chargesOf(clubId)).to.deep.equal(['students 2026-03-01 40 1 pending']);
    });
  });

  it('waits for a transaction that records an excess, and counts it for this month', async () => {
    await exceed(clubId, 40, march);
    const { db } = await testDeps();
    const april = new Date('2026-04-01T00:00:00Z');
    let turning: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      await recordOverage(tx, clubId, 'storage_bytes', 7, march);
      turning = turnMonths(db, april);
      await Promise.race([turning, new Promise((resolve) => setTimeout(resolve, 200))]);
    });
    await turning;
    expect(await chargesOf(clubId)).to.deep.equal([
      'storage_bytes 2026-03-01 7 1 pending',
      'students 2026-03-01 40 1 pending',
    ]);
  });
});
