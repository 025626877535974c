/** The step of `mentorship-session/<id>`: requests each mail about a session when it is due (MENT-11). */
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../deps.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import { mailsNow, type DueMail } from './sessions.policy.ts';

export type SessionStep =
  | { done: true; outcome: 'canceled' | 'over' | 'gone' }
  | { done: false; at: number; sequence: number };

const mailColumns = columns(
  MentorshipSession,
  ['id', 'clubId', 'status', 'startsAt', 'endsAt', 'bookedAt', 'canceledAt', 'sequence', 'mentorId', 'studentId'],
  'session',
).and<{ studentEmail: string | null; mentorEmail: string | null }>(sql`
  (SELECT email FROM students WHERE id = session.student_id AND removed_at IS NULL) AS "studentEmail",
  (SELECT email FROM administrators WHERE id = session.mentor_id AND EXISTS (
     SELECT FROM memberships WHERE club_id = session.club_id AND administrator_id = session.mentor_id)) AS "mentorEmail"`);
type SessionForMail = (typeof mailColumns)['row'];

/**
 * Requests the due mails in one transaction, under the locks of the session and its student. For each session, template and time there can
 * be only one row of a mail. So a repeated step requests no second mail. The worker that claims a mail later decides whether to send it.
 * @param now Unix milliseconds
 */
export async function tellOfSession({ db, vault }: VaultDeps, id: Id, now: number): Promise<SessionStep> {
  const at = new Date(now);
  return db.transaction(async (tx) => {
    await lockStudentOf(tx, id);
    const session = await tx.one<SessionForMail>(
      sql`SELECT ${mailColumns} FROM mentorship_sessions session WHERE session.id = ${id} FOR NO KEY UPDATE OF session`,
    );
    if (!session) return { done: true, outcome: 'gone' };
    const { due, next } = mailsNow(session, at);
    for (const mail of due) await requestOne(tx, { vault, session, mail }, at);
    await tx.manager.update(MentorshipSession, { id }, { looksAt: next });
    if (next !== null) return { done: false, at: next.getTime(), sequence: session.sequence };
    return { done: true, outcome: session.status === 'canceled' ? 'canceled' : 'over' };
  });
}

/** Locks the student before the session, as a removal does. A request for a mail to a student also locks the student's row (ENG-6). */
const lockStudentOf = (tx: Transaction, id: Id) =>
  tx.run(
    sql`SELECT FROM students WHERE id = (SELECT student_id FROM mentorship_sessions WHERE id = ${id}) FOR KEY SHARE`,
  );

async function requestOne(
  tx: Transaction,
  { vault, session, mail }: { vault: VaultDeps['vault']; session: SessionForMail; mail: DueMail },
  now: Date,
): Promise<void> {
  const { template } = mail;
  const isToMentor = template === 'mentorship_mentor_booked' || template === 'mentorship_mentor_canceled';
  const email = isToMentor ? session.mentorEmail : session.studentEmail;
  if (email === null) return;
  const recipient = isToMentor ? { administratorId: session.mentorId } : { studentId: session.studentId };
  const about = { id: session.id, sequence: session.sequence };
  await requestMail(tx, vault, { template, clubId: session.clubId, recipient, email, session: about }, now);
}
