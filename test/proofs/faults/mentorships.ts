/**
 * `npm run prove -- faults mentorships`: students of five clubs race for 500 sessions with 250 mentors, move and cancel them, and some are
 * removed, while the API, also between any two statements of a booking, Postgres, the mail server, Temporal and the worker, also at steps
 * of its mails, are killed and started again in turn. Nobody may be booked twice, every reminder must come, and none of a time that was
 * left before it was due.
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
  type ToldOfSession,
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
/** For each slot one student of each of the mentor's clubs asks who asks for no other; the others are greedy. */
const studentsOfClub = (2 * sessions) / clubCount;
const rounds = 2;
/** How long things go well before a kill, and how long what was killed stays dead. */
const aliveForMs = { least: 1_000, most: 5_000 };
const deadForMs = { least: 0, most: 3_000 };
/** Steps of a mail, and of the relay, that the worker is killed at. */
const failpoints = ['transactional_claimed', 'transactional_handed_over', 'wake_sent'] as const;
type Failpoint = (typeof failpoints)[number];
/** Of a booking after its first lock, before which the API is killed: one of them at a time, the last one after the commit. */
const statements = { least: 1, most: 10 };
const apiAtStatement = 'API at a statement';
const endedAtStatement = new URL('./mentorships/ended-at-statement.ts', import.meta.url);
const victims = [...victimsWithMail.flatMap((victim) => [victim, apiAtStatement] as const), ...failpoints] as const;
/** During the last kills nothing new begins: they meet reminders alone. */
const quietTurns = 3;
/** Between the beginnings of two mentors. */
const beginsEveryMs = 250;
/** Reminders fall due at the next whole minute that is so far away: time to book, whatever is dead just then. */
const bookedWithinMs = 40_000;
const minuteMs = 60_000;
/** Some are moved or canceled so long after the reminder was due. */
const afterDueMs = 20_000;
/** A lease of a minute, an attempt's wait, the sweeper's two minutes, and its round once more. */
const deadlineMs = 8 * minuteMs;
const lookEveryMs = 1_000;
const looksALine = 10;

interface Scene extends MailGround {
  db: Database;
  booker: Booker;
  /** What students were told last, by session. */
  told: Map<Id, ToldOfSession>;
  /** Students. */
  removed: number;
  /** When the last reminder falls due, in Unix milliseconds. */
  lastDue: number;
}

/** A session, and who has it. */
interface Won {
  student: Student;
  /** Asks for no other session. */
  isOwn: boolean;
  mentorship: OfferedMentorship;
  sessionId: Id;
  startsAt: Date;
}

/** @returns the exit code: 0 when there are 500 sessions, none beside another, and everything was told as it must be */
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
  const scene: Scene = { ...place, db, booker: createBooker(ground.urls.API), told: new Map(), removed: 0, lastDue: 0 };
  const beganAt = elapsedSeconds();
  const work = begin((number) => mentor(scene, clubs, number));
  work.done.catch(() => undefined); // told below
  let [turn, missed] = [0, 0];
  const turns = rounds * victims.length - quietTurns;
  const isFailpoint = (victim: string): victim is Failpoint => failpoints.some((name) => name === victim);
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      turn += 1;
      work.allow(Math.min(mentors, Math.ceil((mentors * turn) / turns)));
      await sleep(between(aliveForMs));
    },
    async kill(victim) {
      if (victim === apiAtStatement) {
        const statement = Math.round(between(statements));
        missed += (await killAtStatement(ground, endedAtStatement, statement)) ? 0 : 1;
      } else if (isFailpoint(victim)) missed += (await killAtStep(ground, victim)) ? 0 : 1;
      else await place.kill(victim);
    },
    startAgain(victim) {
      if (victim === apiAtStatement) return place.startAgain('API');
      return place.startAgain(isFailpoint(victim) ? 'worker' : (victim satisfies VictimWithMail));
    },
    standing: () => `${scene.told.size} sessions booked, ${receivedIn(log).length} mails received`,
  });
  progress('everything is up again; waiting for the last reminders');
  await work.done;
  const judgedAt = await untilTold(scene);
  const tally = tallySessions(await readEvidence(source, log, [...scene.told.values()], judgedAt));
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  return report(scene, tally, kills.length * smtpConnections);
}

interface Work {
  /** Rejects where a call was refused that must not be. */
  readonly done: Promise<unknown>;
  /** So many mentors in all may begin: each kill meets its share. */
  allow(count: number): void;
}

function begin(one: (number: number) => Promise<void>): Work {
  let allowed = 0;
  async function all(): Promise<void> {
    const under: Promise<void>[] = [];
    for (let number = 0; number < mentors; number++) {
      while (number >= allowed) await sleep(50);
      under.push(one(number));
      await sleep(beginsEveryMs);
    }
    await Promise.all(under);
  }
  return {
    done: all(),
    allow(count) {
      allowed = count;
    },
  };
}

