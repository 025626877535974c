/** Transactional mails: a mail server that accepts, refuses and takes its time, and people who leave before the mail does. */
import { requestMail } from '../../../../domain/mail/transactional/requests.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Statement } from '../postgres.ts';
import { runningNow, type SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';

/** A message as it was handed over, under a claim. */
interface Handed {
  key: Id;
  /** Who hands it over. */
  process: SimulatedProcess | undefined;
  fence: number;
  at: number;
  /** Whether the server takes it; what the sender is told. */
  taken: boolean;
  /** When the sender heard so; undefined where it never did. */
  answeredAt: number | undefined;
  /** Another claim was made before the sender heard: nothing may be recorded under this one. */
  isOver: boolean;
}

const moods = {
  accepts: { taken: true, ms: 0 },
  'is slow': { taken: true, ms: 40_000 },
  refuses: { taken: false, ms: 0 },
  'refuses after a while': { taken: false, ms: 40_000 },
} as const;
type Mood = keyof typeof moods;

const refusals = ['refuses', 'refuses after a while'] as const;

const leaseMs = 60_000;
/** After the first attempt; later ones wait longer (domain/mail/transactional/schedule.policy.ts). */
const shortestWaitMs = 10_000;

export async function mails(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const handed: Handed[] = [];
  const removed = new Set<Id>();
  let mood: Mood = 'accepts';
  const now = () => new Date(sim.time.now);

  async function sendMail({ messageKey: key }: { messageKey: Id }): Promise<void> {
    const [row] = await sim.postgres.ask<{ fence: number }>('SELECT fence FROM transactional_mails WHERE id = $1', [
      key,
    ]);
    const before = handed.filter((one) => one.key === key);
    for (const one of before) one.isOver ||= one.answeredAt === undefined;
    const mine: Handed = {
      key,
      process: runningNow()?.process,
      fence: row?.fence ?? 0,
      at: 0,
      taken: false,
      answeredAt: undefined,
      isOver: false,
    };
    const { ms } = await sim.outside(`mail ${key}`, () => {
      const answer = moods[mood];
      Object.assign(mine, { at: sim.time.now, taken: answer.taken });
      expectAlone(mine, before);
      expectDue(mine, before);
      handed.push(mine);
      return answer;
    });
    if (ms > 0) await new Promise((resolve) => void setTimeout(resolve, ms));
    mine.answeredAt = sim.time.now;
    if (!mine.taken) throw Object.assign(new Error('451 try again later'), { code: 'EENVELOPE' });
  }

  /** Who has only lost claims of a mail records nothing of it (ENG-2). */
  function expectClaimed({ process, text, values, result }: Statement): void {
    if (!text.startsWith('UPDATE "transactional_mails"') || !result?.rowCount) return;
    const own = handed.filter((one) => one.process === process && values.includes(one.key));
    mustHold(
      own.length === 0 || own.some(({ isOver }) => !isOver),
      'a record counts under its own claim alone',
      () => `${process.name} records mail ${own[0]?.key} under claim ${own[0]?.fence}, which it has lost`,
    );
  }

  /** While a lease lasts nobody else sends the same (ENG-2). */
  function expectAlone({ key, at }: Handed, before: readonly Handed[]): void {
    const isAlone = before.every((one) => one.answeredAt !== undefined || at - one.at >= leaseMs);
    mustHold(sim.slow || isAlone, 'one attempt at a time', () => `mail ${key} is sent twice at a time`);
  }

  /** What was refused, and recorded, waits for its time. */
  function expectDue({ key, at }: Handed, before: readonly Handed[]): void {
    const isDue = before.every(({ at: earlier, isOver }) => isOver || at - earlier >= shortestWaitMs);
    mustHold(
      isDue || sim.slow || sim.cuts > 0,
      'nothing is tried before it is due',
      () => `mail ${key} is sent again too soon`,
    );
  }

  const turn = (next: Mood): Command => ({
    label: `the mail server ${next}`,
    run() {
      mood = next;
    },
  });

  return {
    types: ['transactionalMail'],
    horizonMs: 4 * 86_400_000,
    depsFor: (db) => ({
      mails: {
        db,
        vault,
        sendMail,
        links: {
          classroomUrl: 'https://{slug}.test',
          dashboardUrl: 'https://dashboard.test',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [100],
        onOutcome: () => {},
      },
    }),
    command(decisions) {
      const studentId = decisions.pick(students);
      const which = decisions.choose(8);
      if (which === 7) return remove(studentId);
      if (which > 3) return turn((['accepts', 'is slow', decisions.pick(refusals)] as const)[which - 4] ?? 'accepts');
      return {
        label: `a mail for ${studentId}`,
        async run() {
          await sim.db.transaction(async (tx) => {
            const row = await tx.manager.query<{ email: string | null }[]>(
              'SELECT email FROM students WHERE id = $1 FOR SHARE',
              [studentId],
            );
            const email = row[0]?.email;
            if (email)
              await requestMail(
                tx,
                vault,
                { template: 'student_reset_password', clubId, recipient: { studentId }, email },
                now(),
              );
          });
        },
      };
    },
    calm: () => [turn('accepts')],
    onStatement: expectClaimed,
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; fence: number; attempts: number }>(
        `SELECT id, status, fence, attempt_count AS attempts FROM transactional_mails`,
      );
      for (const { id, status, fence, attempts } of rows) {
        const times = handed.filter(({ key, taken }) => key === id && taken).length;
        const over = handed.filter((one) => one.key === id && (one.isOver || one.answeredAt === undefined)).length;
        mustHold(status !== 'pending', 'everything ends', () => `mail ${id} is pending`);
        mustHold(
          status !== 'sent' || times > 0,
          'what is recorded has happened',
          () => `mail ${id} is sent, and no server has it`,
        );
        mustHold(
          times <= 1 + fence - attempts,
          'no effect twice',
          () => `mail ${id} was accepted ${times} times, ${fence} claims, ${attempts} recorded`,
        );
        mustHold(
          attempts <= fence - over,
          'a record counts under its own claim alone',
          () => `mail ${id}: ${attempts} recorded of ${fence} claims, ${over} of which were lost`,
        );
        mustHold(times <= fence, 'what has happened is recorded', () => `mail ${id}: ${times} sent, ${fence} claims`);
      }
      mustHold(
        handed.every(({ key }) => rows.some(({ id }) => id === key)),
        'what has happened is recorded',
        () => 'a mail without a row was sent',
      );
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  function remove(studentId: Id): Command {
    return {
      label: `remove ${studentId}`,
      async run() {
        await removeStudent({ db: sim.db, vault }, clubId, studentId, now());
        removed.add(studentId);
      },
    };
  }
}
