/**
 * `npm run prove -- faults mentorships`: students of five clubs compete for 500 sessions with 250 mentors. They also move and cancel
 * sessions. The proof kills and restarts all processes at random times. It also kills the API between two statements of a booking, and the
 * worker at the steps of its mails. No two sessions of a person may overlap, and each due reminder must arrive. If a session was moved
 * before a reminder was due, the reminder for the old time must not arrive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { smtpConnections } from '../../../platform/infra/smtp/smtp.ts';
import { onMailGround, victimsWithMail, type MailGround, type VictimWithMail } from './mail/place.ts';
import { receivedIn } from './mail/received.ts';
import { createBooker, type Booker } from './mentorships/booker.ts';
import { buildClubs, offerHours, type OfferedMentorship, type Slots, type Student } from './mentorships/scene.ts';
import {
  noteTimes,
  readEvidence,
  tallySessions,
  untold,
  type SessionTally,
  type ToldSession,
} from './mentorships/tally.ts';
import { untilDone } from './patience.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killAtStatement, killAtStep } from './steps.ts';
import { killInTurn } from './turns.ts';

const clubCount = 5;
const mentors = 250;
const sessionsOfMentor = 2;
const sessions = mentors * sessionsOfMentor;
/**
 * For each slot, each of the two clubs of the mentor has one student who tries to book only this slot. Other students try to book many
 * slots.
 */
const studentsOfClub = (2 * sessions) / clubCount;
const rounds = 2;
const aliveForMs = { least: 1_000, most: 5_000 };
const deadForMs = { least: 0, most: 3_000 };
const failpoints = ['transactional_claimed', 'transactional_handed_over', 'wake_sent'] as const;
type Failpoint = (typeof failpoints)[number];
/**
 * The proof kills the API before a random SQL statement of a booking. Statement 0 takes the first lock. Statement 10 comes after the
 * commit.
 */
const statements = { least: 1, most: 10 };
const apiAtStatement = 'API at a statement';
const victims = [...victimsWithMail.flatMap((victim) => [victim, apiAtStatement] as const), ...failpoints] as const;
/** The number of further kills after the last booking. Only reminders are under way then. */
const quietTurns = 3;
const beginsEveryMs = 250;
/** Reminders fall due at the next whole minute that is at least this far away, which leaves time for the bookings. */
const bookedWithinMs = 40_000;
const minuteMs = 60_000;
/** Some sessions are moved or canceled after their reminder was due, but at most this long afterwards. */
const afterDueMs = 20_000;
/** The time limit for the last reminders: a lease of a minute, a failed attempt, two minutes for the sweeper, and one more try. */
const deadlineMs = 8 * minuteMs;
const lookEveryMs = 1_000;
const looksALine = 10;

interface Scene extends MailGround {
  db: Database;
  booker: Booker;
  /** The last answer to a student about each session. */
  toldSessions: Map<Id, ToldSession>;
  removed: number;
  /** In Unix milliseconds. */
  lastDue: number;
}

interface WonSession {
  student: Student;
  /** Whether the student asks only for this session. */
  isOwn: boolean;
  mentorship: OfferedMentorship;
  sessionId: Id;
  startsAt: Date;
}

/** @returns the exit code */
export function mentorshipFaults(interrupted: Promise<unknown>): Promise<number> {
  return onMailGround(interrupted, bookWhileKilling, { WORKER_TASK_QUEUES: 'mail,upkeep' });
}

async function bookWhileKilling(place: MailGround): Promise<number> {
  const { ground, log } = place;
  const source = await createDataSource(readConfig(ground.env).database, 'club-faults').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  await noteTimes(source);
  const clubs = await buildClubs(source, clubCount, studentsOfClub);
  const scene: Scene = {
    ...place,
    db,
    booker: createBooker(ground.urls.API),
    toldSessions: new Map(),
    removed: 0,
    lastDue: 0,
  };
  const beganAt = elapsedSeconds();
  const work = begin((number) => mentor(scene, clubs, number));
  work.done.catch(() => undefined); // avoids an unhandled rejection; the await of `work.done` below still throws the error
  let [killNumber, missed] = [0, 0];
  const killsWithWork = rounds * victims.length - quietTurns;
  const isFailpoint = (victim: string): victim is Failpoint => failpoints.some((name) => name === victim);
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      killNumber += 1;
      work.allow(Math.min(mentors, Math.ceil((mentors * killNumber) / killsWithWork)));
      await sleep(between(aliveForMs));
    },
    async kill(victim) {
      if (victim === apiAtStatement) {
        const statement = Math.round(between(statements));
        missed += (await killAtStatement(ground, 'booking', statement)) ? 0 : 1;
      } else if (isFailpoint(victim)) missed += (await killAtStep(ground, victim)) ? 0 : 1;
      else await place.kill(victim);
    },
    startAgain(victim) {
      if (victim === apiAtStatement) return place.startAgain('API');
      return place.startAgain(isFailpoint(victim) ? 'worker' : (victim satisfies VictimWithMail));
    },
    standing: () => `${scene.toldSessions.size} sessions booked, ${receivedIn(log).length} mails received`,
  });
  progress('all processes run again; waiting for the last reminders');
  await work.done;
  const judgedAt = await untilTold(scene);
  const tally = tallySessions(await readEvidence(source, log, [...scene.toldSessions.values()], judgedAt));
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  return report(scene, tally, kills.length * smtpConnections);
}