/** One mentor's story. Of every second one sessions are booked and left; of the others, they are booked for later and moved here. */
async function mentor(scene: Scene, clubs: Awaited<ReturnType<typeof buildClubs>>, number: number): Promise<void> {
  const [one, other] = [clubs[number % clubCount], clubs[(number + 1) % clubCount]];
  if (!one || !other) throw new Error('There is no such club.');
  const dueAt = new Date(Math.ceil((Date.now() + bookedWithinMs) / minuteMs) * minuteMs);
  scene.lastDue = Math.max(scene.lastDue, dueAt.getTime() + minuteMs);
  const offers = await untilDone(() => offerHours(scene.db, [one.id, other.id], dueAt));
  const raceFor = (slot: (slots: Slots) => Date) => {
    const callers = [one, other].flatMap(({ students, greedy }, place) => {
      const mentorship = offers[place] as OfferedMentorship;
      const [own, another] = [students.pop(), greedy[Math.floor(Math.random() * greedy.length)]];
      return [own, another].flatMap((student, at) => (student ? [{ student, isOwn: at === 0, mentorship }] : []));
    });
    return race(scene, callers, slot);
  };
  const isLeft = number % 2 === 0;
  const won = isLeft
    ? await Promise.all([raceFor(({ hour }) => hour), raceFor(({ day }) => day)])
    : await Promise.all([raceFor(({ far }) => far[0]), raceFor(({ far }) => far[1])]);
  const all = won.flat();
  if (!isLeft) {
    await Promise.all(all.map((session) => move(scene, session, ({ day }) => day)));
    const behind = all.filter(({ startsAt, mentorship }) => startsAt.getTime() !== mentorship.slots.day.getTime());
    await Promise.all(behind.map((session) => move(scene, session, ({ hour }) => hour)));
  }
  await Promise.all(
    all.map((session, place) => change(scene, session, { turn: Math.floor(number / 2) + place, place, isLeft, dueAt })),
  );
}

/** All of them at once. @returns who has the slot: one of them, or more where something is wrong */
async function race(
  scene: Scene,
  callers: readonly Pick<Won, 'student' | 'isOwn' | 'mentorship'>[],
  slot: (slots: Slots) => Date,
): Promise<Won[]> {
  const asked = await Promise.all(
    callers.map(async ({ student, isOwn, mentorship }) => {
      const startsAt = slot(mentorship.slots);
      const answer = await scene.booker.book(student, mentorship, startsAt);
      return answer.kind === 'won' ? [{ student, isOwn, mentorship, sessionId: answer.sessionId, startsAt }] : [];
    }),
  );
  const won = asked.flat();
  for (const { sessionId, startsAt } of won) scene.told.set(sessionId, { sessionId, startsAt, isCanceled: false });
  return won;
}

/** Where somebody else has the slot, the session stays where it is. */
async function move({ booker, told }: Scene, session: Won, slot: (slots: Slots) => Date): Promise<void> {
  const { student, mentorship, sessionId } = session;
  const startsAt = slot(mentorship.slots);
  const answer = await booker.book(student, mentorship, startsAt, sessionId);
  if (answer.kind !== 'won') return;
  session.startsAt = startsAt;
  told.set(sessionId, { sessionId, startsAt, isCanceled: false });
}

/** A quarter is canceled, of another quarter the student is removed, and of those that were not moved yet a quarter is moved, most of them before they are reminded of. */
async function change(
  scene: Scene,
  session: Won,
  { turn, place, isLeft, dueAt }: { turn: number; place: number; isLeft: boolean; dueAt: Date },
): Promise<void> {
  const kind = turn % 4;
  if (kind === 2 || (kind === 1 && !isLeft) || (kind === 3 && !session.isOwn)) return;
  await sleep(between({ least: 0, most: Math.max(0, dueAt.getTime() + afterDueMs - Date.now()) }));
  if (kind === 1) return move(scene, session, ({ far }) => far[place === 0 ? 2 : 3]);
  const { student, mentorship, sessionId, startsAt } = session;
  if (kind === 3) scene.removed += 1;
  if (kind === 3 ? await scene.booker.remove(student) : await scene.booker.cancel(student, mentorship, sessionId))
    scene.told.set(sessionId, { sessionId, startsAt, isCanceled: true });
}

/**
 * Waits of a mail beyond 20 s are cut short: the run is about kills, the schedule has tests of its own.
 * @returns a time by which everything that was due is told, or the time at which it gave up
 */
async function untilTold({ db, lastDue, told, log }: Scene): Promise<Date> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const now = new Date();
    const left = await untold(db.source);
    if (now.getTime() > lastDue && left.mails + left.sessions === 0) return now;
    if (looks % looksALine === 0)
      progress(
        `${told.size} sessions, ${receivedIn(log).length} mails received; left: ${left.mails} mails, ${left.sessions} sessions`,
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

/** @param mayRepeat how many mails may have arrived again: as many as were under way at the kills @returns the exit code */
function report({ booker, removed }: Scene, tally: SessionTally, mayRepeat: number): number {
  const { doubleBooked, remindersMissing, othersMissing, twice, vain, untrue, lost } = tally;
  print(
    `answers lost ${booker.lost}, of which ${booker.hadWorked} calls had worked; reminders due ${tally.reminders}, and ${tally.spared} of times that were left before; students removed ${removed}`,
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
      `mails that arrived again, as the same message, ${tally.repeated} (at most ${mayRepeat})`,
  );
  print(
    `sessions ${tally.sessions}, double-booked ${doubleBooked.length}, reminders missing ${remindersMissing.length}, twice ${twice.length}`,
  );
  const wrong = [doubleBooked, remindersMissing, othersMissing, twice, vain, untrue, lost].flat().length;
  return tally.sessions === sessions && wrong === 0 && tally.repeated <= mayRepeat ? 0 : 1;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
