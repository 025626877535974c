/**
 * Checks whether the booked sessions and their mails follow the rules. Reads sessions from their rows, and mails from their rows and from
 * the log of the mail server.
 */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../../platform/core/ids.ts';
import { receivedIn, type Received } from '../mail/received.ts';
import { isRefusedForGood } from '../mail/recipients.ts';

const hourMs = 3_600_000;
/** The time limit of a message: a mail that was claimed before a change arrives at most this long after the change. */
const underWayMs = 45_000;

export interface SessionRow {
  id: Id;
  mentorId: Id;
  studentId: Id;
  isRemoved: boolean;
  status: string;
  sequence: number;
  startsAt: Date;
  endsAt: Date;
  /** The end of the buffer that the mentor has after the session. */
  busyUntil: Date;
}

interface TimeRow {
  sessionId: Id;
  sequence: number;
  status: string;
  startsAt: Date;
  /** The time by the clock of the process that booked or moved the session. */
  bookedAt: Date;
  /** The time when the row was written. */
  at: Date;
}

interface SessionMailRow {
  id: Id;
  sessionId: Id;
  sequence: number;
  template: string;
  status: string;
  /** The address of the recipient. It is empty for a removed student. */
  email: string;
}

/** The state in the last answer to a caller. */
export interface ToldSession {
  sessionId: Id;
  startsAt: Date;
  isCanceled: boolean;
}

export interface Evidence {
  sessions: readonly SessionRow[];
  times: readonly TimeRow[];
  mails: readonly SessionMailRow[];
  received: readonly Received[];
  toldSessions: readonly ToldSession[];
  /** The time until which all due mails must have arrived. */
  judgedAt: Date;
}

export interface SessionTally {
  sessions: number;
  doubleBooked: string[];
  /** The number of reminders that the engine had to send. */
  reminders: number;
  remindersMissing: string[];
  othersMissing: string[];
  /** A line for each mail that was recorded twice: two mails of one kind about one time of a session. */
  twice: string[];
  /** The number of reminders that never fell due, because the session was moved or canceled before. */
  spared: number;
  /** A line for each reminder that arrived too early, was due before the booking, or names an earlier time of a moved session. */
  vain: string[];
  /** The number of mails that arrived again with the same Message-ID, which is allowed for transactional mails. */
  repeated: number;
  untrue: string[];
  lostSessions: string[];
}

/** Makes Postgres copy each new time of a session to a table. */
export async function noteTimes(source: DataSource): Promise<void> {
  await source.query(`
    CREATE TABLE fault_times (session_id uuid, sequence int, status text, starts_at timestamptz, booked_at timestamptz, at timestamptz);
    CREATE FUNCTION note_time() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO fault_times VALUES (NEW.id, NEW.sequence, NEW.status, NEW.starts_at, NEW.booked_at, clock_timestamp());
      RETURN NULL;
    END $$;
    CREATE TRIGGER note_time AFTER INSERT OR UPDATE OF sequence ON mentorship_sessions FOR EACH ROW EXECUTE FUNCTION note_time();
  `);
}

export async function readEvidence(
  source: DataSource,
  log: string,
  toldSessions: readonly ToldSession[],
  judgedAt: Date,
): Promise<Evidence> {
  const sessions = await source.query<SessionRow[]>(
    `SELECT id, mentor_id AS "mentorId", student_id AS "studentId", status, sequence, starts_at AS "startsAt", ends_at AS "endsAt",
            busy_until AS "busyUntil", EXISTS (SELECT FROM students WHERE id = student_id AND removed_at IS NOT NULL) AS "isRemoved"
       FROM mentorship_sessions`,
  );
  const times = await source.query<TimeRow[]>(
    `SELECT session_id AS "sessionId", sequence, status, starts_at AS "startsAt", booked_at AS "bookedAt", at FROM fault_times`,
  );
  const mails = await source.query<SessionMailRow[]>(
    `SELECT mail.id, session_id AS "sessionId", session_sequence AS sequence, template, status,
            coalesce(student.email, administrator.email, '') AS email
       FROM transactional_mails mail LEFT JOIN students student ON student.id = mail.student_id
       LEFT JOIN administrators administrator ON administrator.id = mail.administrator_id WHERE session_id IS NOT NULL`,
  );
  return { sessions, times, mails, received: receivedIn(log), toldSessions, judgedAt };
}

