/** Transactional mails: a mail server that accepts, refuses and takes its time, and people who leave before the mail does. */
import { requestMail } from '../../../domain/mail/requests.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mustHold, type Command, type Simulation, type Stage } from '../simulation.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';

interface Accepted {
  key: Id;
  at: number;
}

const leaseMs = 60_000;

export async function mails(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const accepted: Accepted[] = [];
  const sending = new Map<Id, number>();
  const removed = new Set<Id>();
  let mood: 'accepts' | 'refuses' | 'is slow' = 'accepts';
  const now = () => new Date(sim.time.now);

  async function sendMail({ messageKey: key }: { messageKey: Id }): Promise<void> {
    const answer = await sim.outside(`mail ${key}`, () => {
      const before = sending.get(key);
      mustHold(
        sim.slow || before === undefined || sim.time.now - before >= leaseMs,
        'one attempt at a time',
        () => `mail ${key} is sent twice at a time`,
      );
      sending.set(key, sim.time.now);
      if (mood !== 'refuses') accepted.push({ key, at: sim.time.now });
      return mood;
    });
    if (answer === 'is slow') await new Promise((resolve) => void setTimeout(resolve, 40_000));
    sending.delete(key);
    if (answer === 'refuses') throw Object.assign(new Error('451 try again later'), { code: 'EENVELOPE' });
  }

  const turn = (next: typeof mood): Command => ({
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
        links: { classroomUrl: 'https://{slug}.test', dashboardUrl: 'https://dashboard.test' },
        warmUp: [100],
        onOutcome: () => {},
      },
    }),
    command(decisions) {
      const studentId = decisions.pick(students);
      const which = decisions.choose(8);
      if (which > 4) return which === 7 ? remove(studentId) : turn(which === 6 ? 'refuses' : 'is slow');
      if (which === 4) return turn('accepts');
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
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; fence: number; attempts: number }>(
        `SELECT id, status, fence, attempt_count AS attempts FROM transactional_mails`,
      );
      for (const { id, status, fence, attempts } of rows) {
        const times = accepted.filter(({ key }) => key === id).length;
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
        mustHold(times <= fence, 'what has happened is recorded', () => `mail ${id}: ${times} sent, ${fence} claims`);
      }
      mustHold(
        accepted.every(({ key }) => rows.some(({ id }) => id === key)),
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
