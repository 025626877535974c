/** Books, moves, cancels and rates sessions. Changing a student's session locks the student first (ENG-6). */
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { SessionCanceler } from '../../entities/mentorships/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sqlStateOf } from '../../platform/infra/postgres/errors.ts';
import { prepared, preparedRows } from '../../platform/infra/postgres/prepared.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../billing/allowances.ts';
import type { DatabaseDeps, VaultDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import type { Reader } from '../identity/student-ref.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import { lockMentor, lockOpenMentorship, type SeenMentorship } from './classroom.ts';
import { cancelUntil, sessionRules } from './sessions.policy.ts';
import { findOwnSession, findSession, type NamedSession } from './sessions.ts';
import { isOffered } from './slots.policy.ts';
import { RefusalToPerson } from '../language/refusal.ts';

type OwnSession = RecordOf<'OwnMentorshipSession'>;

const minuteMs = 60_000;
const slotTaken = () => new RefusalToPerson('slot_taken', 'refusal.slot_taken');
const sessionState = (message: string) => new DomainError('session_state', message);

/**
 * Books a session, or moves a session to another time. The function checks the slot while it holds the lock of the mentorship's row. The
 * database also refuses a session that overlaps another session of the mentor. This exclusion constraint is needed for concurrent bookings
 * in different mentorships of one mentor. If the session moves to another mentor, the former mentor gets a mail (MENT-11).
 * @param input.replaces the session to move, which the student has booked in the same mentorship. After the move, the session has the same
 * id
 * @throws DomainError not_found (the mentorship does not exist, or the session to move does not exist), feature_not_in_plan,
 * booking_limit_reached, slot_taken; invalid_request, when no session begins at that time; too_late_to_cancel, when the session can no
 * longer be moved
 */
export async function bookSession(
  { db, vault }: VaultDeps,
  student: Reader,
  publicId: string,
  input: RecordOf<'MentorshipBooking'>,
  now: Date,
): Promise<OwnSession> {
  const startsAt = new Date(input.starts_at);
  return db
    .transaction(async (tx) => {
      await lockStudent(tx, student.clubId, student.id);
      const mentorship = await lockOpenMentorship(tx, student, publicId, now);
      const replaced =
        input.replaces === undefined ? undefined : await lockOwn(tx, student, { publicId, sessionId: input.replaces });
      await requireFeature(tx, student.clubId, 'community', 'person');
      if (replaced) requireChangeable(replaced, now);
      // Because of this lock, concurrent bookings in two mentorships of one mentor run one after another. Without the lock, a deadlock
      // could occur: each booking could wait for a row that the other booking has inserted.
      const hasHours = await lockMentor(tx, student, mentorship);
      if (!hasHours || !isOffered(mentorship, startsAt, now))
        throw new RefusalToPerson('invalid_request', 'refusal.slot_gone', {
          technical: 'starts_at: no session that can be booked now begins then.',
        });
      if (!replaced) await requireRoom(tx, student, mentorship, now);
      const id = replaced?.id ?? newId();
      if (replaced && replaced.mentorId !== mentorship.mentorId)
        await mailFormerMentor(tx, vault, { ...replaced, clubId: student.clubId }, now);
      await (replaced
        ? moveSession(tx, replaced, timesOf(mentorship, startsAt), input.agenda, now)
        : insertSession(
            tx,
            student,
            mentorship,
            { id, ...timesOf(mentorship, startsAt), agenda: input.agenda ?? '' },
            now,
          ));
      await wake(tx, 'mentorshipSession', [{ id, clubId: student.clubId }], now);
      return findOwnSession(tx, student, { publicId, sessionId: id }, now);
    })
    .catch((error: unknown) => {
      throw sqlStateOf(error) === exclusionViolation ? slotTaken() : error;
    });
}

const exclusionViolation = '23P01';

/**
 * Cancels a session of the student. If the session is already canceled, nothing changes.
 * @throws DomainError not_found, too_late_to_cancel
 */
export async function cancelOwnSession(
  { db }: DatabaseDeps,
  student: Reader,
  named: NamedSession,
  now: Date,
): Promise<OwnSession> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, student.clubId, student.id);
    const session = await lockOwn(tx, student, named);
    if (session.status !== 'canceled') {
      requireChangeable(session, now);
      await cancel(tx, { ...session, clubId: student.clubId }, { by: 'student', reason: '' }, now);
    }
    return findOwnSession(tx, student, named, now);
  });
}

/**
 * Changes the topics of a session. This is allowed until the session begins.
 * @param agenda the new topics. An empty text removes the topics
 * @throws DomainError not_found, session_state
 */
export async function setAgenda(
  { db }: DatabaseDeps,
  student: Reader,
  named: NamedSession,
  agenda: string,
  now: Date,
): Promise<OwnSession> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, student.clubId, student.id);
    const { id, status, startsAt } = await lockOwn(tx, student, named);
    if (status !== 'booked' || startsAt <= now) throw new RefusalToPerson('session_state', 'refusal.agenda_closed');
    await tx.manager.update(MentorshipSession, { id }, { agenda: agenda.trim(), updatedAt: now });
    return findOwnSession(tx, student, named, now);
  });
}

