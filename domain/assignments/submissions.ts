/** Reads submissions for students and administrators, and presents them as records of the API. */
import { Assignment } from '../../entities/assignments/assignment.ts';
import { AssignmentAttempt } from '../../entities/assignments/assignment-attempt.ts';
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import { AssignmentReview } from '../../entities/assignments/assignment-review.ts';
import { AssignmentSubmission } from '../../entities/assignments/assignment-submission.ts';
import { Student } from '../../entities/identity/student.ts';
import { Course } from '../../entities/learning/course.ts';
import { Lesson } from '../../entities/learning/lesson.ts';
import type { SubmissionStatus } from '../../entities/assignments/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import { noClub, type Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { countEach } from '../../platform/infra/postgres/lists/counts.ts';
import { ascending, newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { all, columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Reader } from '../identity/student-ref.ts';
import { mediaColumns, presentMedia, type StoredMedia } from '../media/media.ts';
import { presentDates } from './assignments.ts';
import { datesInForce, isLate } from './assignments.policy.ts';
import { presentAttached } from './attachments.ts';

/** Includes the submissions of deleted assignments and removed lessons. */
const submissionColumns = columns(
  AssignmentSubmission,
  {
    id: 'id',
    assignmentId: 'assignmentId',
    studentId: 'studentId',
    status: 'status',
    submittedAt: 'submittedAt',
    fileCount: 'fileCount',
    reviewedAt: 'reviewedAt',
    firstSubmittedAt: 'firstSubmittedAt',
    firstDueAt: 'dueAt',
    lateAtApproval: 'late',
  },
  'submission',
)
  .and(columns(Assignment, ['blockLabel', 'prompt', 'dueAt', 'closesAt'], 'assignment'))
  .and(columns(AssignmentExtension, { extendedDueAt: 'dueAt', extendedClosesAt: 'closesAt' }, 'extension'))
  .and(columns(Lesson, { lessonPublicId: 'publicId', lessonTitle: 'title' }, 'lesson'))
  .and(columns(Course, { courseId: 'id', courseTitle: 'title' }, 'course'))
  .and<{ studentName: string; studentEmail: string }>(
    columns(Student, { studentName: 'name', studentEmail: 'email' }, 'student'),
  );
type SubmissionRow = RowOf<typeof submissionColumns>;

const withPlace = sql`FROM assignment_submissions submission
  JOIN assignments assignment ON assignment.id = submission.assignment_id
  JOIN lessons lesson ON lesson.id = assignment.lesson_id
  JOIN courses course ON course.id = lesson.course_id
  JOIN students student ON student.id = submission.student_id
  LEFT JOIN assignment_extensions extension
    ON extension.assignment_id = submission.assignment_id AND extension.student_id = submission.student_id`;

export interface SubmissionFilter extends PageRequest {
  status?: SubmissionStatus;
  student_id?: Id;
}

type Counts = RecordOf<'AssignmentSubmissionCounts'>;

/**
 * @returns a page of the club's review queue, oldest first, and the number of submissions in each status. These numbers ignore the status
 * filter
 */
export async function listSubmissions(
  db: Queries,
  clubId: Id,
  filter: SubmissionFilter,
): Promise<Page<RecordOf<'AssignmentSubmission'>> & { counts: Counts }> {
  const counts =
    filter.student_id === undefined
      ? await countOfClub(db, clubId)
      : await countOfStudent(db, clubId, filter.student_id);
  const tallied =
    filter.status === undefined ? counts.submitted + counts.approved + counts.changes_requested : counts[filter.status];
  const filters = all([
    sql`submission.club_id = ${clubId}`,
    filter.student_id === undefined ? undefined : sql`submission.student_id = ${filter.student_id}`,
    filter.status === undefined ? undefined : sql`submission.status = ${filter.status}`,
  ]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: submissionColumns,
    from: sql`${withPlace} WHERE ${filters}`,
    orderBy: [ascending('submission.submitted_at', 'timestamptz'), ascending('submission.id', 'uuid')],
    changedAt: 'submission.changed_at',
    total: tallied,
  });
  return { rows: rows.map((row) => ({ ...presentSummary(row), student: presentStudent(row) })), total, next, counts };
}

const listOfStatus = {
  submitted: 'submissions_submitted',
  approved: 'submissions_approved',
  changes_requested: 'submissions_changes_requested',
} as const satisfies Record<SubmissionStatus, string>;

