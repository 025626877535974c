/** Answers of an agent: students ask, delete conversations and are removed, and the model's stream is a step for each of its events. */
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

/** A request as the model's service saw it. */
interface Call {
  questionId: Id;
  /** Words that have left the model. */
  sent: string;
  hasBegun: boolean;
  /** The whole stream was read. */
  isWhole: boolean;
}

const model = 'claude-haiku-5-5';
/** So many that something may happen between any two. */
const words = 'A bowline holds and does not slip when it is wet or under a heavy load. '.match(/\S+ /g) ?? [];
const promptUse = { input: 100, output: 1, cacheWrite: 0, cacheRead: 0 };
const wholeUse = { ...promptUse, output: 12 };
/** The slow model's pause before each of its words. */
const slowMs = 8_000;

export async function answers(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 2);
  const { storage } = simulatedStore(sim);
  const deps = { db: sim.db, vault, storage, model: { configured: true, defaultModel: model } };
  const now = () => new Date(sim.time.now);
  await openAgent();
  const asked = new Map<Id, Id>();
  const removed = new Set<Id>();
  const calls: Call[] = [];
  const broken: { invariant: string; details: string }[] = [];
  let mood: Mood = 'answers';

  /** An agent to which all students have access. */
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
    const [row] = await sim.postgres.ask<{ begun: boolean }>(
      `SELECT begun_at IS NOT NULL AS begun FROM agent_answers WHERE question_id = $1`,
      [questionId],
    );
    if (row?.begun && !sim.slow)
      broken.push({ invariant: 'an answer that has begun is not asked again', details: questionId });
    const call: Call = { questionId, sent: '', hasBegun: false, isWhole: false };
    const how = await sim.outside(`call of ${questionId}`, () => {
      calls.push(call);
      call.hasBegun = mood !== 'is overloaded' && mood !== 'rejects';
      return mood;
    });
    signal.throwIfAborted();
    if (how === 'is overloaded') throw new ModelFailure('overloaded', '529');
    if (how === 'rejects') throw new ModelFailure('rejected', '400');
    yield { type: 'begun', requestId: `req_${questionId}`, use: promptUse };
    for (const word of words) {
      if (how === 'is slow') await new Promise((resolve) => void setTimeout(resolve, slowMs));
      await sim.outside(`words of ${questionId}`, () => void (call.sent += word));
      signal.throwIfAborted();
      yield { type: 'text', text: word };
      if (how === 'breaks off') throw new ModelFailure('unavailable', 'cut');
    }
    yield { type: 'stopped', reason: how === 'declines' ? 'refusal' : 'end_turn', use: { output: wholeUse.output } };
    call.isWhole = true;
    yield { type: 'ended' };
  };

  const ask = (studentId: Id, decisions: Decisions): Command => {
    const id = decisions.happens(6) ? ([...asked.keys()].at(-1) ?? newId()) : newId();
    const goesOn = decisions.happens(3);
    return {
      label: `${studentId} asks`,
      async run() {
        const conversations = goesOn ? await conversationsOf(studentId) : [];
        const last = conversations.at(-1);
        asked.set(id, studentId);
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

  const turn = (next: Mood): Command => ({
    label: `the model ${next}`,
    run() {
      mood = next;
    },
  });

  const expectNothingBroken = () => {
    const [first] = broken;
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
      if (which < 9) return turn(decisions.pick(moods));
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
    calm: () => [turn('answers')],
    atRest: async () => expectNothingBroken(),
    async atEnd() {
      expectNothingBroken();
      await expectAnswers();
      await expectSums();
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  /** Each question has one answer, which has ended, says what the model said, and is charged for that. */
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
      const made = calls.filter(({ questionId }) => questionId === row.questionId);
      const about = () => JSON.stringify({ row, made });
      mustHold(row.status !== 'generating' && row.isSettled, 'everything ends', about);
      mustHold(made.length <= Math.min(row.calls, answerRules.calls), 'no more calls than are allowed', about);
      if (row.isErased) {
        mustHold(row.content === '' && row.log === null, 'what was deleted is nowhere', about);
        continue;
      }
      mustHold(row.log === null || row.log === row.content, 'the log has the words of the answer', about);
      mustHold(
        made.some(({ sent }) => sent.startsWith(row.content)) || row.content === '',
        'an answer says what the model said',
        about,
      );
      const isWhole = row.status === 'complete' || row.status === 'refused';
      mustHold(
        !isWhole || made.some((call) => call.isWhole && call.sent === row.content),
        'what is recorded has happened',
        about,
      );
      const price = costOf(model, wholeUse, new Date(beginning));
      mustHold(!isWhole || row.cost === String(price), 'an answer costs what the model counted', about);
      mustHold(row.hasBegun || row.cost === '0', 'an answer that has not begun costs nothing', about);
      mustHold(
        row.hasBegun ? made.some((call) => call.hasBegun) : row.status === 'failed',
        'what is recorded has happened',
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

  /** Nothing is reserved any more, and both kinds of months are the sums of the charges. */
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
