/** Requests, lists and reads exports of students (EXP-1, EXP-6). `step.ts` writes the files. */
import type { RecordOf } from '../../../contract/contract.ts';
import { StudentExport } from '../../../entities/exports/student-export.ts';
import type { ExportRequester } from '../../../entities/exports/values.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { findStudent } from '../../identity/students.ts';
import { objectKeyOf, sectionNames, studentExportRules } from './exports.policy.ts';

type ExportRecord = RecordOf<'StudentDataExport'>;

const exportColumns = columns(StudentExport, [
  'id',
  'clubId',
  'studentId',
  'requestedBy',
  'status',
  'sectionsDone',
  'fileFence',
  'sizeBytes',
  'createdAt',
  'completedAt',
  'expiresAt',
]);
type ExportRow = RowOf<typeof exportColumns>;

interface ExportedStudent {
  clubId: Id;
  studentId: Id;
}

/**
 * Begins an export, or returns the export that the student already has within a day. The lock of the student makes concurrent requests find
 * each other's export.
 * @throws DomainError not_found (also for a removed student)
 */
export async function requestExport(
  { db }: DatabaseDeps,
  { clubId, studentId }: ExportedStudent,
  requester: { kind: ExportRequester; id: Id },
  now: Date,
): Promise<ExportRecord> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, clubId, studentId);
    const since = new Date(now.getTime() - studentExportRules.everyMs);
    const recent = await tx.one<ExportRow>(sql`
      SELECT ${exportColumns} FROM student_exports
       WHERE student_id = ${studentId} AND status <> 'failed' AND created_at > ${since} ORDER BY created_at DESC, id DESC LIMIT 1`);
    if (recent) return present(recent);
    const id = newId();
    await tx.manager.insert(StudentExport, {
      id,
      clubId,
      studentId,
      requestedBy: requester.kind,
      requesterId: requester.id,
      looksAt: now,
      createdAt: now,
    });
    await wake(tx, 'studentExport', [{ id, clubId }], now);
    return findRecord(tx, { clubId, studentId }, id);
  });
}

/** @returns a page of the student's exports, newest first, without addresses @throws DomainError not_found (no such student) */
export async function listExports(
  db: Queries,
  { clubId, studentId }: ExportedStudent,
  page: PageRequest,
): Promise<Page<ExportRecord>> {
  await findStudent(db, clubId, studentId);
  const { rows, total, next } = await listPage(db, page, {
    columns: exportColumns,
    from: sql`FROM student_exports WHERE student_id = ${studentId} AND club_id = ${clubId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(present), total, next };
}

/**
 * @param mayDownload whether the record gets the address of the file
 * @throws DomainError not_found
 */
export async function readExport(
  { db, storage }: { db: Queries; storage: ObjectStore },
  student: ExportedStudent,
  exportId: Id,
  mayDownload: boolean,
): Promise<ExportRecord> {
  const row = await findRow(db, student, exportId);
  if (!mayDownload || row.status !== 'ready' || row.fileFence === null) return present(row);
  const key = objectKeyOf({ ...row, fence: row.fileFence });
  const answer = { disposition: 'attachment; filename="export.zip"', contentType: 'application/zip' };
  return { ...present(row), download_url: await storage.signGet(key, answer, studentExportRules.addressSeconds) };
}

async function findRecord(db: Queries, student: ExportedStudent, exportId: Id): Promise<ExportRecord> {
  return present(await findRow(db, student, exportId));
}

async function findRow(db: Queries, { clubId, studentId }: ExportedStudent, exportId: Id): Promise<ExportRow> {
  const row = await db.one<ExportRow>(sql`
    SELECT ${exportColumns} FROM student_exports WHERE id = ${exportId} AND student_id = ${studentId} AND club_id = ${clubId}`);
  if (!row) throw notFound('export');
  return row;
}

function present(row: ExportRow): ExportRecord {
  return {
    id: row.id,
    student_id: row.studentId,
    requested_by: row.requestedBy,
    status: row.status,
    sections_done: row.sectionsDone,
    sections_total: sectionNames.length,
    ...(row.sizeBytes !== null && { size_bytes: Number(row.sizeBytes) }),
    created_at: row.createdAt.toISOString(),
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
    ...(row.expiresAt !== null && { expires_at: row.expiresAt.toISOString() }),
  };
}