/** Reads the numbers from tallies, because a club can have any number of submissions. */
async function countOfClub(db: Queries, clubId: Id): Promise<Counts> {
  const count = await countEach(db, clubId, { lists: Object.values(listOfStatus), subjectIds: [noClub] });
  const of = (status: SubmissionStatus) => count({ list: listOfStatus[status], subjectId: noClub, marked: false });
  return { submitted: of('submitted'), approved: of('approved'), changes_requested: of('changes_requested') };
}

/** A student has few submissions, so they are counted without a stored total. */
async function countOfStudent(db: Queries, clubId: Id, studentId: Id): Promise<Counts> {
  const rows = await db.rows<{ status: SubmissionStatus; count: number }>(sql`
    SELECT status, count(*)::int AS count FROM assignment_submissions
     WHERE club_id = ${clubId} AND student_id = ${studentId} GROUP BY status`);
  const of = (status: SubmissionStatus) => rows.find((row) => row.status === status)?.count ?? 0;
  return { submitted: of('submitted'), approved: of('approved'), changes_requested: of('changes_requested') };
}

/** @returns a submission with its attempts, files and reviews @throws DomainError not_found (also for a submission of another club) */
export async function readSubmission(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  submissionId: Id,
): Promise<RecordOf<'AssignmentSubmissionDetail'>> {
  const row = await findOne(db, sql`submission.id = ${submissionId} AND submission.club_id = ${clubId}`);
  return { ...(await presentWhole(db, storage, row)), student: presentStudent(row) };
}

/** @returns a page of the student's own submissions, the last sent first, also for lessons that the student can no longer open */
export async function listOwnSubmissions(
  db: Queries,
  reader: Reader,
  filter: PageRequest & { status?: SubmissionStatus },
): Promise<Page<RecordOf<'ClassroomSubmissionSummary'>>> {
  const filters = all([
    sql`submission.student_id = ${reader.id}`,
    filter.status === undefined ? undefined : sql`submission.status = ${filter.status}`,
  ]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: submissionColumns,
    from: sql`${withPlace} WHERE ${filters}`,
    counted: sql`FROM assignment_submissions submission WHERE ${filters}`,
    orderBy: newestFirst('submission', 'submitted_at'),
  });
  return { rows: rows.map(presentOwn), total, next };
}

const ownOne = (reader: Reader, submissionId: Id) =>
  sql`submission.id = ${submissionId} AND submission.student_id = ${reader.id}`;

/** @returns the submission without its attempts @throws DomainError not_found (also for the submission of another student) */
export async function findOwnSubmission(
  db: Queries,
  reader: Reader,
  submissionId: Id,
): Promise<RecordOf<'ClassroomSubmissionSummary'>> {
  return presentOwn(await findOne(db, ownOne(reader, submissionId)));
}

/** @throws DomainError not_found (also for a submission of another student) */
export async function readOwnSubmission(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  submissionId: Id,
): Promise<RecordOf<'ClassroomSubmission'>> {
  const row = await findOne(db, ownOne(reader, submissionId));
  return presentWhole(db, storage, row);
}

async function findOne(db: Queries, condition: Sql): Promise<SubmissionRow> {
  const row = await db.one<SubmissionRow>(sql`SELECT ${submissionColumns} ${withPlace} WHERE ${condition}`);
  if (!row) throw notFound('submission');
  return row;
}

const extensionOf = (row: { extendedDueAt: Date | null; extendedClosesAt: Date | null }) => ({
  dueAt: row.extendedDueAt,
  closesAt: row.extendedClosesAt,
});

/** For approved work, this is the value that the approval recorded. Otherwise it follows from the current dates. */
function lateOf(row: SubmissionRow): boolean {
  const { dueAt } = datesInForce(row, extensionOf(row));
  return row.lateAtApproval ?? isLate({ sentAt: row.firstSubmittedAt, dueAt: row.firstDueAt }, dueAt);
}

/** The caller holds the lock of the student. @throws DomainError not_found */
export async function isLateNow(db: Queries, submissionId: Id): Promise<boolean> {
  return lateOf(await findOne(db, sql`submission.id = ${submissionId}`));
}

