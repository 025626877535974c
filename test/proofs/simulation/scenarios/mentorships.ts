/**
 * The scenario of mentorship sessions: students book, move and cancel sessions, the club cancels sessions, mentors change, and each mail is
 * sent at its time.
 */
import {
  bookSession,
  cancelOwnSession,
  cancelSession,
  rateSession,
  setNoShow,
} from '../../../../domain/mentorships/booking.ts';
import { createMentorship } from '../../../../domain/mentorships/mentorships.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Statement } from '../postgres.ts';
import { runningNow, type SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/**
 * The start times of sessions, in hours from the beginning. Some sessions begin so soon that reminders are already in the past.
 */
const hoursAhead = [1, 2, 3, 25, 26, 49] as const;
const maxUpcoming = 2;
const publicIds = ['knots', 'sails'] as const;

const moods = ['accepts', 'is slow', 'refuses'] as const;
type Mood = (typeof moods)[number];

interface Session {
  id: Id;
  studentId: Id;
  mentorId: Id;
  status: string;
  sequence: number;
  /** All times are Unix milliseconds. */
  startsAt: number;
  endsAt: number;
  bookedAt: number;
  canceledAt: number | null;
  looksAt: number | null;
}

interface Mail {
  id: Id;
  sessionId: Id;
  sequence: number;
  template: string;
  status: string;
  administratorId: Id | null;
}

export async function mentorships(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const deps = { db: sim.db, vault };
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const now = () => new Date(sim.time.now);
  await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
    clubId,
  ]);
  const mentors = [await addMentor(), await addMentor()] as const;
  const weekly_hours = Array.from({ length: 7 }, (_, day) => ({ weekday: day + 1, from: '00:00', to: '24:00' }));
  for (const public_id of publicIds) {
    const offer = { public_id, title: public_id, duration_minutes: 60, time_zone: 'UTC', weekly_hours };
    const bounds = { notice_minutes: 0, horizon_days: 3, max_upcoming: maxUpcoming, cancel_deadline_minutes: 30 };
    await createMentorship(deps, clubId, { ...offer, ...bounds, mentor_id: mentors[0] }, now());
  }
  await sim.postgres.ask(`UPDATE mentorships SET status = 'published', published_at = $1`, [now()]);

  const removed = new Set<Id>();
  /** Sessions that the student missed. The student therefore gets no request for a rating. */
  const missed = new Set<Id>();
  let mood: Mood = 'accepts';
  let refusals = 0;
  let hasLost = false;
  /** The mails that the server accepted, with their number. */
  const acceptedCounts = new Map<Id, number>();
  /** The last claim under which a mail about a former time may still be sent. */
  const outdated = new Map<Id, number>();
  const claims = new Map<SimulatedProcess, Map<Id, number>>();
  const broken: { invariant: string; details: string }[] = [];

  async function addMentor(): Promise<Id> {
    const id = newId();
    await sim.postgres.ask(
      `WITH one AS (INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Mentor', $2, $3, $3))
       INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES ($4, $1, 'admin', $3)`,
      [id, `mentor-${id}@example.com`, now(), clubId],
    );
    return id;
  }

  /** Records the claims of each process, because a worker may lose its claim before it hands the mail over. */
  function noteClaim({ process, text, result }: Statement): void {
    if (!/^\s*WITH claimed AS \(UPDATE transactional_mails/.test(text)) return;
    const own = claims.get(process) ?? new Map<Id, number>();
    for (const { id, fence } of (result?.rows ?? []) as { id: Id; fence: number }[]) own.set(id, fence);
    claims.set(process, own);
  }

  async function sendMail({ messageKey: id }: { messageKey: Id }): Promise<void> {
    const process = runningNow()?.process;
    const fence = (process && claims.get(process)?.get(id)) ?? 0;
    const [row] = await sim.postgres.ask<{ template: string; endsAt: number }>(
      `SELECT mail.template, extract(epoch FROM session.ends_at)::float8 * 1000 AS "endsAt"
         FROM transactional_mails mail JOIN mentorship_sessions session ON session.id = mail.session_id WHERE mail.id = $1`,
      [id],
    );
    const lastClaim = outdated.get(id);
    if (lastClaim !== undefined && fence > lastClaim)
      broken.push({ invariant: 'no mail reports an outdated time', details: `${row?.template} ${id}` });
    if (row?.template === 'mentorship_rating' && !sim.slow && row.endsAt > sim.time.now)
      broken.push({ invariant: 'a rating is asked for after the session', details: id });
    const isSlow = mood === 'is slow';
    await sim.outside(`mail ${id}`, () => {
      if (mood === 'refuses') {
        refusals++;
        throw Object.assign(new Error('451 try again later'), { code: 'EENVELOPE' });
      }
      acceptedCounts.set(id, (acceptedCounts.get(id) ?? 0) + 1);
    });
    if (isSlow) await new Promise((resolve) => void setTimeout(resolve, 40_000));
  }

  /** Records the mails about former times of changed sessions. No worker may claim these mails any more. */
  async function outdate(): Promise<void> {
    const rows = await sim.postgres.ask<{ id: Id; fence: number }>(
      `SELECT mail.id, mail.fence FROM transactional_mails mail JOIN mentorship_sessions session ON session.id = mail.session_id
        WHERE mail.session_sequence < session.sequence AND mail.former_starts_at IS NULL FOR UPDATE OF mail SKIP LOCKED`,
    );
    for (const { id, fence } of rows) if (!outdated.has(id)) outdated.set(id, fence);
  }

  const own = async (studentId: Id) =>
    sim.postgres.ask<{ id: Id; publicId: string }>(
      `SELECT session.id, mentorship.public_id AS "publicId" FROM mentorship_sessions session
         JOIN mentorships mentorship ON mentorship.id = session.mentorship_id
        WHERE session.student_id = $1 ORDER BY session.created_at, session.id`,
      [studentId],
    );

  const book = (studentId: Id, publicId: string, hours: number, moves: boolean): Command => ({
    label: `${studentId} ${moves ? 'moves a session' : 'books'} of ${publicId} to ${hours} h`,
    async run() {
      const bookedSession = (await own(studentId)).find((one) => one.publicId === publicId);
      const starts_at = new Date(Math.ceil(sim.time.now / hourMs) * hourMs + hours * hourMs).toISOString();
      const replaces = moves && bookedSession ? { replaces: bookedSession.id } : {};
      try {
        await bookSession(deps, { clubId, id: studentId }, publicId, { starts_at, ...replaces }, now());
      } finally {
        await outdate(); // runs even if the commit succeeded and only its answer was lost
      }
    },
  });

  const ofSession = (
    label: string,
    studentId: Id,
    act: (session: { id: Id; publicId: string }) => Promise<unknown>,
  ) => ({
    label: `${label} of ${studentId}`,
    async run() {
      const session = (await own(studentId)).at(-1);
      if (!session) return;
      try {
        await act(session);
      } finally {
        await outdate();
      }
    },
  });

  const setMood = (next: Mood): Command => ({
    label: `the mail server ${next}`,
    run() {
      mood = next;
    },
  });

  const expectNothingBroken = () => {
    const [first] = broken;
    mustHold(first === undefined, first?.invariant ?? '', () => first?.details ?? '');
  };

  return {
    types: ['mentorshipSession', 'transactionalMail'],
    horizonMs: 6 * dayMs,
    depsFor: (db) => ({
      db,
      vault,
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
      const which = decisions.choose(16);
      const studentId = decisions.pick(students);
      const publicId = decisions.pick(publicIds);
      if (which < 6) return book(studentId, publicId, decisions.pick(hoursAhead), which > 3);
      const student = { clubId, id: studentId };
      if (which < 8)
        return ofSession('cancel a session', studentId, ({ id, publicId: of }) =>
          cancelOwnSession(deps, student, { publicId: of, sessionId: id }, now()),
        );
      if (which === 8)
        return ofSession('the club cancels a session', studentId, ({ id }) =>
          cancelSession(deps, clubId, id, 'ill', now()),
        );
      if (which === 9)
        return ofSession('no show', studentId, ({ id }) => {
          missed.add(id);
          return setNoShow(deps, clubId, id, true, now());
        });
      if (which === 10)
        return ofSession('rate a session', studentId, ({ id, publicId: of }) =>
          rateSession(deps, student, { publicId: of, sessionId: id }, { rating: 5 }, now()),
        );
      if (which === 11) {
        const mentorId = decisions.pick(mentors);
        return {
          label: `mentorship ${publicId} gets mentor ${mentorId}`,
          run: async () =>
            void (await sim.db.run(sql`UPDATE mentorships SET mentor_id = ${mentorId} WHERE public_id = ${publicId}`)),
        };
      }
      if (which < 15) return setMood(moods[which - 12] ?? 'accepts');
      return {
        label: `remove ${studentId}`,
        async run() {
          await removeStudent(deps, clubId, studentId, now());
          removed.add(studentId);
          await outdate();
        },
      };
    },
    calm: () => [setMood('accepts')],
    onStatement: noteClaim,
    async atRest() {
      hasLost ||= sim.lossy; // `sim.lossy` is known only until the end of the schedule
      expectNothingBroken();
      await expectBounds();
    },
    async atEnd() {
      expectNothingBroken();
      const sessions = await readSessions();
      const mails = await readMails();
      for (const { id, status } of mails) {
        const times = acceptedCounts.get(id) ?? 0;
        mustHold(status !== 'pending', 'all work ends', () => `mail ${id} is pending`);
        mustHold(status !== 'sent' || times > 0, 'a recorded effect has happened', () => `mail ${id}: ${status}`);
        mustHold(
          times <= 1 || sim.cuts > 0 || sim.slow || sim.doubled,
          'no effect happens twice',
          () => `mail ${id} was taken ${times} times`,
        );
      }
      for (const session of sessions) {
        mustHold(session.looksAt === null, 'all work ends', () => `session ${JSON.stringify(session)}`);
        expectMails(
          session,
          mails.filter(({ sessionId }) => sessionId === session.id),
        );
      }
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  async function readSessions(): Promise<Session[]> {
    const time = (column: string, as: string) => `extract(epoch FROM ${column})::float8 * 1000 AS "${as}"`;
    return sim.postgres.ask<Session>(
      `SELECT id, student_id AS "studentId", mentor_id AS "mentorId", status, sequence, ${time('starts_at', 'startsAt')}, ${time('ends_at', 'endsAt')},
              ${time('booked_at', 'bookedAt')}, ${time('canceled_at', 'canceledAt')}, ${time('looks_at', 'looksAt')}
         FROM mentorship_sessions ORDER BY id`,
    );
  }

  async function readMails(): Promise<Mail[]> {
    return sim.postgres.ask<Mail>(
      `SELECT id, session_id AS "sessionId", session_sequence AS sequence, template, status, administrator_id AS "administratorId"
         FROM transactional_mails WHERE session_id IS NOT NULL ORDER BY created_at, id`,
    );
  }

  /** Expects that no person has two sessions at the same time, and that no student has more sessions than allowed (MENT-6). */
  async function expectBounds(): Promise<void> {
    const clashes = await sim.postgres.ask<{ one: Id; other: Id }>(
      `SELECT one.id AS one, other.id AS other FROM mentorship_sessions one JOIN mentorship_sessions other
           ON one.id < other.id AND one.starts_at < other.ends_at AND other.starts_at < one.ends_at
          AND (one.mentor_id = other.mentor_id OR one.student_id = other.student_id)
        WHERE one.status <> 'canceled' AND other.status <> 'canceled'`,
    );
    mustHold(clashes.length === 0, 'no person has two sessions at the same time', () => JSON.stringify(clashes));
    const crowded = await sim.postgres.ask(
      `SELECT student_id, mentorship_id FROM mentorship_sessions WHERE status = 'booked' AND starts_at > $1
        GROUP BY 1, 2 HAVING count(*) > $2`,
      [now(), maxUpcoming],
    );
    mustHold(crowded.length === 0, 'no student has more upcoming sessions than allowed', () => JSON.stringify(crowded));
  }

  /** Expects that each mail about the last time of a session was requested once, and that no other mail was requested (MENT-11). */
  function expectMails(session: Session, all: readonly Mail[]): void {
    const { id, sequence, status, startsAt, endsAt, bookedAt, studentId, mentorId } = session;
    const about = () => `session ${JSON.stringify(session)}: ${JSON.stringify(all)}`;
    const last = all.filter((mail) => mail.sequence === sequence && mail.template !== 'mentorship_mentor_replaced');
    const templates = last.map(({ template }) => template);
    const forStudent =
      status === 'canceled'
        ? ['mentorship_canceled']
        : [
            'mentorship_booked',
            ...(startsAt - dayMs > bookedAt ? ['mentorship_day_before'] : []),
            ...(startsAt - hourMs > bookedAt ? ['mentorship_hour_before'] : []),
            ...(missed.has(id) ? [] : ['mentorship_rating']),
          ];
    const forMentor = status === 'canceled' ? ['mentorship_mentor_canceled'] : ['mentorship_mentor_booked'];
    mustHold(new Set(templates).size === templates.length, 'no effect happens twice', about);
    const allowed = new Set([...forStudent, ...forMentor, ...(missed.has(id) ? ['mentorship_rating'] : [])]);
    mustHold(
      templates.every((template) => allowed.has(template)),
      'no mail is false',
      about,
    );
    if (hasLost || sim.slow) return; // a late mail is not sent any more
    const expectedTemplates = [...(removed.has(studentId) ? [] : forStudent), ...forMentor];
    const isTold = (template: string) =>
      last.some((mail) => {
        const isToMentor = mail.administratorId !== null;
        if (mail.template !== template || (isToMentor && mail.administratorId !== mentorId)) return false;
        return mail.status === 'sent' || refusals > 0;
      });
    for (const template of expectedTemplates)
      mustHold(isTold(template), 'each session has its mails', () => `${template} until ${endsAt}: ${about()}`);
  }
}