/** @returns the work that is unfinished now: open mails, and sessions with a due mail */
export async function untold(source: DataSource): Promise<{ mails: number; sessions: number }> {
  const [unfinished] = await source.query<{ mails: number; sessions: number }[]>(
    `SELECT (SELECT count(*)::int FROM transactional_mails WHERE status = 'pending')
              + (SELECT count(*)::int FROM wakes) AS mails,
            (SELECT count(*)::int FROM mentorship_sessions WHERE looks_at <= now()) AS sessions`,
  );
  return unfinished ?? { mails: 0, sessions: 0 };
}

export function tallySessions(evidence: Evidence): SessionTally {
  const { sessions, mails, received, toldSessions } = evidence;
  const arrivals = Map.groupBy(received, ({ mailId }) => mailId);
  const arrivalsOf = ({ id }: SessionMailRow) => arrivals.get(id) ?? [];
  const byKind = Map.groupBy(mails, kindOf);
  const hasArrived = (kind: string) =>
    (byKind.get(kind) ?? []).some((mail) =>
      isRefusedForGood(mail.email) ? mail.status === 'failed' : arrivalsOf(mail).length > 0,
    );
  const expected = expectedKinds(evidence);
  const missing = expected.filter((kind) => !hasArrived(kind));
  const known = new Set(mails.map(({ id }) => id));
  return {
    sessions: sessions.length,
    doubleBooked: [
      ...overlaps(sessions, 'mentorId', ({ busyUntil }) => busyUntil),
      ...overlaps(sessions, 'studentId', ({ endsAt }) => endsAt),
    ],
    reminders: expected.filter(isReminder).length,
    remindersMissing: missing.filter(isReminder),
    othersMissing: missing.filter((kind) => !isReminder(kind)),
    twice: [...byKind].filter(([, rows]) => rows.length > 1).map(([kind, rows]) => `${rows.length} of ${kind}`),
    spared: allReminders(evidence).filter((one) => isSpared(one) && one.due <= evidence.judgedAt.getTime()).length,
    vain: vainReminders(evidence, arrivalsOf),
    repeated: mails.filter((mail) => arrivalsOf(mail).length > 1).length,
    untrue: [
      ...mails.filter((mail) => !isTrue(mail, arrivalsOf(mail).length)).map((mail) => JSON.stringify(mail)),
      ...received.filter(({ mailId }) => !known.has(mailId)).map(({ mailId }) => `${mailId} arrived and has no row`),
    ],
    lostSessions: lostSessions(sessions, toldSessions),
  };
}

const isReminder = (kind: string) => / mentorship_(day|hour)_before /.test(kind);

const kindOf = ({ sessionId, template, sequence }: Pick<SessionMailRow, 'sessionId' | 'template' | 'sequence'>) =>
  `${sessionId} ${template} ${sequence}`;

const remindersOf = ({ startsAt }: Pick<TimeRow, 'startsAt'>) => [
  { template: 'mentorship_day_before', due: startsAt.getTime() - 24 * hourMs },
  { template: 'mentorship_hour_before', due: startsAt.getTime() - hourMs },
];

/** The kinds of mails that must have arrived for each session, by its last time. */
function expectedKinds({ sessions, times, judgedAt }: Evidence): string[] {
  const removed = new Set(sessions.filter(({ isRemoved }) => isRemoved).map(({ id }) => id));
  return lastTimes(times).flatMap((time) => {
    const of = (template: string) => kindOf({ ...time, template });
    // A removed student gets no mail, but the mentor must get a mail about the cancellation.
    if (time.status === 'canceled' && removed.has(time.sessionId)) return [of('mentorship_mentor_canceled')];
    if (time.status === 'canceled') return [of('mentorship_canceled'), of('mentorship_mentor_canceled')];
    const reminders = remindersOf(time).filter(({ due }) => due > time.bookedAt.getTime() && due <= judgedAt.getTime());
    return [of('mentorship_booked'), of('mentorship_mentor_booked'), ...reminders.map(({ template }) => of(template))];
  });
}

const bySequence = (one: TimeRow, other: TimeRow) => one.sequence - other.sequence;

const lastTimes = (times: readonly TimeRow[]) =>
  [...Map.groupBy(times, ({ sessionId }) => sessionId).values()].flatMap((own) => own.toSorted(bySequence).slice(-1));