/** @returns the student's submissions for these assignments, by assignment */
export async function findOwnOf(
  db: Queries,
  reader: Reader,
  assignmentIds: readonly Id[],
): Promise<Map<Id, NonNullable<RecordOf<'ClassroomAssignment'>['submission']>>> {
  const rows = await db.rows<SubmissionRow>(sql`SELECT ${submissionColumns} ${withPlace}
     WHERE submission.student_id = ${reader.id} AND submission.assignment_id = ANY (${assignmentIds}::uuid[])`);
  return new Map(
    rows.map((row) => [
      row.assignmentId,
      { id: row.id, status: row.status, submitted_at: row.submittedAt.toISOString(), late: lateOf(row) },
    ]),
  );
}

function presentSummary(row: SubmissionRow) {
  return {
    id: row.id,
    status: row.status,
    submitted_at: row.submittedAt.toISOString(),
    late: lateOf(row),
    lesson_public_id: row.lessonPublicId,
    lesson_title: row.lessonTitle,
    course_id: row.courseId,
    course_title: row.courseTitle,
    file_count: row.fileCount,
    ...(row.reviewedAt !== null && { reviewed_at: row.reviewedAt.toISOString() }),
    ...(row.blockLabel !== null && { block_label: row.blockLabel }),
  };
}

function presentStudent(row: SubmissionRow) {
  return { id: row.studentId, name: row.studentName, email: row.studentEmail };
}

function presentOwn(row: SubmissionRow): RecordOf<'ClassroomSubmissionSummary'> {
  return { ...presentSummary(row), assignment_id: row.assignmentId };
}

async function presentWhole(
  db: Queries,
  storage: ObjectStore,
  row: SubmissionRow,
): Promise<RecordOf<'ClassroomSubmission'>> {
  const [attempts, reviews] = [await readAttempts(db, storage, row.id), await readReviews(db, storage, row.id)];
  return {
    ...presentOwn(row),
    prompt: row.prompt,
    ...presentDates(datesInForce(row, extensionOf(row))),
    attempts,
    reviews,
  };
}

const attemptColumns = columns(AssignmentAttempt, ['id', 'number', 'text', 'submittedAt']);

async function readAttempts(
  db: Queries,
  storage: ObjectStore,
  submissionId: Id,
): Promise<RecordOf<'AssignmentAttempt'>[]> {
  const attempts = await db.rows<RowOf<typeof attemptColumns>>(
    sql`SELECT ${attemptColumns} FROM assignment_attempts WHERE submission_id = ${submissionId} ORDER BY number`,
  );
  const files = await db.rows<StoredMedia & { attemptId: Id }>(sql`
    SELECT ${mediaColumns}, file.attempt_id AS "attemptId"
      FROM assignment_attempt_files file JOIN media ON media.id = file.media_id AND media.removed_at IS NULL
     WHERE file.attempt_id = ANY (${attempts.map(({ id }) => id)}::uuid[]) ORDER BY file.attempt_id, file.position`);
  return Promise.all(
    attempts.map(async ({ id, number, text, submittedAt }) => ({
      number,
      ...(text !== null && { text }),
      files: await Promise.all(
        files.filter(({ attemptId }) => attemptId === id).map((file) => presentMedia(file, storage)),
      ),
      submitted_at: submittedAt.toISOString(),
    })),
  );
}

const reviewColumns = columns(AssignmentReview, ['id', 'outcome', 'comment', 'createdAt'], 'review').and(
  columns(AssignmentAttempt, ['number'], 'attempt'),
);

async function readReviews(
  db: Queries,
  storage: ObjectStore,
  submissionId: Id,
): Promise<RecordOf<'AssignmentReview'>[]> {
  const reviews = await db.rows<RowOf<typeof reviewColumns>>(sql`
    SELECT ${reviewColumns} FROM assignment_attempts attempt JOIN assignment_reviews review ON review.attempt_id = attempt.id
     WHERE attempt.submission_id = ${submissionId} ORDER BY attempt.number`);
  const attached = await presentAttached(
    db,
    storage,
    'assignment_review',
    reviews.map(({ id }) => id),
  );
  return reviews.map(({ id, number, outcome, comment, createdAt }) => ({
    id,
    attempt: number,
    outcome,
    ...(comment !== null && { comment }),
    media: attached.get(id) ?? [],
    created_at: createdAt.toISOString(),
  }));
}
