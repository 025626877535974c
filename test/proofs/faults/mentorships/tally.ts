/** What was booked and told, held against what may be: sessions by their rows, mails by their rows and the mail server's log. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../../platform/core/ids.ts';
import { receivedIn, type Received } from '../mail/received.ts';
import { isRefusedForGood } from '../mail/recipients.ts';

const hourMs = 3_600_000;
/** A mail that was claimed before a change arrives so long after it at the latest: the time limit of a message. */
const underWayMs = 45_000;

export interface SessionRow {
  id: Id;
  mentorId: Id;
  studentId: Id;
  /** The student is. */
  isRemoved: boolean;
  status: string;
  sequence: number;
  startsAt: Date;
  endsAt: Date;
  /** With the mentor's buffer. */
  busyUntil: Date;
}

/** A time of a session, from its booking or its move on. */
interface TimeRow {
  sessionId: Id;
  sequence: number;
  status: string;
  startsAt: Date;
  /** By the clock of the one who booked or moved it. */
  bookedAt: Date;
  /** When it was written. */
  at: Date;
}

/** A mail that was asked for. */
interface SessionMailRow {
  id: Id;
  sessionId: Id;
  sequence: number;
  template: string;
  status: string;
  /** Empty for a student who is removed. */
  email: string;
}

/** What a caller was told last. */
export interface ToldOfSession {
  sessionId: Id;
  startsAt: Date;
  isCanceled: boolean;
}

export interface Evidence {
  sessions: readonly SessionRow[];
  times: readonly TimeRow[];
  mails: readonly SessionMailRow[];
  received: readonly Received[];
  told: readonly ToldOfSession[];
  /** Whatever was due by then must be there. */
  judgedAt: Date;
}

export interface SessionTally {
  sessions: number;
  /** A line for each two sessions of a mentor or of a student that overlap. */
  doubleBooked: string[];
  /** Reminders that were to be sent. */
  reminders: number;
  /** A line for each of these that did not arrive. */
  remindersMissing: string[];
  /** A line for each confirmation or cancellation that did not arrive. */
  othersMissing: string[];
  /** A line for each mail that was asked for twice: of one kind about one time of a session. */
  twice: string[];
  /** Reminders that were not due any more when they would have been: the session had been moved or canceled before. */
  spared: number;
  /** A line for each reminder that arrived early, or although the session was booked after it was due, or left before. */
  vain: string[];
  /** Mails that arrived again with the Message-ID that they had: transactional mails are sent at least once. */
  repeated: number;
  /** A line for each row that says what is not so, or nothing final. */
  untrue: string[];
  /** A line for each session that is not what its student was told. */
  lost: string[];
}

/** From now on each time of a session is noted when it is written. */
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
  told: readonly ToldOfSession[],
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
  return { sessions, times, mails, received: receivedIn(log), told, judgedAt };
}

/** @returns what is left to be told by now: open mails, and sessions of which a mail is due */
export async function untold(source: DataSource): Promise<{ mails: number; sessions: number }> {
  const [left] = await source.query<{ mails: number; sessions: number }[]>(
    `SELECT (SELECT count(*)::int FROM transactional_mails WHERE status = 'pending')
              + (SELECT count(*)::int FROM wakes) AS mails,
            (SELECT count(*)::int FROM mentorship_sessions WHERE looks_at <= now()) AS sessions`,
  );
  return left ?? { mails: 0, sessions: 0 };
}

export function tallySessions(evidence: Evidence): SessionTally {
  const { sessions, mails, received, told } = evidence;
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
    lost: lostSessions(sessions, told),
  };
}

const isReminder = (kind: string) => / mentorship_(day|hour)_before /.test(kind);

/** Of which session, what, and of which of its times. */
const kindOf = ({ sessionId, template, sequence }: Pick<SessionMailRow, 'sessionId' | 'template' | 'sequence'>) =>
  `${sessionId} ${template} ${sequence}`;

