/** Builds assignments of lessons and their submissions. The builders insert only rows, and cause no mails and no wakes. */
import type { SubmissionStatus } from '../../../entities/assignments/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

export interface AssignmentOptions {
  label?: string | null;
  takesText?: boolean;
  maxFiles?: number;
  required?: boolean;
  dueAt?: Date | null;
  closesAt?: Date | null;
  removedAt?: Date | null;
}

/** An assignment of a lesson, after the existing assignments. It accepts a text by default. */
export async function buildAssignment(
  lesson: { clubId: Id; id: Id },
  {
    label = null,
    takesText = true,
    maxFiles = 0,
    required = false,
    dueAt = null,
    closesAt = null,
    removedAt = null,
  }: AssignmentOptions = {},
): Promise<{ id: Id }> {
  const id = newId();
  await (
    await testDatabase()
  ).query(
    `INSERT INTO assignments (id, club_id, lesson_id, block_label, prompt, position, due_at, closes_at, takes_text, max_files, required, created_at, updated_at, removed_at)
     SELECT $1, $2, $3, $4, 'Tie a *bowline*.', count(*), $5, $6, $7, $8, $9, $10, $10, $11 FROM assignments WHERE lesson_id = $3`,
    [id, lesson.clubId, lesson.id, label, dueAt, closesAt, takesText, maxFiles, required, new Date(), removedAt],
  );
  return { id };
}

/** A submission with one text attempt, which waits for its review by default. */
export async function buildSubmission({
  clubId,
  studentId,
  assignmentId,
  status = 'submitted',
  submittedAt = new Date(),
}: {
  clubId: Id;
  studentId: Id;
  assignmentId: Id;
  status?: SubmissionStatus;
  submittedAt?: Date;
}): Promise<{ id: Id; review: Id }> {
  const [id, attempt, review] = [newId(), newId(), newId()];
  const source = await testDatabase();
  await source.query(
    `INSERT INTO assignment_submissions (id, club_id, assignment_id, student_id, status, last_number, first_submitted_at, submitted_at, file_count, reviewed_at, late)
     VALUES ($1, $2, $3, $4, $5, 1, $6, $6, 0, CASE WHEN $5 <> 'submitted' THEN $6::timestamptz END, CASE WHEN $5 = 'approved' THEN false END)`,
    [id, clubId, assignmentId, studentId, status, submittedAt],
  );
  await source.query(
    `INSERT INTO assignment_attempts (id, submission_id, number, text, submitted_at) VALUES ($1, $2, 1, 'Here it is.', $3)`,
    [attempt, id, submittedAt],
  );
  if (status !== 'submitted')
    await source.query(
      `INSERT INTO assignment_reviews (id, attempt_id, outcome, comment, created_at) VALUES ($1, $2, $3, 'Once more.', $4)`,
      [review, attempt, status, submittedAt],
    );
  return { id, review };
}

/** A student's file that is ready and not handed in. The bucket does not contain the file. @returns its id */
export async function buildAssignmentFile(clubId: Id, studentId: Id): Promise<Id> {
  const id = newId();
  await (
    await testDatabase()
  ).query(
    `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, file_name, mime, size_bytes, object_key, erases_at, created_at, updated_at)
     VALUES ($1, $2, 'assignment', $3, 'document', 'My knot.pdf', 'objstore', 'ready', 'My knot.pdf', 'application/pdf', 100, $4, $5, $6, $6)`,
    [id, clubId, studentId, `media/${clubId}/${id}`, new Date(Date.now() + 7 * 86_400_000), new Date()],
  );
  return id;
}