/**
 * Rates a session. This is allowed for 30 days after the end of the session. A later rating replaces the earlier one.
 * @throws DomainError not_found, session_state
 */
export async function rateSession(
  { db }: DatabaseDeps,
  student: Reader,
  named: NamedSession,
  { rating, comment }: RecordOf<'MentorshipRating'>,
  now: Date,
): Promise<OwnSession> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, student.clubId, student.id);
    const { id, status, endsAt } = await lockOwn(tx, student, named);
    const over = now.getTime() - endsAt.getTime();
    if (status !== 'booked' || over < 0 || over > sessionRules.ratedForMs)
      throw new RefusalToPerson('session_state', 'refusal.rating_closed');
    const change = { rating, ratingComment: comment?.trim() ?? '', ratedAt: now, updatedAt: now };
    await tx.manager.update(MentorshipSession, { id }, change);
    return findOwnSession(tx, student, named, now);
  });
}

/**
 * Cancels a session for the club, before the end of the session. If the session is already canceled, nothing changes.
 * @throws DomainError not_found, session_state
 */
export async function cancelSession(
  { db }: DatabaseDeps,
  clubId: Id,
  sessionId: Id,
  reason: string,
  now: Date,
): Promise<RecordOf<'MentorshipSession'>> {
  return db.transaction(async (tx) => {
    const session = await lockOfClub(tx, clubId, sessionId);
    if (session.status !== 'canceled') {
      if (session.status !== 'booked' || session.endsAt <= now)
        throw sessionState('The session is over and cannot be canceled.');
      await cancel(tx, { ...session, clubId }, { by: 'club', reason: reason.trim() }, now);
    }
    return findSession(tx, clubId, sessionId, now);
  });
}

/**
 * Records whether the student came to a session that has begun. If the same value is recorded again, nothing changes.
 * @throws DomainError not_found, session_state (the session is canceled, or has not begun)
 */
export async function setNoShow(
  { db }: DatabaseDeps,
  clubId: Id,
  sessionId: Id,
  isNoShow: boolean,
  now: Date,
): Promise<RecordOf<'MentorshipSession'>> {
  return db.transaction(async (tx) => {
    const { id, status, startsAt } = await lockOfClub(tx, clubId, sessionId);
    if (status === 'canceled' || startsAt > now)
      throw sessionState('A no-show can be recorded only for a session that has begun and is not canceled.');
    const after = isNoShow ? 'no_show' : 'booked';
    if (status !== after) await tx.manager.update(MentorshipSession, { id }, { status: after, updatedAt: now });
    return findSession(tx, clubId, sessionId, now);
  });
}

type LockedSession = Pick<MentorshipSession, 'id' | 'status' | 'mentorId' | 'startsAt' | 'endsAt' | 'sequence'> &
  Pick<Mentorship, 'cancelDeadlineMinutes'>;
const lockedColumns = columns(
  MentorshipSession,
  ['id', 'status', 'mentorId', 'startsAt', 'endsAt', 'sequence'],
  'session',
).and(columns(Mentorship, ['cancelDeadlineMinutes'], 'mentorship'));
const ofMentorship = sql`FROM mentorship_sessions session JOIN mentorships mentorship ON mentorship.id = session.mentorship_id`;

/** @throws DomainError not_found */
async function lockOwn(
  tx: Transaction,
  student: Reader,
  { publicId, sessionId }: NamedSession,
): Promise<LockedSession> {
  const session = await tx.one<LockedSession>(sql`SELECT ${lockedColumns} ${ofMentorship}
     WHERE session.id = ${sessionId} AND session.student_id = ${student.id} AND session.club_id = ${student.clubId}
       AND mentorship.public_id = ${publicId} FOR NO KEY UPDATE OF session`);
  if (!session) throw notFound('session');
  return session;
}

/** @throws DomainError not_found */
async function lockOfClub(tx: Transaction, clubId: Id, sessionId: Id): Promise<LockedSession> {
  const session = await tx.one<LockedSession>(sql`SELECT ${lockedColumns} ${ofMentorship}
     WHERE session.id = ${sessionId} AND session.club_id = ${clubId} FOR NO KEY UPDATE OF session`);
  if (!session) throw notFound('session');
  return session;
}

/**
 * @throws DomainError session_state (the session is canceled), too_late_to_cancel (the time limit has passed, or the student did not come)
 */
function requireChangeable({ status, startsAt, cancelDeadlineMinutes }: LockedSession, now: Date): void {
  if (status === 'canceled') throw new RefusalToPerson('session_state', 'refusal.session_canceled');
  if (status !== 'booked' || now >= startsAt || now > cancelUntil(startsAt, cancelDeadlineMinutes))
    throw new RefusalToPerson('too_late_to_cancel', 'refusal.too_late_to_cancel');
}

