import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { newId } from '../../../../platform/core/ids.ts';
import { budgetOf } from '../../../../domain/agents/budget/budget.ts';
import { whileBudgetIsReserved, type Patience } from '../../../../domain/agents/budget/waiting.ts';
import { chargeRow } from '../../../toolkit/assert/answers.ts';
import { buildPlan, buildAddOn } from '../../../toolkit/builders/billing.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { buildCharge, buildAsker, type Asker } from '../../../toolkit/builders/questions.ts';
import { endAnswer } from '../../../toolkit/drive/answers.ts';

const now = new Date('2026-03-10T12:00:00Z');
const dollar = 1_000_000n;
/** The plan `professional` includes 5,000 cents. */
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

describe('the month of an AI budget (DEC-154)', () => {
  // Postgres reads CET as an abbreviation without summer time. Node reads CET as a zone with summer time.
  const at = new Date('2026-03-31T22:30:00Z');

  it('follows Node’s rules for the time zone if Postgres has other rules', async () => {
    const asker = await buildAsker((await buildClub()).id);
    await timeZone(asker.clubId, 'CET');
    expect((await standing(asker, at)).month).to.equal('2026-04-01');
    const { turnsAt } = await budgetOf(new Queries((await testDatabase()).manager), asker.clubId, at);
    expect(turnsAt.toISOString()).to.equal('2026-04-30T22:00:00.000Z');
    const paid = { kind: 'ai_budget', adds: 1_000, status: 'active', payment_id: 'pi_1' };
    await buildAddOn(asker.clubId, { ...paid, settled_at: new Date(at.getTime() - 1_800_001) });
    expect((await standing(asker, at)).limit, 'paid in March').to.equal(budget);
    await buildAddOn(asker.clubId, { ...paid, settled_at: new Date(at.getTime() - 1_800_000) });
    expect((await standing(asker, at)).limit, 'paid in April').to.equal(budget + 10n * dollar);
  });

  it('follows UTC if neither Node nor Postgres knows the time zone', async () => {
    const asker = await buildAsker((await buildClub()).id);
    await timeZone(asker.clubId, 'Mars/Olympus');
    expect((await standing(asker, at)).month).to.equal('2026-03-01');
    await endAnswer(await buildCharge(asker, dollar, at), { status: 'complete', cost: dollar, at });
    expect(await standing(asker, at)).to.include({ month: '2026-03-01', spent: dollar });
  });
});

