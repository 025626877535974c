/**
 * Lets students hand in work and withdraw it. Each change locks the student's row, so the changes of one student's submissions run one
 * after another.
 */
import { Assignment } from '../../entities/assignments/assignment.ts';
import { AssignmentAttempt } from '../../entities/assignments/assignment-attempt.ts';
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import { AssignmentSubmission } from '../../entities/assignments/assignment-submission.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import type { Reader } from '../identity/student-ref.ts';
import { lockVisibleLessonForShare } from '../learning/courses/classroom.ts';
import { keepSentFiles, releaseFiles } from '../media/purposes/unsent-files.ts';
import type { MediaDeps } from '../media/media.ts';
import { datesInForce, isClosed, type Dates } from './assignments.policy.ts';
import { findOwnSubmission, readOwnSubmission } from './submissions.ts';
import { RefusalToPerson } from '../language/refusal.ts';

interface Work {
  text?: string;
  file_ids?: readonly Id[];
}

const noAssignment = () => notFound('assignment');

/**
 * Sends a student's first attempt, or a new attempt after a review has requested changes. The sent files then belong to the attempt.
 * @throws DomainError not_found, invalid_request (the assignment does not accept such work), invalid_file, assignment_closed,
 *   submission_state
 */
export async function submitAssignment(
  { db, storage }: MediaDeps,
  reader: Reader,
  assignmentId: Id,
  work: Work,
  now: Date,
): Promise<RecordOf<'ClassroomSubmission'>> {
  const submissionId = await db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const assignment = await lockVisible(tx, reader, assignmentId, now);
    requireAccepted(assignment, work);
    const dates = datesInForce(assignment, { dueAt: assignment.extendedDueAt, closesAt: assignment.extendedClosesAt });
    if (isClosed(dates, now)) throw new RefusalToPerson('assignment_closed', 'refusal.assignment_closed');
    const attempt = await recordSending(
      tx,
      reader,
      assignment.id,
      { dates, fileCount: work.file_ids?.length ?? 0 },
      now,
    );
    await tx.manager.insert(AssignmentAttempt, { ...attempt, text: work.text ?? null, submittedAt: now });
    await attachFiles(tx, reader, attempt.id, work.file_ids ?? []);
    return attempt.submissionId;
  });
  return readOwnSubmission(db, storage, reader, submissionId);
}

const assignmentColumns = columns(Assignment, ['id', 'dueAt', 'closesAt', 'takesText', 'maxFiles'], 'assignment').and(
  columns(AssignmentExtension, { extendedDueAt: 'dueAt', extendedClosesAt: 'closesAt' }, 'extension'),
);
type OpenAssignment = RowOf<typeof assignmentColumns>;

/** The shared lock on the course keeps the assignment from being changed or deleted. @throws DomainError not_found */
async function lockVisible(tx: Transaction, reader: Reader, assignmentId: Id, now: Date): Promise<OpenAssignment> {
  const lesson = await tx.one<{ publicId: string }>(sql`SELECT lesson.public_id AS "publicId"
      FROM assignments assignment JOIN lessons lesson ON lesson.id = assignment.lesson_id
     WHERE assignment.id = ${assignmentId} AND assignment.club_id = ${reader.clubId}`);
  if (!lesson) throw noAssignment();
  await lockVisibleLessonForShare(tx, reader, lesson.publicId, now).catch((error: unknown) => {
    throw error instanceof DomainError && error.code === 'not_found' ? noAssignment() : error;
  });
  const row = await tx.one<OpenAssignment>(sql`SELECT ${assignmentColumns} FROM assignments assignment
      LEFT JOIN assignment_extensions extension ON extension.assignment_id = assignment.id AND extension.student_id = ${reader.id}
     WHERE assignment.id = ${assignmentId} AND assignment.removed_at IS NULL`);
  if (!row) throw noAssignment();
  return row;
}

/** @throws DomainError invalid_request */
function requireAccepted({ takesText, maxFiles }: OpenAssignment, { text, file_ids: fileIds = [] }: Work): void {
  if (text !== undefined && !takesText)
    throw new DomainError('invalid_request', 'text: the assignment accepts no text.');
  if (fileIds.length > maxFiles)
    throw new DomainError('invalid_request', `file_ids: the assignment accepts at most ${maxFiles} files.`);
}