/**
 * The caller holds the lock of the mentorship, so the second of two concurrent bookings counts the first booking.
 * @throws DomainError booking_limit_reached
 */
async function requireRoom(tx: Transaction, student: Reader, mentorship: SeenMentorship, now: Date): Promise<void> {
  const upcoming = await preparedRows(
    'select_upcoming_sessions',
    tx,
    sql`SELECT FROM mentorship_sessions
     WHERE student_id = ${student.id} AND mentorship_id = ${mentorship.id} AND status = 'booked' AND starts_at > ${now}
     LIMIT ${mentorship.maxUpcoming}`,
  );
  if (upcoming.length >= mentorship.maxUpcoming)
    throw new RefusalToPerson('booking_limit_reached', 'refusal.booking_limit_reached');
}

interface Times {
  mentorId: Id;
  startsAt: Date;
  endsAt: Date;
  busyUntil: Date;
}

function timesOf({ mentorId, durationMinutes, bufferMinutes }: SeenMentorship, startsAt: Date): Times {
  const endsAt = new Date(startsAt.getTime() + durationMinutes * minuteMs);
  return { mentorId, startsAt, endsAt, busyUntil: new Date(endsAt.getTime() + bufferMinutes * minuteMs) };
}

async function insertSession(
  tx: Transaction,
  student: Reader,
  mentorship: SeenMentorship,
  session: Times & { id: Id; agenda: string },
  now: Date,
): Promise<void> {
  await insertOne(tx, {
    id: session.id,
    clubId: student.clubId,
    mentorshipId: mentorship.id,
    mentorId: session.mentorId,
    studentId: student.id,
    startsAt: session.startsAt,
    endsAt: session.endsAt,
    busyUntil: session.busyUntil,
    agenda: session.agenda.trim(),
    now,
  });
}

const insertOne = prepared<
  never,
  Times & { id: Id; clubId: Id; mentorshipId: Id; studentId: Id; agenda: string; now: Date }
>(
  'insert_mentorship_session',
  (
    value,
  ) => `INSERT INTO mentorship_sessions (id, club_id, mentorship_id, mentor_id, student_id, starts_at, ends_at, busy_until, agenda,
     booked_at, looks_at, created_at, updated_at) VALUES (${value.id}, ${value.clubId}, ${value.mentorshipId}, ${value.mentorId}, ${value.studentId}, ${value.startsAt}, ${value.endsAt}, ${value.busyUntil}, ${value.agenda}, ${value.now}, ${value.now}, ${value.now}, ${value.now})`,
);

/** The new time may overlap the old time of the same session, because a row does not conflict with itself. */
async function moveSession(
  tx: Transaction,
  { id, sequence }: LockedSession,
  times: Times,
  agenda: string | undefined,
  now: Date,
) {
  const change = { ...times, sequence: sequence + 1, bookedAt: now, looksAt: now, updatedAt: now };
  await tx.manager.update(
    MentorshipSession,
    { id },
    { ...change, ...(agenda !== undefined && { agenda: agenda.trim() }) },
  );
}

async function cancel(
  tx: Transaction,
  { id, clubId, sequence }: Pick<MentorshipSession, 'id' | 'clubId' | 'sequence'>,
  { by, reason }: { by: SessionCanceler; reason: string },
  now: Date,
): Promise<void> {
  await tx.manager.update(
    MentorshipSession,
    { id },
    {
      status: 'canceled',
      sequence: sequence + 1,
      canceledAt: now,
      canceledBy: by,
      cancelReason: reason,
      looksAt: now,
      updatedAt: now,
    },
  );
  await wake(tx, 'mentorshipSession', [{ id, clubId }], now);
}

/**
 * Requests a mail to the former mentor, in the transaction that moves the session to another mentor. The mail removes the session from the
 * former mentor's calendar. It is requested only if the former mentor already got a mail about the session. Otherwise the former mentor
 * gets no mail at all, because the session's run mails only the current mentor.
 */
async function mailFormerMentor(
  tx: Transaction,
  vault: VaultDeps['vault'],
  { id, clubId, sequence, mentorId, startsAt, endsAt }: LockedSession & { clubId: Id },
  now: Date,
): Promise<void> {
  const invited = await tx.one<{ email: string }>(sql`SELECT email FROM administrators
     WHERE id = ${mentorId} AND removed_at IS NULL AND EXISTS (SELECT FROM transactional_mails WHERE session_id = ${id} AND administrator_id = ${mentorId}
       AND template = 'mentorship_mentor_booked' AND status <> 'canceled')`);
  if (!invited) return;
  const session = { id, sequence: sequence + 1, former: { startsAt, endsAt } };
  const template = 'mentorship_mentor_replaced';
  await requestMail(
    tx,
    vault,
    { template, clubId, recipient: { administratorId: mentorId }, email: invited.email, session },
    now,
  );
}