describe('AI budget of a club and month', () => {
  let asker: Asker;
  beforeEach(async () => {
    asker = await buildAsker((await buildClub()).id);
  });

  it('reserves the highest cost of a question, and charges the real cost at the end', async () => {
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

  it('is charged only once for an answer', async () => {
    const answer = await buildCharge(asker, 2n * dollar, now);
    for (const cost of [dollar, 2n * dollar]) await endAnswer(answer, { status: 'complete', cost, at: now });
    expect(await standing(asker)).to.include({ spent: dollar, reserved: 0n });
  });

  it('accepts questions until the whole budget is spent, then rejects with club_budget_exhausted', async () => {
    await endAnswer(await buildCharge(asker, budget - 1n, now), { status: 'failed', cost: budget - 1n, at: now });
    const last = buildCharge(asker, dollar, now);
    expect(await outcomeOf(last)).to.equal('accepted');
    expect(await outcomeOf(buildCharge(asker, 1n, now))).to.equal('budget_reserved');
    await endAnswer(await last, { status: 'complete', cost: 1n, at: now });
    expect(await standing(asker)).to.include({ spent: budget, reserved: 0n });
    expect(await outcomeOf(buildCharge(asker, 0n, now))).to.equal('club_budget_exhausted');
  });

  it('rejects concurrent questions if their reserves exceed the rest of the budget', async () => {
    await endAnswer(await buildCharge(asker, budget - 3n, now), { status: 'complete', cost: budget - 3n, at: now });
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(buildCharge(asker, 1n, now))));
    expect(outcomes).to.have.members([
      ...Array<string>(3).fill('accepted'),
      ...Array<string>(5).fill('budget_reserved'),
    ]);
    expect(await standing(asker)).to.include({ reserved: 3n });
  });

  it('is renewed when a new month begins in the club’s time zone', async () => {
    await timeZone(asker.clubId, 'America/Sao_Paulo'); // the club’s time zone is three hours behind UTC
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

  it('changes no other month when it reserves and charges', async () => {
    const next = new Date('2026-04-01T00:00:01Z');
    const answer = await buildCharge(asker, dollar, now);
    await buildCharge(asker, 2n * dollar, next);
    expect(await standing(asker)).to.include({ spent: 0n, reserved: dollar });
    await endAnswer(answer, { status: 'complete', cost: 7n, at: next });
    expect(await standing(asker)).to.include({ spent: 7n, reserved: 0n });
    expect(await standing(asker, next)).to.include({ spent: 0n, reserved: 2n * dollar });
  });

  it('counts the tokens of an answer’s last call, but not of an abandoned call', async () => {
    const source = await testDatabase();
    const settle = async (outcomes: readonly string[]) => {
      const answer = await buildCharge(asker, dollar, now);
      for (const [index, outcome] of outcomes.entries())
        await source.query(
          `INSERT INTO agent_calls (answer_id, call_no, model, started_at, ended_at, outcome, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens)
           VALUES ($1, $2::int, 'claude-sonnet-5-5', $3, $3, $4, 1000 * $2::int, 100 * $2::int, 10 * $2::int, $2::int)`,
          [answer, index + 1, now, outcome],
        );
      await source.query(`UPDATE agent_answers SET call_no = $2 WHERE id = $1`, [answer, outcomes.length]);
      await endAnswer(answer, { status: 'complete', at: now });
      const [month] = await source.query<object[]>(
        `SELECT questions, complete, input_tokens::int, output_tokens::int, cache_write_tokens::int, cache_read_tokens::int
           FROM agent_months WHERE agent_id = $1`,
        [asker.agentId],
      );
      return month;
    };
    const tokens = { input_tokens: 2_000, output_tokens: 200, cache_write_tokens: 20, cache_read_tokens: 2 };
    expect(await settle(['failed', 'answered'])).to.deep.equal({ questions: 1, complete: 1, ...tokens });
    expect(await settle(['abandoned'])).to.deep.equal({ questions: 2, complete: 2, ...tokens });
  });

  it('throws an error for an unknown club', async () => {
    const clubId = newId();
    const failure = await standing({ ...asker, clubId }).catch((error: unknown) => error);
    expect(String(failure)).to.equal(`Error: There is no club ${clubId}`);
  });

  it('is the plan’s amount plus add-ons, or the club’s own limit if that is lower', async () => {
    const source = await testDatabase();
    const { clubId } = asker;
    const buy = (settledAt: string, status = 'active', kind = 'ai_budget') =>
      buildAddOn(clubId, {
        kind,
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
    await buy('2026-03-02T00:00:00Z', 'active', 'students');
    expect((await standing(asker)).limit).to.equal(510n * dollar);
    await source.query(`UPDATE clubs SET ai_monthly_limit = 2000 WHERE id = $1`, [clubId]);
    expect((await standing(asker)).limit).to.equal(20n * dollar);
    await source.query(`UPDATE clubs SET ai_monthly_limit = 200000 WHERE id = $1`, [clubId]);
    expect((await standing(asker)).limit).to.equal(510n * dollar);
  });

  it('equals the sum of costs and reserves after any sequence of questions', async () => {
    const step = fc.oneof(
      fc.record({ act: fc.constant('ask' as const), micros: fc.bigInt(1n, 20n * dollar) }),
      fc.record({ act: fc.constant('end' as const), which: fc.nat(), cost: fc.bigInt(0n, 15n * dollar) }),
    );
    const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(rounds, async (planned) => {
        const own = await buildAsker(asker.clubId);
        await (await testDatabase()).query(`DELETE FROM club_ai_months WHERE club_id = $1`, [asker.clubId]);
        const answers: { id: string; reserved: bigint; costs: bigint[] }[] = [];
        const costOf = async ({ id }: { id: string }) => BigInt((await chargeRow(id)).costMicros ?? -1);
        for (const round of planned) {
          const before = await standing(own);
          const known = answers.length;
          const outcomes = await Promise.all(
            round.map(async (one) => {
              if (one.act === 'ask') {
                const asking = buildCharge(own, one.micros, now);
                const outcome = await outcomeOf(asking);
                if (outcome === 'accepted') answers.push({ id: await asking, reserved: one.micros, costs: [] });
                return outcome;
              }
              // Two acts can choose one answer, and end it at the same time.
              const answer = answers[one.which % Math.max(1, known)];
              if (known === 0 || !answer) return 'nothing';
              answer.costs.push(one.cost);
              await endAnswer(answer.id, { status: 'complete', cost: one.cost, at: now });
              return 'ended';
            }),
          );
          let [spent, reserved] = [0n, 0n];
          for (const answer of answers) {
            if (answer.costs.length === 0) reserved += answer.reserved;
            else {
              const cost = await costOf(answer);
              expect(
                answer.costs.includes(cost),
                'one of the acts that ended the answer had the recorded cost',
              ).to.equal(true);
              spent += cost;
            }
          }
          expect(await standing(own)).to.include({ spent, reserved });
          const accepted = answers.slice(known);
          if (accepted.length > 0) expect(before.spent < budget).to.equal(true);
          if (outcomes.includes('club_budget_exhausted')) expect(spent >= budget).to.equal(true);
          // During the round, the sum of the spent and the reserved amounts was never higher than `most`.
          const most = answers.reduce(
            (sum, { reserved: micros, costs }) =>
              sum + [micros, ...costs].reduce((max, one) => (one > max ? one : max)),
            0n,
          );
          if (outcomes.includes('budget_reserved')) expect(most >= budget).to.equal(true);
          // Before the last accepted question, the used amount was below the budget.
          const largest = accepted.reduce((max, one) => (one.reserved > max ? one.reserved : max), 0n);
          if (!outcomes.includes('ended') && accepted.length > 0)
            expect(spent + reserved - largest < budget).to.equal(true);
          if (spent < budget && reserved === 0n) expect(await outcomeOf(freely(own))).to.equal('accepted');
        }
      }),
      { numRuns: 15 },
    );
  });
});

/** Ends the answer immediately and without cost. */
async function freely(asker: Asker): Promise<void> {
  await endAnswer(await buildCharge(asker, 1n, now), { status: 'complete', cost: 0n, at: now });
}

describe('a question to a club whose budget is completely reserved', () => {
  const patience = { waitMs: 5_000, everyMs: 10 };
  const settles = async (answerId: string, cost: bigint) => endAnswer(answerId, { status: 'complete', cost, at: now });
  let asker: Asker;
  let filling: string;
  beforeEach(async () => {
    asker = await buildAsker((await buildClub()).id);
    filling = await buildCharge(asker, budget, now);
  });
  /** The promise `refused` resolves after the given number of refused tries. */
  const askers = (refusals = 1, questions = 1) => {
    const refused = Promise.withResolvers<void>();
    const inLine = Promise.withResolvers<void>();
    let outside = questions;
    let [under, most, left] = [0, 0, refusals];
    const attempt = async () => {
      most = Math.max(most, ++under);
      try {
        return await buildCharge(asker, 1n, now);
      } catch (error) {
        if (--left === 0) refused.resolve();
        throw error;
      } finally {
        under--;
      }
    };
    return {
      ask(limits: Patience = patience) {
        let isFirst = true;
        const own = () =>
          attempt().catch((error: unknown) => {
            if (isFirst && --outside === 0) inLine.resolve();
            isFirst = false;
            throw error;
          });
        return whileBudgetIsReserved(asker.clubId, own, limits);
      },
      inLine: inLine.promise,
      refused: refused.promise,
      /** The highest number of simultaneous tries since the last call. */
      atOnce() {
        const value = most;
        most = 0;
        return value;
      },
    };
  };

  it('waits until one of the answers ends, and is then accepted', async () => {
    const { ask, refused } = askers(2);
    const question = ask();
    await refused;
    await settles(filling, dollar);
    await question;
    expect(await standing(asker)).to.include({ spent: dollar, reserved: 1n });
  });

  it('is rejected with club_budget_exhausted if the other answers spend the budget', async () => {
    const { ask, refused } = askers();
    const question = outcomeOf(ask());
    await refused;
    await settles(filling, budget);
    expect(await question).to.equal('club_budget_exhausted');
  });

  it('is rejected with rate_limited and Retry-After if no answer ends in time', async () => {
    const before = await standing(asker);
    const error = await askers()
      .ask({ waitMs: 50, everyMs: 10 })
      .catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: 'rate_limited' }).and.have.nested.property('headers.retryAfterSeconds', 1);
    expect(await standing(asker)).to.deep.equal(before);
  });

  it('waits in a queue after its first try, so that only one question tries at a time', async () => {
    const { ask, inLine, atOnce } = askers(1, 10);
    const questions = Array.from({ length: 10 }, () => ask());
    await inLine;
    atOnce();
    await settles(filling, 0n);
    await Promise.all(questions);
    expect(atOnce()).to.equal(1);
    expect(await standing(asker)).to.include({ reserved: 10n });
  });
});