interface Work {
  readonly done: Promise<unknown>;
  /** Allows the work to begin for this number of mentors in total, so that some work remains for each kill. */
  allow(count: number): void;
}

function begin(one: (number: number) => Promise<void>): Work {
  let allowedCount = 0;
  async function all(): Promise<void> {
    const begunMentors: Promise<void>[] = [];
    for (let number = 0; number < mentors; number++) {
      while (number >= allowedCount) await sleep(50);
      begunMentors.push(one(number));
      await sleep(beginsEveryMs);
    }
    await Promise.all(begunMentors);
  }
  return {
    done: all(),
    allow(count) {
      allowedCount = count;
    },
  };
}

/**
 * Runs the sessions of one mentor. For every second mentor, students book the sessions and keep their times. For the other mentors,
 * students book the sessions for a later time and then move them to the due time.
 */
async function mentor(scene: Scene, clubs: Awaited<ReturnType<typeof buildClubs>>, number: number): Promise<void> {
  const [one, other] = [clubs[number % clubCount], clubs[(number + 1) % clubCount]];
  if (!one || !other) throw new Error('A club of this mentor does not exist');
  const dueAt = new Date(Math.ceil((Date.now() + bookedWithinMs) / minuteMs) * minuteMs);
  scene.lastDue = Math.max(scene.lastDue, dueAt.getTime() + minuteMs);
  const offers = await untilDone(() => offerHours(scene.db, [one.id, other.id], dueAt));
  const raceFor = (slot: (slots: Slots) => Date) => {
    const callers = [one, other].flatMap(({ students, greedy }, position) => {
      const mentorship = offers[position] as OfferedMentorship;
      const [own, another] = [students.pop(), greedy[Math.floor(Math.random() * greedy.length)]];
      return [own, another].flatMap((student, at) => (student ? [{ student, isOwn: at === 0, mentorship }] : []));
    });
    return race(scene, callers, slot);
  };
  const isStaying = number % 2 === 0;
  const wonSessions = isStaying
    ? await Promise.all([raceFor(({ hour }) => hour), raceFor(({ day }) => day)])
    : await Promise.all([raceFor(({ far }) => far[0]), raceFor(({ far }) => far[1])]);
  const all = wonSessions.flat();
  if (!isStaying) {
    await Promise.all(all.map((session) => move(scene, session, ({ day }) => day)));
    const notMoved = all.filter(({ startsAt, mentorship }) => startsAt.getTime() !== mentorship.slots.day.getTime());
    await Promise.all(notMoved.map((session) => move(scene, session, ({ hour }) => hour)));
  }
  await Promise.all(
    all.map((session, position) =>
      change(scene, session, { turn: Math.floor(number / 2) + position, place: position, isLeft: isStaying, dueAt }),
    ),
  );
}

/** @returns the callers that got the slot: exactly one, unless something is wrong */
async function race(
  scene: Scene,
  callers: readonly Pick<WonSession, 'student' | 'isOwn' | 'mentorship'>[],
  slot: (slots: Slots) => Date,
): Promise<WonSession[]> {
  const results = await Promise.all(
    callers.map(async ({ student, isOwn, mentorship }) => {
      const startsAt = slot(mentorship.slots);
      const answer = await scene.booker.book(student, mentorship, startsAt);
      return answer.kind === 'won' ? [{ student, isOwn, mentorship, sessionId: answer.sessionId, startsAt }] : [];
    }),
  );
  const wonSessions = results.flat();
  for (const { sessionId, startsAt } of wonSessions)
    scene.toldSessions.set(sessionId, { sessionId, startsAt, isCanceled: false });
  return wonSessions;
}

