/**
 * Certificates of courses. A certificate is issued once per student and course. It can be reissued or revoked, and is withdrawn when the
 * student is removed.
 */
import { Club } from '../../../entities/clubs/club.ts';
import { Certificate } from '../../../entities/learning/certificate.ts';
import { Course } from '../../../entities/learning/course.ts';
import { CourseCompletion } from '../../../entities/learning/course-completion.ts';
import { IsNull } from 'typeorm';
import { randomInt } from 'node:crypto';
import { certificateTexts, type CertificateWarning } from '../../../entities/learning/values.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { AddressedDeps } from '../../deps.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { codeAlphabet, codeLength, completeCode } from './code.policy.ts';
import { dropFilesOf } from './files.ts';
import { hasLettersWithoutFont } from './letters/missing.ts';
import { findCertificate } from './reads.ts';
import { presentCertificate, type CertificateRow } from './records.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/** A student and a course of one club. */
interface Pair {
  clubId: Id;
  studentId: Id;
  courseId: Id;
}

export interface Completion extends Pair {
  completedAt: Date;
  /** The priority of the fact `certificate.issued`; normal if absent. */
  priority?: Priority;
}

/** @returns a random code that cannot be guessed */
function drawCode(): string {
  const drawn = Array.from({ length: codeLength - 1 }, () => codeAlphabet.charAt(randomInt(codeAlphabet.length)));
  return completeCode(drawn.join(''));
}

/**
 * Issues a certificate when a student has just completed a course that issues certificates, and records `certificate.issued`. An existing
 * certificate does not change. Each transaction that records a completion calls this once.
 * @param publicUrl the address of this service, without a slash at the end
 * @throws DomainError not_found (no such student or course)
 */
export async function issueOnCompletion(
  tx: Transaction,
  publicUrl: string,
  { clubId, studentId, courseId, completedAt, priority }: Completion,
  now: Date,
): Promise<void> {
  const student = await lockStudent(tx, clubId, studentId);
  const course = await readPrint(tx, { clubId, studentId, courseId });
  if (!course.certificateOnCompletion || (await hasOne(tx, studentId, courseId))) return;
  const completed = { ...course, completedAt };
  await insert(tx, { publicUrl, clubId, studentId, courseId, student, course: completed, priority }, drawCode, now);
}

/**
 * Issues a certificate by hand and records `certificate.issued`. The administrator decides whether the course was completed.
 * @throws DomainError not_found (no such student or course), certificate_exists
 */
export async function issueCertificate(
  { db, publicUrl }: AddressedDeps,
  clubId: Id,
  { student_id: studentId, course_id: courseId }: { student_id: Id; course_id: Id },
  now: Date,
  draw: () => string = drawCode,
): Promise<RecordOf<'Certificate'>> {
  return db.transaction(async (tx) => {
    const student = await lockStudent(tx, clubId, studentId);
    const course = await readPrint(tx, { clubId, studentId, courseId });
    if (await hasOne(tx, studentId, courseId))
      throw new DomainError('certificate_exists', 'The student has a certificate of this course already.');
    const issue = { publicUrl, clubId, studentId, courseId, student, course };
    return presentCertificate(await findCertificate(tx, clubId, await insert(tx, issue, draw, now)));
  });
}

async function hasOne(db: Queries, studentId: Id, courseId: Id): Promise<boolean> {
  const rows = await db.rows(sql`SELECT FROM certificates WHERE student_id = ${studentId} AND course_id = ${courseId}`);
  return rows.length > 0;
}

/** The current data of the course, the club and the completion that a certificate prints. */
const printColumns = columns(
  Course,
  { courseTitle: 'title', hours: 'hours', certificateOnCompletion: 'certificateOnCompletion' },
  'course',
)
  .and(columns(Club, { clubName: 'name', language: 'language' }, 'club'))
  .and<{ completedAt: Date | null }>(columns(CourseCompletion, ['completedAt'], 'completion')).and<{
  lessonCount: number;
}>(sql`(
    SELECT count(*)::int FROM lessons lesson
     WHERE lesson.course_id = course.id AND lesson.published_at IS NOT NULL AND lesson.removed_at IS NULL) AS "lessonCount"`);
type Print = RowOf<typeof printColumns>;

/** @throws DomainError not_found, also for a course of another club */
async function readPrint(db: Queries, { clubId, studentId, courseId }: Pair): Promise<Print> {
  const print = await db.one<Print>(sql`SELECT ${printColumns}
       FROM courses course JOIN clubs club ON club.id = course.club_id
       LEFT JOIN course_completions completion ON completion.course_id = course.id AND completion.student_id = ${studentId}
      WHERE course.id = ${courseId} AND course.club_id = ${clubId}`);
  if (!print) throw notFound('course');
  return print;
}

/** @returns the warnings about letters that cannot be printed (CERT-5), as JSON */
function warningsOf(student: { name: string }, { courseTitle, clubName }: Print): string {
  const texts = { student_name: student.name, course_title: courseTitle, club_name: clubName };
  const fields = certificateTexts.filter((field) => hasLettersWithoutFont(texts[field]));
  return JSON.stringify(
    fields.length === 0 ? [] : [{ code: 'letters_without_font', fields } satisfies CertificateWarning],
  );
}

interface Issue extends Pair {
  publicUrl: string;
  student: { name: string; email: string };
  course: Print;
  priority?: Priority | undefined;
}

/**
 * The caller has locked the student and found no certificate of the course. So an insertion conflicts only with another certificate's code.
 * Then a new code is drawn.
 */