const remindersOf = ({ startsAt }: Pick<TimeRow, 'startsAt'>) => [
  { template: 'mentorship_day_before', due: startsAt.getTime() - 24 * hourMs },
  { template: 'mentorship_hour_before', due: startsAt.getTime() - hourMs },
];

/** What must have been told of each session, as it is in the end. */
function expectedKinds({ sessions, times, judgedAt }: Evidence): string[] {
  const removed = new Set(sessions.filter(({ isRemoved }) => isRemoved).map(({ id }) => id));
  return lastTimes(times).flatMap((time) => {
    const of = (template: string) => kindOf({ ...time, template });
    // Nobody writes to a removed student; the mentor must know.
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
  /** When the session was moved or canceled; undefined where it stands. */
  leftAt: number | undefined;
}

/** Of each time of each session. */
function allReminders({ times }: Evidence): Reminder[] {
  return [...Map.groupBy(times, ({ sessionId }) => sessionId).values()].flatMap((own) =>
    own
      .filter(({ status }) => status !== 'canceled')
      .flatMap((time) => {
        const left = own.find(({ sequence }) => sequence === time.sequence + 1);
        return remindersOf(time).map(({ template, due }) => ({
          kind: kindOf({ ...time, template }),
          due,
          bookedAt: time.bookedAt.getTime(),
          leftAt: left?.at.getTime(),
        }));
      }),
  );
}

const isSpared = ({ due, bookedAt, leftAt = Number.POSITIVE_INFINITY }: Reminder) => bookedAt < due && leftAt <= due;

/**
 * Nothing reminds before it is due, nor of a time that was booked after that. A time that was left before its reminder was due never
 * reminds; one that was left later, not for long.
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

/** A mail that was canceled may have arrived: claimed again after a kill, its session had changed meanwhile. */
function isTrue({ status, email }: SessionMailRow, copies: number): boolean {
  if (email === '' && copies === 0) return status === 'failed' || status === 'canceled';
  if (isRefusedForGood(email)) return copies === 0 && (status === 'failed' || status === 'canceled');
  return status === 'sent' ? copies > 0 : status === 'canceled';
}

/** Each with the one after it, in the order of their beginnings: where any two overlap, two neighbours do. */
function overlaps(
  sessions: readonly SessionRow[],
  whose: 'mentorId' | 'studentId',
  until: (session: SessionRow) => Date,
): string[] {
  const stand = sessions.filter(({ status }) => status !== 'canceled');
  return [...Map.groupBy(stand, (session) => session[whose]).values()].flatMap((own) =>
    own
      .toSorted((one, other) => one.startsAt.getTime() - other.startsAt.getTime())
      .flatMap((session, place, all) => {
        const next = all[place + 1];
        if (!next || next.startsAt >= until(session)) return [];
        return [`${whose} ${session[whose]}: ${session.id} and ${next.id}`];
      }),
  );
}

function lostSessions(sessions: readonly SessionRow[], told: readonly ToldOfSession[]): string[] {
  const rows = new Map(sessions.map((session) => [session.id, session]));
  const isAsTold = ({ sessionId, startsAt, isCanceled }: ToldOfSession) => {
    const row = rows.get(sessionId);
    return row?.startsAt.getTime() === startsAt.getTime() && (row.status === 'canceled') === isCanceled;
  };
  const known = new Set(told.map(({ sessionId }) => sessionId));
  return [
    ...sessions
      .filter(({ isRemoved, status }) => isRemoved && status !== 'canceled')
      .map(({ id }) => `${id} of a removed student stands`),
    ...told
      .filter((one) => !isAsTold(one))
      .map((one) => `${JSON.stringify(one)} is ${JSON.stringify(rows.get(one.sessionId))}`),
    ...sessions.filter(({ id }) => !known.has(id)).map(({ id }) => `${id}, of which nobody was told`),
  ];
}