/** Moves a session to the slot. If another session occupies the slot, the moved session keeps its time. */
async function move({ booker, toldSessions }: Scene, session: WonSession, slot: (slots: Slots) => Date): Promise<void> {
  const { student, mentorship, sessionId } = session;
  const startsAt = slot(mentorship.slots);
  const answer = await booker.book(student, mentorship, startsAt, sessionId);
  if (answer.kind !== 'won') return;
  session.startsAt = startsAt;
  toldSessions.set(sessionId, { sessionId, startsAt, isCanceled: false });
}

/**
 * Changes a session, depending on `turn`. In each group of four sessions, one session is canceled, and the student of the second session is
 * removed. The third session is moved, unless it was moved before. The fourth session stays unchanged. Most changes happen before the
 * reminder.
 */
async function change(
  scene: Scene,
  session: WonSession,
  { turn, place, isLeft, dueAt }: { turn: number; place: number; isLeft: boolean; dueAt: Date },
): Promise<void> {
  const kind = turn % 4;
  if (kind === 2 || (kind === 1 && !isLeft) || (kind === 3 && !session.isOwn)) return;
  await sleep(between({ least: 0, most: Math.max(0, dueAt.getTime() + afterDueMs - Date.now()) }));
  if (kind === 1) return move(scene, session, ({ far }) => far[place === 0 ? 2 : 3]);
  const { student, mentorship, sessionId, startsAt } = session;
  if (kind === 3) scene.removed += 1;
  if (kind === 3 ? await scene.booker.remove(student) : await scene.booker.cancel(student, mentorship, sessionId))
    scene.toldSessions.set(sessionId, { sessionId, startsAt, isCanceled: true });
}

/**
 * Shortens waits of mails to 20 s at most, because this proof is about kills. Other tests cover the schedule.
 * @returns the time by which all due mails are sent, or the time at which the proof gives up
 */
async function untilTold({ db, lastDue, toldSessions, log }: Scene): Promise<Date> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const now = new Date();
    const remaining = await untold(db.source);
    if (now.getTime() > lastDue && remaining.mails + remaining.sessions === 0) return now;
    if (looks % looksALine === 0)
      progress(
        `${toldSessions.size} sessions, ${receivedIn(log).length} mails received; left: ${remaining.mails} mails, ${remaining.sessions} sessions`,
      );
    await db.transaction(async (tx) => {
      const far = await tx.rows<{ id: Id; clubId: Id; priority: Priority }>(
        sql`UPDATE transactional_mails SET next_attempt_at = ${now}
             WHERE status = 'pending' AND next_attempt_at > ${new Date(now.getTime() + 20_000)}
         RETURNING id, club_id AS "clubId", priority`,
      );
      await wake(tx, 'transactionalMail', far, now);
    });
    await sleep(lookEveryMs);
  }
  progress('the time is over');
  return new Date();
}

/** @returns the exit code */
function report({ booker, removed }: Scene, tally: SessionTally, mayRepeat: number): number {
  const { doubleBooked, remindersMissing, othersMissing, twice, vain, untrue, lostSessions: lost } = tally;
  print(
    `answers lost ${booker.lost}, of which ${booker.hadWorked} calls had worked; reminders due ${tally.reminders}, and ${tally.spared} no longer needed; students removed ${removed}`,
  );
  for (const [name, lines] of Object.entries({
    doubleBooked,
    remindersMissing,
    othersMissing,
    twice,
    vain,
    untrue,
    lost,
  }))
    for (const line of lines.slice(0, 20)) print(`${name}: ${line}`);
  print(
    `told wrongly ${lost.length}, other mails missing ${othersMissing.length}, rows untrue ${untrue.length}, reminded in vain ${vain.length}, ` +
      `mails that arrived again with an unchanged Message-ID ${tally.repeated} (at most ${mayRepeat})`,
  );
  print(
    `sessions ${tally.sessions}, double-booked ${doubleBooked.length}, reminders missing ${remindersMissing.length}, twice ${twice.length}`,
  );
  const wrong = [doubleBooked, remindersMissing, othersMissing, twice, vain, untrue, lost].flat().length;
  return tally.sessions === sessions && wrong === 0 && tally.repeated <= mayRepeat ? 0 : 1;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
