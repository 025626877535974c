/**
 * The scenario of an agent's answers: students ask questions, delete conversations and are removed. Each event in the stream of the model
 * is a step of the
 * schedule.
 */
import pino from 'pino';
import { createDeltaLog } from '../../../../domain/agents/answers/delta-log.ts';
import { answerRules } from '../../../../domain/agents/answers/answers.policy.ts';
import { askAgent } from '../../../../domain/agents/conversations/asking.ts';
import { removeConversation } from '../../../../domain/agents/conversations/conversations.ts';
import { costOf } from '../../../../domain/agents/prompt/prices.policy.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { ModelFailure, type AskModel } from '../../../../platform/infra/model/model.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addressOf, addStudents, searchForTraces, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

const moods = ['answers', 'is slow', 'breaks off', 'is overloaded', 'rejects', 'declines'] as const;
type Mood = (typeof moods)[number];

interface Call {
  questionId: Id;
  sentWords: string;
  hasBegun: boolean;
  isWhole: boolean;
}

const model = 'claude-haiku-5-5';
/** The answer has many words, so that faults can happen between any two words. */
const words = 'A bowline holds and does not slip when it is wet or under a heavy load. '.match(/\S+ /g) ?? [];
const promptUse = { input: 100, output: 1, cacheWrite: 0, cacheRead: 0 };
const wholeUse = { ...promptUse, output: 12 };
/** The pause of the slow model before each word. */
const slowMs = 8_000;

