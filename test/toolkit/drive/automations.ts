/**
 * Runs the automations of a club without Temporal. It handles the club's facts, and makes the steps of the runs in the order of their due
 * times. Its clock jumps from one step to the next step. Temporal would only add waits. Other tests check these waits with time skipping.
 */
import { enrollByFacts } from '../../../domain/automations/entering/by-facts.ts';
import { enrollByHand } from '../../../domain/automations/entering/by-hand.ts';
import { tendAutomationGate } from '../../../domain/automations/gate.ts';
import { readRun } from '../../../domain/automations/runs.ts';
import { takeStep, type RunDeps } from '../../../domain/automations/running/run-step.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { ClaimedFact } from '../../../platform/engine/facts.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { HandedMessage, HandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { testDeps } from '../stack/database.ts';

export interface AutomationPlay {
  deps: RunDeps;
  now: () => Date;
  given: HandedMessage[];
  /** Accepts by default. */
  answer: (message: HandedMessage) => Promise<HandOver> | HandOver;
  /** Processes only facts. */
  tellFacts: () => Promise<void>;
  /** Handles all facts, runs and gates that are due now. */
  settle: () => Promise<void>;
  /** Moves the clock by this duration, and makes each step at the time when it is due. */
  pass: (ms: number) => Promise<void>;
  enroll: (automationId: Id, studentId: Id) => Promise<Id>;
  /** @returns the status and the exit of a run, and then its outcomes, such as `exited by_hand: wait by_hand` */
  story: (automationId: Id, runId: Id) => Promise<string>;
  read: (automationId: Id, runId: Id) => Promise<RecordOf<'AutomationRunPath'>>;
}

const nobody: RunDeps['smtp'] = {
  onConnectionWithin: (_limitMs, work) => work(),
  handOver: async () => ({ kind: 'accepted', reply: '250 ok' }),
};

/** @param smtp accepts everything by default */
export async function automationDeps(smtp = nobody): Promise<RunDeps> {
  return {
    ...(await testDeps()),
    smtp,
    fromAddress: 'news@platform.example',
    marks: { providers: [], returnAddress: undefined },
    warmUps: { clubs: [], domains: [] },
    publicUrl: 'https://api.example',
    onMail: () => undefined,
    onStep: () => undefined,
    failpoint: async () => undefined,
  };
}

/** The largest number of steps. More steps mean that the test or the product has an endless loop. */
const mostSteps = 5_000;

export async function playAutomations(clubId: Id, start: Date): Promise<AutomationPlay> {
  const shared = await testDeps();
  const { source } = shared.db;
  let now = start;
  const play: AutomationPlay = {
    now: () => now,
    given: [],
    answer: () => ({ kind: 'accepted', reply: '250 ok' }),
    deps: await automationDeps({
      onConnectionWithin: (_limitMs, work) => work(),
      handOver: async (message) => {
        play.given.push(message);
        return play.answer(message);
      },
    }),
    async tellFacts() {
      while (await processOneFact());
    },
    async settle() {
      for (let steps = 0; steps < mostSteps; steps++) if (!(await takeOne())) return;
      throw new Error('The automations did not end within the allowed number of steps');
    },
    async pass(ms) {
      const end = new Date(now.getTime() + ms);
      for (let jumps = 0; jumps < mostSteps; jumps++) {
        await play.settle();
        const next = await nextDue();
        if (next === undefined || next > end) {
          now = end;
          return play.settle();
        }
        now = next;
      }
      throw new Error('The automations did not end within the allowed number of steps');
    },
    async enroll(automationId, studentId) {
      const id = newId();
      await enrollByHand(shared, clubId, automationId, { id, student_ids: [studentId] }, now);
      const [run] = await source.query<{ id: Id }[]>(`SELECT id FROM automation_runs WHERE cause_id = $1`, [id]);
      if (!run) throw new Error('The student has entered no run');
      return run.id;
    },
    read: (automationId, runId) => readRun(shared.db, clubId, automationId, runId),
    async story(automationId, runId) {
      const { status, exit_reason: reason, error_code: code, path } = await play.read(automationId, runId);
      const passed = path.map(
        ({ step_id: id, outcome, left_at: left }) => `${id} ${left === undefined ? '…' : ''}${outcome ?? ''}`,
      );
      return `${[status, reason, code].filter(Boolean).join(' ')}: ${passed.join(', ')}`;
    },
  };

  async function processOneFact(): Promise<boolean> {
    const deletion = await source.query<ClaimedFact[]>(
      `DELETE FROM facts WHERE id = (SELECT id FROM facts WHERE club_id = $1 ORDER BY seq LIMIT 1)
       RETURNING id, club_id AS "clubId", type, student_id AS "studentId", subject_id AS "subjectId", details, occurred_at AS "occurredAt", priority`,
      [clubId],
    );
    const [facts] = deletion as unknown as [ClaimedFact[], number];
    await enrollByFacts(shared.db, facts, now);
    return facts.length > 0;
  }

  async function takeOne(): Promise<boolean> {
    if (await processOneFact()) return true;
    const [run] = await source.query<{ id: Id }[]>(
      `SELECT id FROM automation_runs WHERE club_id = $1 AND looks_at <= $2 ORDER BY looks_at, id LIMIT 1`,
      [clubId, now],
    );
    if (run) {
      await takeStep(play.deps, run.id, now.getTime());
      return true;
    }
    const [gate] = await source.query<{ id: Id }[]>(
      `SELECT id FROM automations WHERE club_id = $1 AND gate_looks_at <= $2 LIMIT 1`,
      [clubId, now],
    );
    if (gate) await tendAutomationGate(shared, gate.id, now.getTime());
    return gate !== undefined;
  }

  async function nextDue(): Promise<Date | undefined> {
    const [row] = await source.query<{ at: Date | null }[]>(
      `SELECT least((SELECT min(looks_at) FROM automation_runs WHERE club_id = $1), (SELECT min(gate_looks_at) FROM automations WHERE club_id = $1)) AS at`,
      [clubId],
    );
    return row?.at ?? undefined;
  }
  return play;
}