async function insert(tx: Transaction, issue: Issue, draw: () => string, now: Date): Promise<Id> {
  const { clubId, studentId, courseId, student, course, priority } = issue;
  const id = newId();
  for (;;) {
    const code = draw();
    const issued =
      await tx.one(sql`INSERT INTO certificates (id, club_id, student_id, course_id, code, student_name, student_email, course_title,
              club_name, language, warnings, lesson_count, hours, verify_url, completed_at, issued_at)
       VALUES (${id}, ${clubId}, ${studentId}, ${courseId}, ${code}, ${student.name}, ${student.email}, ${course.courseTitle}, ${course.clubName}, ${course.language}, ${warningsOf(student, course)}::jsonb, ${course.lessonCount}, ${course.hours}, ${`${issue.publicUrl}/certificates/${code}`}, ${course.completedAt}, ${now}) ON CONFLICT (code) DO NOTHING RETURNING id`);
    if (!issued) continue;
    await recordFact(tx, {
      clubId,
      type: 'certificate.issued',
      studentId,
      subjectId: id,
      occurredAt: now,
      ...(priority !== undefined && { priority }),
    });
    return id;
  }
}

/**
 * Reissues a certificate with the current names of its student, course and club. The version increases, and code and language stay. No
 * second `certificate.issued` is recorded. A revoked certificate becomes valid again.
 * @throws DomainError not_found, certificate_withdrawn
 */
export async function reissueCertificate(
  { db }: AddressedDeps,
  clubId: Id,
  certificateId: Id,
  now: Date,
): Promise<RecordOf<'Certificate'>> {
  return db.transaction(async (tx) => {
    const { studentId, courseId } = await lockCertificate(tx, clubId, certificateId);
    const student = await lockStudent(tx, clubId, studentId);
    const course = await readPrint(tx, { clubId, studentId, courseId });
    await tx.run(sql`UPDATE certificates
          SET version = version + 1, student_name = ${student.name}, student_email = ${student.email}, course_title = ${course.courseTitle}, club_name = ${course.clubName},
              warnings = ${warningsOf(student, course)}::jsonb,
              lesson_count = ${course.lessonCount}, hours = ${course.hours}, completed_at = ${course.completedAt}, revoked_at = NULL, revoked_reason = NULL
        WHERE id = ${certificateId}`);
    await dropFilesOf(tx, { id: certificateId }, now);
    return presentCertificate(await findCertificate(tx, clubId, certificateId));
  });
}

/**
 * Revokes a certificate. Its verification then says that it is revoked. Only administrators and the student see the reason.
 * @throws DomainError not_found, certificate_revoked, certificate_withdrawn
 */
export async function revokeCertificate(
  { db }: AddressedDeps,
  clubId: Id,
  certificateId: Id,
  reason: string,
  now: Date,
): Promise<RecordOf<'Certificate'>> {
  return db.transaction(async (tx) => {
    const { revokedAt } = await lockCertificate(tx, clubId, certificateId);
    if (revokedAt !== null) throw certificateRevoked();
    await tx.manager.update(Certificate, { id: certificateId }, { revokedAt: now, revokedReason: reason });
    await dropFilesOf(tx, { id: certificateId }, now);
    return presentCertificate(await findCertificate(tx, clubId, certificateId));
  });
}

const certificateWithdrawn = () =>
  new DomainError('certificate_withdrawn', 'The student was removed, and the certificate with them.');

const certificateRevoked = () => new RefusalToPerson('certificate_revoked', 'refusal.certificate_revoked');

/**
 * Refuses an action that needs a valid certificate, if the certificate is withdrawn or revoked.
 * @throws DomainError certificate_withdrawn, certificate_revoked
 */
export function requireValid({ withdrawnAt, revokedAt }: CertificateRow): void {
  if (withdrawnAt !== null) throw certificateWithdrawn();
  if (revokedAt !== null) throw certificateRevoked();
}

/**
 * Locks the row of the certificate's student, even if the student was removed, and then reads the certificate. While the lock lasts, no
 * other transaction can change the certificate.
 * @throws DomainError not_found, also for the certificate of another club; certificate_withdrawn
 */
async function lockCertificate(tx: Transaction, clubId: Id, certificateId: Id): Promise<CertificateRow> {
  await tx.run(sql`SELECT FROM students student JOIN certificates certificate ON certificate.student_id = student.id
      WHERE certificate.id = ${certificateId} AND certificate.club_id = ${clubId} FOR NO KEY UPDATE OF student`);
  const certificate = await findCertificate(tx, clubId, certificateId);
  if (certificate.withdrawnAt !== null) throw certificateWithdrawn();
  return certificate;
}

/** Moves a student's certificates to a corrected e-mail address. The printed words do not change until the certificates are reissued. */
export async function moveCertificatesTo(tx: Transaction, studentId: Id, email: string): Promise<void> {
  await tx.manager.update(Certificate, { studentId, withdrawnAt: IsNull() }, { studentEmail: email });
}

/**
 * Withdraws a removed student's certificates. The certificates keep their code and course, and lose the name and the e-mail. Their
 * verification says that they are withdrawn. The reason of a revocation and the warnings are deleted too, because they may mention the
 * person or the name.
 */
export async function purgeStudentFromCertificates(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.manager.update(
    Certificate,
    { studentId, withdrawnAt: IsNull() },
    { studentName: null, studentEmail: null, revokedReason: null, warnings: [], withdrawnAt: now },
  );
  await dropFilesOf(tx, { studentId }, now);
}