/** @throws DomainError submission_state */
async function recordSending(
  tx: Transaction,
  { clubId, id: studentId }: Reader,
  assignmentId: Id,
  { dates, fileCount }: { dates: Dates; fileCount: number },
  now: Date,
): Promise<{ id: Id; submissionId: Id; number: number }> {
  const before = await tx.manager.findOneBy(AssignmentSubmission, { studentId, assignmentId });
  const lastSending = { status: 'submitted', submittedAt: now, fileCount, reviewedAt: null } as const;
  if (!before) {
    const submissionId = newId();
    await tx.manager.insert(AssignmentSubmission, {
      id: submissionId,
      clubId,
      assignmentId,
      studentId,
      ...lastSending,
      lastNumber: 1,
      dueAt: dates.dueAt,
      firstSubmittedAt: now,
    });
    return { id: newId(), submissionId, number: 1 };
  }
  if (before.status === 'submitted') throw new RefusalToPerson('submission_state', 'refusal.work_waits_for_review');
  if (before.status === 'approved') throw new RefusalToPerson('submission_state', 'refusal.work_approved');
  const number = before.lastNumber + 1;
  await tx.manager.update(AssignmentSubmission, { id: before.id }, { ...lastSending, lastNumber: number });
  return { id: newId(), submissionId: before.id, number };
}

/** @throws DomainError invalid_file */
async function attachFiles(tx: Transaction, reader: Reader, attemptId: Id, fileIds: readonly Id[]): Promise<void> {
  if (fileIds.length === 0) return;
  const keptIds = await keepSentFiles(tx, { clubId: reader.clubId, studentId: reader.id }, 'assignment', fileIds);
  await tx.run(sql`INSERT INTO assignment_attempt_files (media_id, attempt_id, position)
    SELECT id, ${attemptId}, position - 1 FROM unnest(${keptIds}::uuid[]) WITH ORDINALITY AS sent (id, position)`);
}

/**
 * Withdraws the last attempt while it waits for its review. The submission then shows the attempt before it, or is deleted if there is
 * none. The number of the withdrawn attempt is not used again.
 * @returns the submission, if it still exists
 * @throws DomainError not_found, submission_changed
 */
export async function withdrawSubmission(
  { db }: MediaDeps,
  reader: Reader,
  submissionId: Id,
  number: number,
  now: Date,
): Promise<RecordOf<'WithdrawnSubmission'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const attempt = await findWaiting(tx, { submissionId, studentId: reader.id }, number);
    const files = sql`SELECT media_id FROM assignment_attempt_files WHERE attempt_id = ${attempt.id}`;
    await releaseFiles(tx, 'assignment', files, now);
    await tx.manager.delete(AssignmentAttempt, { id: attempt.id });
    const returned = await tx.run(sql`
      UPDATE assignment_submissions submission
         SET status = 'changes_requested', submitted_at = earlier.submitted_at, reviewed_at = earlier.reviewed_at, file_count = earlier.files
        FROM (SELECT attempt.submitted_at, review.created_at AS reviewed_at,
                     (SELECT count(*) FROM assignment_attempt_files WHERE attempt_id = attempt.id) AS files
                FROM assignment_attempts attempt JOIN assignment_reviews review ON review.attempt_id = attempt.id
               WHERE attempt.submission_id = ${submissionId} ORDER BY attempt.number DESC LIMIT 1) AS earlier
       WHERE submission.id = ${submissionId}`);
    if (returned > 0) return { submission: await findOwnSubmission(tx, reader, submissionId) };
    await tx.manager.delete(AssignmentSubmission, { id: submissionId });
    return {};
  });
}

/**
 * Finds the attempt with this number, if it still waits for its review. The caller holds the lock of the student.
 * @throws DomainError not_found, submission_changed
 */
export async function findWaiting(
  tx: Transaction,
  { submissionId, studentId }: { submissionId: Id; studentId: Id },
  number: number,
): Promise<{ id: Id }> {
  const submission = await tx.manager.findOneBy(AssignmentSubmission, { id: submissionId, studentId });
  if (!submission) throw notFound('submission');
  const last = await tx.one<{ id: Id; number: number }>(sql`
    SELECT id, number FROM assignment_attempts WHERE submission_id = ${submissionId} ORDER BY number DESC LIMIT 1`);
  if (submission.status !== 'submitted' || last?.number !== number)
    throw new RefusalToPerson('submission_changed', 'refusal.work_changed');
  return last;
}