export async function answers(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 2);
  const { storage } = simulatedStore(sim);
  const deps = { db: sim.db, vault, storage, model: { configured: true, defaultModel: model } };
  const now = () => new Date(sim.time.now);
  await openAgent();
  const askers = new Map<Id, Id>();
  const removed = new Set<Id>();
  const calls: Call[] = [];
  const brokenInvariants: { invariant: string; details: string }[] = [];
  let mood: Mood = 'answers';

  async function openAgent(): Promise<void> {
    const [agentId, deliveryId] = [newId(), newId()];
    await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
      clubId,
    ]);
    await sim.postgres.ask(
      `WITH agent AS (INSERT INTO agents (id, club_id, public_id, name, description, instructions, status, daily_limit, answer_max_tokens, created_at, updated_at)
         VALUES ($1, $2, 'knots', 'Knots', '', '', 'published', 50, 1024, $4, $4))
       INSERT INTO access_deliveries (id, club_id, name, kind, agent_id, created_at, updated_at) VALUES ($3, $2, 'Knots', 'agent', $1, $4, $4)`,
      [agentId, clubId, deliveryId, now()],
    );
    for (const studentId of students)
      await sim.postgres.ask(
        `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, 'grant', $5, $5, $5)`,
        [newId(), clubId, studentId, deliveryId, now()],
      );
  }

  const askModel: AskModel = async function* (request, signal) {
    const questionId = [...JSON.stringify(request.messages).matchAll(/question ([0-9a-f-]{36})/g)].at(-1)?.[1] ?? '';
    const [row] = await sim.postgres.ask<{ hasBegun: boolean }>(
      `SELECT begun_at IS NOT NULL AS "hasBegun" FROM agent_answers WHERE question_id = $1`,
      [questionId],
    );
    if (row?.hasBegun && !sim.slow)
      brokenInvariants.push({ invariant: 'an answer that has begun is not asked again', details: questionId });
    const call: Call = { questionId, sentWords: '', hasBegun: false, isWhole: false };
    const callMood = await sim.outside(`call of ${questionId}`, () => {
      calls.push(call);
      call.hasBegun = mood !== 'is overloaded' && mood !== 'rejects';
      return mood;
    });
    signal.throwIfAborted();
    if (callMood === 'is overloaded') throw new ModelFailure('overloaded', '529');
    if (callMood === 'rejects') throw new ModelFailure('rejected', '400');
    yield { type: 'begun', requestId: `req_${questionId}`, use: promptUse };
    for (const word of words) {
      if (callMood === 'is slow') await new Promise((resolve) => void setTimeout(resolve, slowMs));
      await sim.outside(`words of ${questionId}`, () => void (call.sentWords += word));
      signal.throwIfAborted();
      yield { type: 'text', text: word };
      if (callMood === 'breaks off') throw new ModelFailure('unavailable', 'cut');
    }
    yield {
      type: 'stopped',
      reason: callMood === 'declines' ? 'refusal' : 'end_turn',
      use: { output: wholeUse.output },
    };
    call.isWhole = true;
    yield { type: 'ended' };
  };

  const ask = (studentId: Id, decisions: Decisions): Command => {
    const id = decisions.happens(6) ? ([...askers.keys()].at(-1) ?? newId()) : newId();
    const isFollowUp = decisions.happens(3);
    return {
      label: `${studentId} asks`,
      async run() {
        const conversations = isFollowUp ? await conversationsOf(studentId) : [];
        const last = conversations.at(-1);
        askers.set(id, studentId);
        const content = `${addressOf(studentId)} has question ${id}`;
        const turn = { id, content, ...(last && { conversation_id: last }) };
        await askAgent(deps, { clubId, id: studentId }, 'knots', turn, now());
      },
    };
  };

  async function conversationsOf(studentId: Id): Promise<Id[]> {
    const rows = await sim.postgres.ask<{ id: Id }>(
      'SELECT id FROM agent_conversations WHERE student_id = $1 AND deleted_at IS NULL ORDER BY created_at, id',
      [studentId],
    );
    return rows.map(({ id }) => id);
  }

  const setMood = (next: Mood): Command => ({
    label: `the model ${next}`,
    run() {
      mood = next;
    },
  });

  const expectNothingBroken = () => {
    const [first] = brokenInvariants;
    mustHold(first === undefined, first?.invariant ?? '', () => first?.details ?? '');
  };

  return {
    types: ['agentAnswer'],
    horizonMs: 15 * 60_000,
    leaseMs: answerRules.leaseMs,
    depsFor: (db) => ({
      answers: {
        db,
        prompt: { db, retrieve: () => Promise.resolve([]), readImages: () => Promise.resolve([]) },
        askModel,
        log: createDeltaLog({
          source: db.source,
          notify: () => {},
          onError: () => {},
          failpoint: () => Promise.resolve(),
        }),
        notify: () => {},
        onEnd: () => {},
        onFirstWords: () => {},
        logger: pino({ enabled: false }),
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(12);
      const studentId = decisions.pick(students);
      if (which < 5) return ask(studentId, decisions);
      if (which < 9) return setMood(decisions.pick(moods));
      if (which === 9)
        return {
          label: `${studentId} deletes a conversation`,
          async run() {
            const last = (await conversationsOf(studentId)).at(-1);
            if (last) await removeConversation(deps, { clubId, id: studentId }, last, now());
          },
        };
      if (which === 10) {
        const limit = decisions.pick([null, 0, 1]);
        return {
          label: `the club spends at most ${limit ?? 'all'} cents`,
          run: async () =>
            void (await sim.db.run(sql`UPDATE clubs SET ai_monthly_limit = ${limit} WHERE id = ${clubId}`)),
        };
      }
      return {
        label: `remove ${studentId}`,
        async run() {
          await removeStudent(deps, clubId, studentId, now());
          removed.add(studentId);
        },
      };
    },
    calm: () => [setMood('answers')],
    atRest: async () => expectNothingBroken(),
    async atEnd() {
      expectNothingBroken();
      await expectAnswers();
      await expectSums();
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  /** Expects that each question has one ended answer, with the text of the model and the charge for that text. */
  async function expectAnswers(): Promise<void> {
    const rows = await sim.postgres.ask<{
      questionId: Id;
      status: string;
      error: string | null;
      content: string;
      hasBegun: boolean;
      isErased: boolean;
      cost: string | null;
      isSettled: boolean;
      log: string | null;
      calls: number;
    }>(
      `SELECT answer.question_id AS "questionId", answer.status, answer.error_code AS error, answer.content, answer.begun_at IS NOT NULL AS "hasBegun",
              conversation.deleted_at IS NOT NULL AS "isErased", charge.cost_micros AS cost, charge.settled_at IS NOT NULL AS "isSettled",
              (SELECT string_agg(text, '' ORDER BY starts_at) FROM agent_answer_deltas WHERE answer_id = answer.id) AS log, answer.call_no AS calls
         FROM agent_answers answer JOIN agent_conversations conversation ON conversation.id = answer.conversation_id
         LEFT JOIN agent_charges charge ON charge.answer_id = answer.id ORDER BY answer.id`,
    );
    for (const row of rows) {
      const modelCalls = calls.filter(({ questionId }) => questionId === row.questionId);
      const about = () => JSON.stringify({ row, modelCalls });
      mustHold(row.status !== 'generating' && row.isSettled, 'all work ends', about);
      mustHold(modelCalls.length <= Math.min(row.calls, answerRules.calls), 'no more calls than are allowed', about);
      if (row.isErased) {
        mustHold(row.content === '' && row.log === null, 'no deleted content remains', about);
        continue;
      }
      mustHold(row.log === null || row.log === row.content, 'the log has the words of the answer', about);
      mustHold(
        modelCalls.some(({ sentWords }) => sentWords.startsWith(row.content)) || row.content === '',
        'an answer has the text of the model',
        about,
      );
      const isWhole = row.status === 'complete' || row.status === 'refused';
      mustHold(
        !isWhole || modelCalls.some((call) => call.isWhole && call.sentWords === row.content),
        'a recorded effect has happened',
        about,
      );
      const price = costOf(model, wholeUse, new Date(beginning));
      mustHold(!isWhole || row.cost === String(price), 'an answer costs what the model counted', about);
      mustHold(row.hasBegun || row.cost === '0', 'an answer that has not begun costs nothing', about);
      mustHold(
        row.hasBegun ? modelCalls.some((call) => call.hasBegun) : row.status === 'failed',
        'a recorded effect has happened',
        about,
      );
    }
    for (const { questionId } of calls)
      mustHold(
        rows.some((row) => row.questionId === questionId),
        'each call has an answer',
        () => questionId,
      );
  }

  /** Expects that no budget is reserved. The monthly sums of clubs and of agents must equal the sums of the charges. */
  async function expectSums(): Promise<void> {
    const [sums] = await sim.postgres.ask<Record<string, string>>(
      `SELECT (SELECT coalesce(sum(cost_micros), 0) FROM agent_charges)::text AS charged,
              (SELECT coalesce(sum(spent_micros), 0) FROM club_ai_months)::text AS spent,
              (SELECT coalesce(sum(reserved_micros), 0) FROM club_ai_months)::text AS reserved,
              (SELECT coalesce(sum(cost_micros), 0) FROM agent_months)::text AS cost,
              (SELECT coalesce(sum(questions), 0) FROM agent_months)::text AS questions,
              (SELECT coalesce(sum(complete + truncated + refused + failed), 0) FROM agent_months)::text AS ended,
              (SELECT count(*) FROM agent_answers)::text AS answers`,
    );
    const { charged, spent, reserved, cost, questions, ended, answers: all } = sums ?? {};
    mustHold(
      charged === spent && charged === cost && reserved === '0' && questions === all && ended === all,
      'sums are equal',
      () => JSON.stringify(sums),
    );
  }
}
