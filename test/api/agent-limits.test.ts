/**
 * Tests the limits of agents: the questions of a student in 24 hours, the club's budget, and the questions in a minute (LIM-11 to LIM-13,
 * AGT-24).
 */
import type { Id } from '../../platform/core/ids.ts';
import { buildEnrollment, buildLearner } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { endAnswer } from '../toolkit/drive/answers.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { askingOf, openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';
import { secondsToNextMinute, withClockStopped } from '../toolkit/fakes/timers.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

const hour = 3_600_000;

async function age({ student }: { student: { id: Id } }, ms: number): Promise<void> {
  const source = await testDatabase();
  await source.query(
    `UPDATE agent_questions SET asked_at = asked_at - $2 * interval '1 millisecond' WHERE student_id = $1`,
    [student.id, ms],
  );
}

const limitsOf = async (classroom: AskingClassroom) => (await classroom.agent()).body.data.limits;

describe('the limit of questions to an agent', () => {
  it('counts the accepted question, and sets resets_at to 24 hours after the oldest question', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 3 });
    expect(await limitsOf(classroom)).to.deep.equal({
      daily_limit: 3,
      used: 0,
      remaining: 3,
      club_budget_exhausted: false,
    });
    const first = (await classroom.ask()).data;
    const resetsAt = new Date(Date.parse(first.question.created_at) + 24 * hour).toISOString();
    const counted = { daily_limit: 3, club_budget_exhausted: false, resets_at: resetsAt };
    expect(first.limits).to.deep.equal({ ...counted, used: 1, remaining: 2 });
    expect((await classroom.ask()).data.limits).to.deep.equal({ ...counted, used: 2, remaining: 1 });
    expect((await classroom.ask()).data.limits).to.deep.equal({ ...counted, used: 3, remaining: 0 });
    expect(await limitsOf(classroom)).to.deep.equal({ ...counted, used: 3, remaining: 0 });
  });

  it('returns 429 daily_limit_reached at the limit, and sends the seconds until resets_at as Retry-After', () =>
    withClockStopped(async (now) => {
      const classroom = await openAskingClassroom({ dailyLimit: 2 });
      await classroom.ask();
      await age(classroom, 23 * hour);
      await classroom.ask();
      const answer = await classroom.refused({});
      expectError(answer, 'daily_limit_reached');
      expect(answer.headers.get('retry-after')).to.equal('3600');
      expect(Date.parse((await limitsOf(classroom)).resets_at)).to.equal(now + hour);
    }));

  it('allows another question once the oldest question is 24 hours old', () =>
    withClockStopped(async (now) => {
      const classroom = await openAskingClassroom({ dailyLimit: 2 });
      await classroom.ask();
      await age(classroom, hour);
      await classroom.ask();
      expectError(await classroom.refused({}), 'daily_limit_reached');
      clock.advance(23 * hour - 1);
      expectError(await classroom.refused({}), 'daily_limit_reached');
      clock.advance(1); // The first question is 24 hours old.
      await classroom.ask();
      expectError(await classroom.refused({}), 'daily_limit_reached');
      const { used, resets_at: resetsAt } = await limitsOf(classroom);
      expect(used).to.equal(2);
      expect(Date.parse(resetsAt)).to.equal(now + 24 * hour); // The second question is then 24 hours old.
    }));

  it('also counts questions of deleted conversations', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 1 });
    const { conversationId } = await classroom.ask();
    await classroom.remove(conversationId);
    expect(await limitsOf(classroom)).to.include({ used: 1, remaining: 0 });
    expectError(await classroom.refused({}), 'daily_limit_reached');
  });

  it('does not count a refused question', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 2 });
    const { data, conversationId } = await classroom.ask();
    expectError(await classroom.refused({ id: data.question.id }), 'message_exists');
    expectError(await classroom.refused({ conversation_id: conversationId }), 'generation_in_progress');
    expect(await limitsOf(classroom)).to.include({ used: 1, remaining: 1 });
  });

  it('counts a question even if its answer fails', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 1 });
    const { answerId } = await classroom.ask();
    await endAnswer(answerId, { status: 'failed', errorCode: 'model_unavailable' });
    expect(await limitsOf(classroom)).to.include({ used: 1, remaining: 0 });
  });

  it('counts the questions of each student to each agent separately', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 1 });
    const { club, openAgent, student } = classroom;
    await classroom.ask();
    await askingOf(openAgent, await buildLearner(openAgent)).ask();
    const other = await buildOpenAgent(club.id, { dailyLimit: 1 });
    await buildEnrollment(club.id, { studentId: student.id, deliveryId: other.deliveryId, startsAt: new Date(0) });
    await askingOf(other, student).ask();
  });

  it('shows 0 remaining questions if the new limit is lower than the number of asked questions', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 3 });
    for (let count = 0; count < 3; count++) await classroom.ask();
    await alter('agents', classroom.openAgent.id, { daily_limit: 1 });
    expect(await limitsOf(classroom)).to.include({ daily_limit: 1, used: 3, remaining: 0 });
    expectError(await classroom.refused({}), 'daily_limit_reached');
  });

  it('sets Retry-After to the time when enough questions are older than 24 hours', () =>
    withClockStopped(async () => {
      const classroom = await openAskingClassroom({ dailyLimit: 3 });
      for (const hours of [1, 1, 0]) {
        await classroom.ask();
        await age(classroom, hours * hour); // Finally, the three questions are two, one and zero hours old.
      }
      const secondsOf = async () => Number((await classroom.refused({})).headers.get('retry-after'));
      expect(await secondsOf()).to.equal(22 * 3_600);
      await alter('agents', classroom.openAgent.id, { daily_limit: 1 });
      expect(await secondsOf()).to.equal(24 * 3_600);
    }));

  it('computes Retry-After only from the student’s questions to this agent in the last 24 hours', () =>
    withClockStopped(async () => {
      const classroom = await openAskingClassroom({ dailyLimit: 3 });
      const { club, openAgent, student } = classroom;
      const other = await buildOpenAgent(club.id, { dailyLimit: 1 });
      await buildEnrollment(club.id, { studentId: student.id, deliveryId: other.deliveryId, startsAt: new Date(0) });
      const neighbour = await buildLearner(openAgent);
      await classroom.ask();
      await age(classroom, hour);
      await classroom.ask();
      await age(classroom, 12 * hour);
      await askingOf(other, student).ask();
      await askingOf(openAgent, neighbour).ask();
      await age(classroom, 10 * hour);
      await age({ student: neighbour }, 12 * hour);
      await classroom.ask();
      await age(classroom, 2 * hour);
      // The student's questions are 25, 24 and 2 hours old. Questions to another agent and of another student are 12 hours old.
      await alter('agents', openAgent.id, { daily_limit: 1 });
      expect((await classroom.refused({})).headers.get('retry-after')).to.equal(String(22 * 3_600));
    }));

  it('refuses every question if it is 0, and then sends neither resets_at nor Retry-After', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 0 });
    expect(await limitsOf(classroom))
      .to.include({ daily_limit: 0, used: 0, remaining: 0 })
      .and.not.have.key('resets_at');
    const refusal = await classroom.refused({});
    expectError(refusal, 'daily_limit_reached');
    expect(refusal.headers.get('retry-after')).to.equal(null);
  });

  it('accepts 5 of 12 simultaneous questions if the limit is 5', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 5 });
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => classroom.ask()));
    const accepted = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(accepted).to.have.length(5);
    const used = accepted.map((outcome) => outcome.status === 'fulfilled' && outcome.value.data.limits.used);
    expect(used.toSorted((a, b) => a - b)).to.deep.equal([1, 2, 3, 4, 5]);
  });
});

