/**
 * The scenario of transactional mails: a mail server accepts, refuses and delays mails, and students are removed before their mail is sent.
 */
import { requestMail } from '../../../../domain/mail/transactional/requests.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Statement } from '../postgres.ts';
import { runningNow, type SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';

/** A message that was handed over under a claim. */
interface HandedMail {
  key: Id;
  process: SimulatedProcess | undefined;
  fence: number;
  at: number;
  /** Whether the server accepts the message. Its answer to the sender is never false. */
  isAccepted: boolean;
  /** The time at which the sender got the answer; undefined if the sender got no answer. */
  answeredAt: number | undefined;
  /** Nothing may be recorded under this claim any more, because another claim began. */
  isOver: boolean;
}

const moods = {
  accepts: { isAccepted: true, ms: 0 },
  'is slow': { isAccepted: true, ms: 40_000 },
  refuses: { isAccepted: false, ms: 0 },
  'refuses after a while': { isAccepted: false, ms: 40_000 },
} as const;
type Mood = keyof typeof moods;

const refusals = ['refuses', 'refuses after a while'] as const;

const leaseMs = 60_000;
/** The wait after the first attempt. Later waits are longer (domain/mail/transactional/schedule.policy.ts). */
const shortestWaitMs = 10_000;

export async function mails(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const handedMails: HandedMail[] = [];
  const removed = new Set<Id>();
  let mood: Mood = 'accepts';
  const now = () => new Date(sim.time.now);

  async function sendMail({ messageKey: key }: { messageKey: Id }): Promise<void> {
    const [row] = await sim.postgres.ask<{ fence: number }>('SELECT fence FROM transactional_mails WHERE id = $1', [
      key,
    ]);
    const before = handedMails.filter((one) => one.key === key);
    for (const one of before) one.isOver ||= one.answeredAt === undefined;
    const mine: HandedMail = {
      key,
      process: runningNow()?.process,
      fence: row?.fence ?? 0,
      at: 0,
      isAccepted: false,
      answeredAt: undefined,
      isOver: false,
    };
    const { ms } = await sim.outside(`mail ${key}`, () => {
      const answer = moods[mood];
      Object.assign(mine, { at: sim.time.now, isAccepted: answer.isAccepted });
      expectAlone(mine, before);
      expectDue(mine, before);
      handedMails.push(mine);
      return answer;
    });
    if (ms > 0) await new Promise((resolve) => void setTimeout(resolve, ms));
    mine.answeredAt = sim.time.now;
    if (!mine.isAccepted) throw Object.assign(new Error('451 try again later'), { code: 'EENVELOPE' });
  }

  /** Expects that a process records nothing about a mail after its claim of the mail has ended (ENG-2). */
  function expectClaimed({ process, text, values, result }: Statement): void {
    if (!text.startsWith('UPDATE "transactional_mails"') || !result?.rowCount) return;
    const own = handedMails.filter((one) => one.process === process && values.includes(one.key));
    mustHold(
      own.length === 0 || own.some(({ isOver }) => !isOver),
      'only the process with the latest claim records a result',
      () => `${process.name} records mail ${own[0]?.key} under claim ${own[0]?.fence}, which it has lost`,
    );
  }

  /** Expects that no other process sends a mail while its lease lives (ENG-2). */
  function expectAlone({ key, at }: HandedMail, before: readonly HandedMail[]): void {
    const isAlone = before.every((one) => one.answeredAt !== undefined || at - one.at >= leaseMs);
    mustHold(sim.slow || isAlone, 'one attempt at a time', () => `mail ${key} is sent twice at a time`);
  }

  /** Expects that a refused mail is not sent again before the end of the wait. */
  function expectDue({ key, at }: HandedMail, before: readonly HandedMail[]): void {
    const isDue = before.every(({ at: earlier, isOver }) => isOver || at - earlier >= shortestWaitMs);
    mustHold(
      isDue || sim.slow || sim.cuts > 0,
      'nothing is tried before it is due',
      () => `mail ${key} is sent again too soon`,
    );
  }

  const setMood = (next: Mood): Command => ({
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
      if (which > 3)
        return setMood((['accepts', 'is slow', decisions.pick(refusals)] as const)[which - 4] ?? 'accepts');
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
    calm: () => [setMood('accepts')],
    onStatement: expectClaimed,
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; fence: number; attempts: number }>(
        `SELECT id, status, fence, attempt_count AS attempts FROM transactional_mails`,
      );
      for (const { id, status, fence, attempts } of rows) {
        const times = handedMails.filter(({ key, isAccepted }) => key === id && isAccepted).length;
        const over = handedMails.filter((one) => one.key === id && (one.isOver || one.answeredAt === undefined)).length;
        mustHold(status !== 'pending', 'all work ends', () => `mail ${id} is pending`);
        mustHold(
          status !== 'sent' || times > 0,
          'a recorded effect has happened',
          () => `mail ${id} is sent, but the server has not accepted it`,
        );
        mustHold(
          times <= 1 + fence - attempts,
          'no effect happens twice',
          () => `mail ${id} was accepted ${times} times, ${fence} claims, ${attempts} recorded`,
        );
        mustHold(
          attempts <= fence - over,
          'only the process with the latest claim records a result',
          () => `mail ${id}: ${attempts} recorded of ${fence} claims, ${over} of which were lost`,
        );
        mustHold(
          times <= fence,
          'an effect that happened is recorded',
          () => `mail ${id}: ${times} sent, ${fence} claims`,
        );
      }
      mustHold(
        handedMails.every(({ key }) => rows.some(({ id }) => id === key)),
        'an effect that happened is recorded',
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
