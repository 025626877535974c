import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { budgetOf } from '../../../../domain/agents/budget/budget.ts';
import { buildPlan, buildAddOn } from '../../../toolkit/builders/billing.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { buildCharge, buildAsker, type Asker } from '../../../toolkit/builders/questions.ts';
import { endAnswer } from '../../../toolkit/drive/answers.ts';

const now = new Date('2026-03-10T12:00:00Z');
const dollar = 1_000_000n;
/** `professional` includes 5,000 cents. */
const budget = 50n * dollar;

const timeZone = async (clubId: string, name: string) =>
  (await testDatabase()).query(`UPDATE clubs SET time_zone = $2 WHERE id = $1`, [clubId, name]);
const standing = async ({ clubId }: Asker, at = now) => {
  const { month, spentMicros, reservedMicros, limitMicros } = await budgetOf(
    new Queries((await testDatabase()).manager),
    clubId,
    at,
  );
  return { month, spent: spentMicros, reserved: reservedMicros, limit: limitMicros };
};
const outcomeOf = (asking: Promise<unknown>) =>
  asking.then(
    () => 'accepted',
    (error: unknown) => (error as { code?: string }).code,
  );

describe('AI budget of a club and month', () => {
  let asker: Asker;
  beforeEach(async () => {
    asker = await buildAsker((await buildClub()).id);
  });

  it('reserves the worst cost with the question, and replaces it with the real cost at the end', async () => {
    const answer = await buildCharge(asker, 2n * dollar, now);
    expect(await standing(asker)).to.deep.equal({
      month: '2026-03-01',
      spent: 0n,
      reserved: 2n * dollar,
      limit: budget,
    });
    await endAnswer(answer, { status: 'complete', cost: dollar, at: now });
    expect(await standing(asker)).to.include({ spent: dollar, reserved: 0n });
  });

  it('is settled once, and a second settlement changes nothing', async () => {
    const answer = await buildCharge(asker, 2n * dollar, now);
    for (const cost of [dollar, 2n * dollar]) await endAnswer(answer, { status: 'complete', cost, at: now });
    expect(await standing(asker)).to.include({ spent: dollar, reserved: 0n });
  });

  it('accepts exactly the rest, and rejects one millionth more with club_budget_exhausted', async () => {
    await endAnswer(await buildCharge(asker, budget - 10n, now), { status: 'failed', cost: budget - 10n, at: now });
    expect(await outcomeOf(buildCharge(asker, 11n, now))).to.equal('club_budget_exhausted');
    expect(await standing(asker)).to.include({ spent: budget - 10n, reserved: 0n });
    expect(await outcomeOf(buildCharge(asker, 10n, now))).to.equal('accepted');
  });

  it('accepts exactly as many of eight concurrent questions as the rest allows', async () => {
    await endAnswer(await buildCharge(asker, budget - 3n, now), { status: 'complete', cost: budget - 3n, at: now });
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(buildCharge(asker, 1n, now))));
    expect(outcomes).to.have.members([
      ...Array<string>(3).fill('accepted'),
      ...Array<string>(5).fill('club_budget_exhausted'),
    ]);
    expect(await standing(asker)).to.include({ reserved: 3n });
  });

  it('is renewed when the month turns in the club’s time zone', async () => {
    await timeZone(asker.clubId, 'America/Sao_Paulo'); // three hours behind UTC
    const [before, after] = [new Date('2026-04-01T02:59:59Z'), new Date('2026-04-01T03:00:00Z')];
    await endAnswer(await buildCharge(asker, budget, before), { status: 'complete', cost: budget, at: before });
    expect(await outcomeOf(buildCharge(asker, 1n, before))).to.equal('club_budget_exhausted');
    expect((await standing(asker, before)).month).to.equal('2026-03-01');
    expect(await outcomeOf(buildCharge(asker, 1n, after))).to.equal('accepted');
    expect((await standing(asker, after)).month).to.equal('2026-04-01');
  });

  it('charges an answer to the month of its question', async () => {
    const next = new Date('2026-04-01T00:00:01Z');
    const answer = await buildCharge(asker, dollar, new Date('2026-03-31T23:59:59Z'));
    await endAnswer(answer, { status: 'complete', cost: 7n, at: next });
    expect(await standing(asker)).to.include({ spent: 7n, reserved: 0n });
    expect(await standing(asker, next)).to.include({ spent: 0n, reserved: 0n });
  });

  it('is the plan’s amount plus add-ons of this month, or the club’s own limit if lower', async () => {
    const source = await testDatabase();
    const { clubId } = asker;
    const buy = (settledAt: string, status = 'active') =>
      buildAddOn(clubId, {
        kind: 'ai_budget',
        adds: 1_000,
        status,
        payment_id: 'pi_1',
        next_attempt_at: settledAt,
        created_at: settledAt,
        settled_at: settledAt,
      });
    await buildPlan(clubId, 'business');
    expect((await standing(asker)).limit).to.equal(500n * dollar);
    await buy('2026-03-01T00:00:00Z');
    await buy('2026-02-28T23:59:59Z');
    await buy('2026-03-02T00:00:00Z', 'failed');
    expect((await standing(asker)).limit).to.equal(510n * dollar);
    await source.query(`UPDATE clubs SET ai_monthly_limit = 2000 WHERE id = $1`, [clubId]);
    expect((await standing(asker)).limit).to.equal(20n * dollar);
    await source.query(`UPDATE clubs SET ai_monthly_limit = 200000 WHERE id = $1`, [clubId]);
    expect((await standing(asker)).limit).to.equal(510n * dollar);
  });

  it('is the sum of all costs and reserves after any sequence of questions, ends and settlements', async () => {
    const step = fc.oneof(
      fc.record({ act: fc.constant('ask' as const), micros: fc.bigInt(0n, 20n * dollar) }),
      fc.record({ act: fc.constant('end' as const), which: fc.nat(), cost: fc.bigInt(0n, 15n * dollar) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const own = await buildAsker(asker.clubId);
        await (await testDatabase()).query(`DELETE FROM club_ai_months WHERE club_id = $1`, [asker.clubId]);
        const answers: { id: string; reserved: bigint; cost?: bigint }[] = [];
        const sums = () => ({
          spent: answers.reduce((sum, { cost }) => sum + (cost ?? 0n), 0n),
          reserved: answers.reduce((sum, { reserved, cost }) => sum + (cost === undefined ? reserved : 0n), 0n),
        });
        for (const one of steps) {
          if (one.act === 'ask') {
            const { spent, reserved } = sums();
            const fits = spent + reserved + one.micros <= budget;
            const asking = buildCharge(own, one.micros, now).then((id) => answers.push({ id, reserved: one.micros }));
            expect(await outcomeOf(asking)).to.equal(fits ? 'accepted' : 'club_budget_exhausted');
          } else {
            const answer = answers[one.which % Math.max(1, answers.length)];
            if (!answer) continue;
            await endAnswer(answer.id, { status: 'complete', cost: one.cost, at: now });
            answer.cost ??= one.cost;
          }
          expect(await standing(own)).to.include(sums());
        }
      }),
      { numRuns: 15 },
    );
  });
});
