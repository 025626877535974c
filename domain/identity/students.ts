/** Students as administrators see them: list, read, create, correct, remove. */
import { findDelivery } from '../access/deliveries/deliveries.ts';
import { purgeStudentFromAgents } from '../agents/conversations/erasure.ts';
import { grantAccess, hideEnrollmentsOf } from '../access/enrollments/enrollments.ts';
import { noteAddressLeft } from '../access/imports/removals.ts';
import { inTransaction, violates, type Transaction, type Queries } from '../../platform/infra/postgres/transaction.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { windowOf, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { Platform } from '../deps.ts';
import { pageOfIds, search } from '../../platform/infra/postgres/lists/search.ts';
import { foldEmail, likePattern, tidyName } from '../../platform/core/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { moveCertificatesTo, purgeStudentFromCertificates } from '../learning/certificates/certificates.ts';
import { purgeStudentFromLearning } from '../learning/student-removal.ts';
import { purgeStudentFromStanding } from '../learning/engagement/standing.ts';
import { requestMail } from '../mail/requests.ts';
import { purgeStudentFromMedia } from '../media/erasure.ts';
import { claimNotices, purgeStudentFromSales } from '../sales/student-removal.ts';
import { purgeStudentFromWebhooks } from '../webhooks/student-removal.ts';
import { findOrOpenAccount, holdStudent } from './accounts.ts';
import { withdrawTokensOf } from '../mail/one-time-tokens.ts';
import { endSessionsOf } from './sessions.ts';
import type { StudentIdentity } from './student-identity.ts';

const columns = `student.id, student.name, student.email, student.verified_at AS "verifiedAt",
  student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
  student.avatar_url AS "avatarUrl", student.club_id AS "clubId", club.slug AS "clubSlug"`;

const emailTaken = () => new DomainError('email_taken', 'Another student of this club has this e-mail.');

/** @throws Error if there is none: the caller has just seen or made it */
export async function getStudent(tx: Transaction, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(tx, 'student.id = $1', [studentId]);
  if (!student) throw new Error('A student vanished inside a transaction that holds it');
  return student;
}

/** @throws DomainError not_found, also for a student of another club and a removed one */
export async function findStudent(tx: Queries, clubId: Id, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(tx, 'student.id = $1 AND student.club_id = $2', [studentId, clubId]);
  if (!student) throw notFound('student');
  return student;
}

async function findOne(tx: Queries, condition: string, parameters: unknown[]): Promise<StudentIdentity | undefined> {
  const [student] = await select(tx, `${condition} AND student.removed_at IS NULL`, parameters);
  return student;
}

async function select(tx: Queries, rest: string, parameters: unknown[]): Promise<StudentIdentity[]> {
  return tx.query<StudentIdentity[]>(
    `SELECT ${columns} FROM students student JOIN clubs club ON club.id = student.club_id WHERE ${rest}`,
    parameters,
  );
}

export interface StudentFilter extends PageRequest {
  /** Searched in name and e-mail, without regard to case. */
  q?: string;
  verified?: boolean;
}

/** @returns a page of the club's students, newest first; with `q`, of the newest 1,000 who fit */
export async function listStudents(tx: Queries, clubId: Id, filter: StudentFilter): Promise<Page<StudentIdentity>> {
  const q = filter.q?.trim() ?? '';
  if (q !== '') return searchStudents(tx, clubId, q, filter);
  const { limit, offset } = windowOf(filter);
  const rows = await select(tx, `${shown(filter)} ORDER BY ${newestFirst} LIMIT ${limit} OFFSET ${offset}`, [clubId]);
  return { rows, total: await countListed(tx, { list: 'students', clubId, marked: filter.verified }) };
}

const newestFirst = 'student.created_at DESC, student.id DESC';

/** The condition under which the list of the club `$1` shows a student. */
function shown({ verified }: StudentFilter): string {
  const confirmed = verified === undefined ? '' : ` AND student.verified_at IS ${verified ? 'NOT NULL' : 'NULL'}`;
  return `student.club_id = $1 AND student.removed_at IS NULL${confirmed}`;
}

async function searchStudents(
  tx: Queries,
  clubId: Id,
  q: string,
  filter: StudentFilter,
): Promise<Page<StudentIdentity>> {
  const ids = await search(tx, q, {
    from: 'students student',
    alias: 'student',
    orderedBy: 'created_at',
    conditions: shown(filter),
    matching: '(student.name ILIKE $2 OR student.email ILIKE $2)',
    parameters: [clubId, likePattern(q)],
  });
  const rows = await select(tx, `student.id = ANY ($1) ORDER BY ${newestFirst}`, [pageOfIds(ids, filter)]);
  return { rows, total: ids.length };
}

