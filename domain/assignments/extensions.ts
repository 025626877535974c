/** Gives single students later dates for an assignment (ASG-7). */
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import { Student } from '../../entities/identity/student.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { ascending, descending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import { lockAssignment, presentDates, requireAssignment } from './assignments.ts';
import { datesInForce, type Dates } from './assignments.policy.ts';

type ExtensionRecord = RecordOf<'AssignmentExtension'>;

/** The extensions of a removed student are deleted, so every extension has a student with an e-mail address. */
const extensionColumns = columns(
  AssignmentExtension,
  ['studentId', 'dueAt', 'closesAt', 'createdAt', 'updatedAt'],
  'extension',
).and<Pick<Student, 'name'> & { email: string }>(columns(Student, ['name', 'email'], 'student'));
type ExtensionRow = RowOf<typeof extensionColumns>;

/** @returns a page of the extensions, newest first @throws DomainError not_found (no such assignment) */
export async function listExtensions(
  db: Queries,
  clubId: Id,
  assignmentId: Id,
  page: PageRequest,
): Promise<Page<ExtensionRecord>> {
  await requireAssignment(db, clubId, assignmentId);
  const { rows, total, next } = await listPage(db, page, {
    columns: extensionColumns,
    from: sql`FROM assignment_extensions extension JOIN students student ON student.id = extension.student_id
      WHERE extension.assignment_id = ${assignmentId}`,
    counted: sql`FROM assignment_extensions extension WHERE extension.assignment_id = ${assignmentId}`,
    changedAt: 'extension.changed_at',
    orderBy: [descending('extension.created_at', 'timestamptz'), ascending('extension.student_id', 'uuid')],
  });
  return { rows: rows.map(presentExtension), total, next };
}

/** Gives a student later dates. These dates replace an earlier extension of the student. @throws DomainError not_found, invalid_request */
export async function setExtension(
  { db }: DatabaseDeps,
  { clubId, assignmentId, studentId }: { clubId: Id; assignmentId: Id; studentId: Id },
  input: RecordOf<'AssignmentExtensionChange'>,
  now: Date,
): Promise<ExtensionRecord> {
  const extension = {
    dueAt: input.due_at === undefined ? null : new Date(input.due_at),
    closesAt: input.closes_at === undefined ? null : new Date(input.closes_at),
  };
  return db.transaction(async (tx) => {
    await requireAssignment(tx, clubId, assignmentId);
    const { name, email } = await lockStudent(tx, clubId, studentId);
    requireLater(await lockAssignment(tx, clubId, assignmentId), extension);
    const row = await tx.one<{ createdAt: Date }>(sql`
      INSERT INTO assignment_extensions (assignment_id, student_id, due_at, closes_at, created_at, updated_at)
      VALUES (${assignmentId}, ${studentId}, ${extension.dueAt}, ${extension.closesAt}, ${now}, ${now})
      ON CONFLICT (assignment_id, student_id) DO UPDATE
        SET due_at = excluded.due_at, closes_at = excluded.closes_at, updated_at = excluded.updated_at
      RETURNING ${columns(AssignmentExtension, ['createdAt'])}`);
    return presentExtension({
      ...extension,
      studentId: studentId.toLowerCase(),
      name,
      email,
      createdAt: row?.createdAt ?? now,
      updatedAt: now,
    });
  });
}

/** @throws DomainError not_found (also if the student has no extension) */
export async function removeExtension(
  { db }: DatabaseDeps,
  { clubId, assignmentId, studentId }: { clubId: Id; assignmentId: Id; studentId: Id },
): Promise<void> {
  await db.transaction(async (tx) => {
    await requireAssignment(tx, clubId, assignmentId);
    await lockStudent(tx, clubId, studentId); // because of this lock, a concurrent submission runs completely before or after this removal
    const { affected } = await tx.manager.delete(AssignmentExtension, { assignmentId, studentId });
    if (affected === 0) throw notFound('extension');
  });
}

/** @throws DomainError invalid_request */
function requireLater(own: Dates, extension: Dates): void {
  for (const [name, date, extended] of [
    ['due_at', own.dueAt, extension.dueAt],
    ['closes_at', own.closesAt, extension.closesAt],
  ] as const) {
    if (extended === null) continue;
    if (date === null) throw new DomainError('invalid_request', `${name}: the assignment has no such date to extend.`);
    if (extended <= date)
      throw new DomainError('invalid_request', `${name}: an extension must be later than the assignment's own date.`);
  }
  const { dueAt } = datesInForce(own, extension);
  if (extension.closesAt !== null && dueAt !== null && dueAt > extension.closesAt)
    throw new DomainError('invalid_request', 'closes_at must not be before the deadline in force.');
}

function presentExtension(row: ExtensionRow): ExtensionRecord {
  return {
    student: { id: row.studentId, name: row.name, email: row.email },
    ...presentDates(row),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