describe('the club’s AI budget', () => {
  /** @param cents the club's limit for the cost of its agents in a month */
  const withBudget = async (cents: number) => {
    const classroom = await openAskingClassroom();
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET ai_monthly_limit = $2 WHERE id = $1`, [classroom.club.id, cents]);
    return classroom;
  };
  const reservedOf = async ({ club }: AskingClassroom) => {
    const source = await testDatabase();
    const rows = await source.query<{ micros: string }[]>(
      `SELECT reserved_micros AS micros FROM agent_charges WHERE club_id = $1 ORDER BY reserved_micros`,
      [club.id],
    );
    return rows.map(({ micros }) => Number(micros));
  };

  it('returns 429 club_budget_exhausted for every question if the budget is 0', async () => {
    const classroom = await withBudget(0);
    expectError(await classroom.refused({}), 'club_budget_exhausted');
    expect(await limitsOf(classroom)).to.include({ club_budget_exhausted: true, used: 0 });
  });

  it('accepts questions while any of the budget remains, and later returns 429 club_budget_exhausted', async () => {
    const classroom = await withBudget(1);
    const { answerId, data } = await classroom.ask(); // This question reserves more than the one cent that remains.
    expect(data.limits.club_budget_exhausted).to.equal(false);
    expect(await limitsOf(classroom)).to.include({ club_budget_exhausted: false });
    const waiting = classroom.ask();
    await endAnswer(answerId, { cost: 9_999n });
    const second = await waiting;
    expect(second.data.limits).to.include({ club_budget_exhausted: false, used: 2 });
    const third = classroom.refused({});
    await endAnswer(second.answerId, { cost: 1n });
    expectError(await third, 'club_budget_exhausted');
    expect(await limitsOf(classroom)).to.include({ club_budget_exhausted: true, used: 2 });
  });

  it('refuses questions of all students of this club, but not of another club, after it is used up', async () => {
    const classroom = await withBudget(0);
    const other = askingOf(classroom.openAgent, await buildLearner(classroom.openAgent));
    expectError(await other.refused({}), 'club_budget_exhausted');
    await (await openAskingClassroom()).ask();
  });

  it('stays used up until the month ends in the club’s time zone', async () => {
    const classroom = await openAskingClassroom();
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET ai_monthly_limit = 1000, time_zone = 'Pacific/Kiritimati' WHERE id = $1`, [
      classroom.club.id,
    ]);
    await source.query(
      `INSERT INTO club_ai_months (club_id, month, spent_micros)
       VALUES ($1, date_trunc('month', now() AT TIME ZONE 'Pacific/Kiritimati'), 10000000)`,
      [classroom.club.id],
    );
    expectError(await classroom.refused({}), 'club_budget_exhausted');
    clock.advance(31 * 24 * hour);
    await source.query(
      `UPDATE student_sessions SET expires_at = expires_at + interval '62 days' WHERE student_id = $1`,
      [classroom.student.id],
    );
    await classroom.ask();
  });

  it('reserves one token for every three characters of the question and its history', async () => {
    const classroom = await openAskingClassroom({ instructions: '' });
    const { answerId, conversationId } = await classroom.ask({ content: 'xxx' });
    await endAnswer(answerId, { text: 'y'.repeat(2_997) });
    await classroom.ask({ content: 'x'.repeat(3_003) });
    await classroom.ask({ content: 'xxx', conversation_id: conversationId });
    const [least = 0, long = 0, continued = 0] = await reservedOf(classroom);
    expect(long - least).to.equal(1_000 * 2.5); // 2.5 millionths of a dollar: the price of one token that this model writes to its cache
    expect(continued - least).to.equal((1_000 + 40) * 2.5);
  });
});

it('returns 429 rate_limited for a student’s 21st question in a minute, and accepts other students', () =>
  withClockStopped(async (now) => {
    const classroom = await openAskingClassroom();
    for (let count = 0; count < 20; count++) await classroom.ask();
    const answer = await classroom.refused({});
    expectError(answer, 'rate_limited');
    expect(Number(answer.headers.get('retry-after'))).to.equal(secondsToNextMinute(now));
    await askingOf(classroom.openAgent, await buildLearner(classroom.openAgent)).ask();
  }));