/**
 * Opens an account for somebody, mails the invitation to confirm it, and gives the deliveries that they are invited to.
 * @throws DomainError not_found (delivery), limit_reached, email_taken, delivery_archived
 */
export async function createStudent(
  { database, vault }: Platform,
  clubId: Id,
  input: { name: string; email: string; delivery_ids?: readonly Id[] },
  now: Date,
): Promise<StudentIdentity> {
  return inTransaction(database, async (tx) => {
    // Before it is looked whose the e-mail is: 404 comes before 409.
    for (const deliveryId of input.delivery_ids ?? []) await findDelivery(tx, clubId, deliveryId);
    const { studentId, created } = await findOrOpenAccount(tx, vault, clubId, { ...input, invited: true }, now);
    if (!created) throw emailTaken();
    for (const deliveryId of input.delivery_ids ?? [])
      await grantAccess(tx, { clubId, studentId, deliveryId, source: 'invite' }, now);
    return getStudent(tx, studentId);
  });
}

/**
 * Corrects name or e-mail. A new e-mail must be confirmed again: the password, what was mailed to the old one and the
 * sessions that it opened end, for they may be a stranger's. A correction that changes nothing is no fact.
 * @throws DomainError not_found, email_taken
 */
export async function updateStudent(
  { database, vault }: Platform,
  clubId: Id,
  studentId: Id,
  input: { name?: string; email?: string },
  now: Date,
): Promise<StudentIdentity> {
  return inTransaction(database, async (tx) => {
    const before = await holdStudent(tx, clubId, studentId);
    const name = input.name === undefined ? before.name : tidyName(input.name);
    const email = input.email === undefined ? before.email : foldEmail(input.email);
    if (name === before.name && email === before.email) return findStudent(tx, clubId, studentId);

    const moved = email !== before.email;
    await tx
      .query(
        `UPDATE students SET name = $2, email = $3, verified_at = CASE WHEN $4 THEN NULL ELSE verified_at END,
                password_hash = CASE WHEN $4 THEN NULL ELSE password_hash END
          WHERE id = $1`,
        [studentId, name, email, moved],
      )
      .catch((error: unknown) => {
        throw violates(error, 'students_club_email') ? emailTaken() : error;
      });
    if (moved) {
      await noteAddressLeft(tx, vault, { clubId, studentId, email: before.email });
      await moveCertificatesTo(tx, studentId, email);
      await claimNotices(tx, { clubId, studentId, email: before.email });
      await withdrawTokensOf(tx, { studentId });
      await endSessionsOf(tx, 'student', studentId);
      await requestMail(tx, vault, { template: 'student_verify_email', clubId, recipient: { studentId }, email }, now);
    }
    await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: now });
    return findStudent(tx, clubId, studentId);
  });
}

/**
 * Removes a student: the row stays as an id without a name; sessions, tokens and unsent mails end; messages about the
 * student lose their bodies; an import that is still open does not bring them back; `student.removed` alone goes out
 * (DEL-9).
 * @throws DomainError not_found
 */
export async function removeStudent(
  { database, vault }: Platform,
  clubId: Id,
  studentId: Id,
  now: Date,
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const { email } = await holdStudent(tx, clubId, studentId);
    await noteAddressLeft(tx, vault, { clubId, studentId, email });
    await tx.query(
      `UPDATE students
          SET name = 'Removed student', email = NULL, password_hash = NULL, avatar_url = NULL, verified_at = NULL, removed_at = $2
        WHERE id = $1`,
      [studentId, now],
    );
    await withdrawTokensOf(tx, { studentId });
    await endSessionsOf(tx, 'student', studentId);
    await hideEnrollmentsOf(tx, studentId, now);
    await purgeStudentFromCertificates(tx, studentId, now);
    await purgeStudentFromLearning(tx, studentId);
    await purgeStudentFromStanding(tx, studentId);
    await purgeStudentFromMedia(tx, studentId, now);
    await purgeStudentFromAgents(tx, studentId, now);
    await purgeStudentFromSales(tx, { clubId, studentId, email }, now);
    await purgeStudentFromWebhooks(tx, studentId, now);
    await recordFact(tx, { clubId, type: 'student.removed', studentId, occurredAt: now });
  });
}