interface Reminder {
  kind: string;
  due: number;
  bookedAt: number;
  /** The time when the session was moved or canceled; undefined if it was neither moved nor canceled. */
  leftAt: number | undefined;
}

/** All reminders, also for times that a session no longer has. */
function allReminders({ times }: Evidence): Reminder[] {
  return [...Map.groupBy(times, ({ sessionId }) => sessionId).values()].flatMap((own) =>
    own
      .filter(({ status }) => status !== 'canceled')
      .flatMap((time) => {
        const nextTime = own.find(({ sequence }) => sequence === time.sequence + 1);
        return remindersOf(time).map(({ template, due }) => ({
          kind: kindOf({ ...time, template }),
          due,
          bookedAt: time.bookedAt.getTime(),
          leftAt: nextTime?.at.getTime(),
        }));
      }),
  );
}

const isSpared = ({ due, bookedAt, leftAt = Number.POSITIVE_INFINITY }: Reminder) => bookedAt < due && leftAt <= due;

/**
 * Finds forbidden reminders. A reminder must not arrive before it is due, or if it was due before the booking. If a session was moved or
 * canceled before a reminder was due, the reminder for the old time must not arrive. If the session changed later, the reminder may
 * arrive only within the time limit of a message.
 */
function vainReminders(evidence: Evidence, arrivalsOf: (mail: SessionMailRow) => readonly Received[]): string[] {
  const byKind = Map.groupBy(evidence.mails, kindOf);
  return allReminders(evidence).flatMap((reminder) => {
    const { kind, due, bookedAt, leftAt = Number.POSITIVE_INFINITY } = reminder;
    const isWrong = due <= bookedAt || isSpared(reminder);
    const vain = (byKind.get(kind) ?? [])
      .flatMap(arrivalsOf)
      .filter(({ at }) => isWrong || at < due || at > leftAt + underWayMs);
    return vain.map(({ at }) => `${kind} at ${new Date(at).toISOString()}`);
  });
}

/**
 * A mail that is marked as canceled may have arrived. After a kill, a worker claims the mail again, finds a changed session, and cancels
 * the mail.
 */
function isTrue({ status, email }: SessionMailRow, copies: number): boolean {
  if (email === '' && copies === 0) return status === 'failed' || status === 'canceled';
  if (isRefusedForGood(email)) return copies === 0 && (status === 'failed' || status === 'canceled');
  return status === 'sent' ? copies > 0 : status === 'canceled';
}

/** Compares each session with the next one by start time. If any two overlap, then two neighbours overlap. */
function overlaps(
  sessions: readonly SessionRow[],
  whose: 'mentorId' | 'studentId',
  until: (session: SessionRow) => Date,
): string[] {
  const openSessions = sessions.filter(({ status }) => status !== 'canceled');
  return [...Map.groupBy(openSessions, (session) => session[whose]).values()].flatMap((own) =>
    own
      .toSorted((one, other) => one.startsAt.getTime() - other.startsAt.getTime())
      .flatMap((session, position, all) => {
        const next = all[position + 1];
        if (!next || next.startsAt >= until(session)) return [];
        return [`${whose} ${session[whose]}: ${session.id} and ${next.id}`];
      }),
  );
}

function lostSessions(sessions: readonly SessionRow[], toldSessions: readonly ToldSession[]): string[] {
  const rows = new Map(sessions.map((session) => [session.id, session]));
  const agrees = ({ sessionId, startsAt, isCanceled }: ToldSession) => {
    const row = rows.get(sessionId);
    return row?.startsAt.getTime() === startsAt.getTime() && (row.status === 'canceled') === isCanceled;
  };
  const known = new Set(toldSessions.map(({ sessionId }) => sessionId));
  return [
    ...sessions
      .filter(({ isRemoved, status }) => isRemoved && status !== 'canceled')
      .map(({ id }) => `${id} of a removed student is not canceled`),
    ...toldSessions
      .filter((one) => !agrees(one))
      .map((one) => `${JSON.stringify(one)} is ${JSON.stringify(rows.get(one.sessionId))}`),
    ...sessions.filter(({ id }) => !known.has(id)).map(({ id }) => `${id}, which no answer named`),
  ];
}
