/** Lets administrators list, read and cancel student imports. `step.ts` processes the imports. */
import { StudentImport } from '../../../entities/access/student-import.ts';
import { StudentImportRow } from '../../../entities/access/student-import-row.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { ascending, newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { ImportError, RowOutcome } from '../../../entities/access/values.ts';
import { hasImportEnded } from './imports.policy.ts';

const importColumns = columns(StudentImport, {
  id: 'id',
  clubId: 'clubId',
  status: 'status',
  fileName: 'fileName',
  deliveryIds: 'deliveryIds',
  invite: 'invite',
  format: 'format',
  ignoredColumns: 'ignoredColumns',
  fileBytes: 'fileBytes',
  rowsTotal: 'rowsTotal',
  cursor: 'cursor',
  nextRow: 'nextRow',
  created: 'createdCount',
  existing: 'existingCount',
  failed: 'failedCount',
  error: 'error',
  looksAt: 'looksAt',
  createdAt: 'createdAt',
  startedAt: 'startedAt',
  completedAt: 'completedAt',
});
export type StoredImport = RowOf<typeof importColumns>;

export const fileKeyOf = ({ clubId, id }: { clubId: Id; id: Id }) => `student-imports/${clubId}/${id}.csv`;

export async function loadImport(db: Queries, importId: Id): Promise<StoredImport | undefined> {
  const storedImport = await db.one<StoredImport>(
    sql`SELECT ${importColumns} FROM student_imports WHERE id = ${importId}`,
  );
  return storedImport;
}

/**
 * Locks the import's row until the transaction ends. Other transactions can still insert rows that reference the import.
 * @throws Error if no row has this id. Imports are never removed, so this is a defect
 */
export async function lockImport(tx: Transaction, importId: Id): Promise<StoredImport> {
  await tx.run(sql`SELECT FROM student_imports WHERE id = ${importId} FOR NO KEY UPDATE`);
  const studentImport = await loadImport(tx, importId);
  if (!studentImport) throw new Error(`There is no import ${importId}`);
  return studentImport;
}

/** @throws DomainError not_found */
export async function findImport(db: Queries, clubId: Id, importId: Id): Promise<RecordOf<'StudentImport'>> {
  const studentImport = await loadImport(db, importId);
  if (studentImport?.clubId !== clubId) throw notFound('student import');
  return presentImport(studentImport);
}

/** @returns a page of the club's imports, newest first */
export async function listImports(
  db: Queries,
  clubId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'StudentImport'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: importColumns,
    from: sql`FROM student_imports WHERE club_id = ${clubId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentImport), total, next };
}

export interface ReportFilter extends PageRequest {
  outcome?: RowOutcome;
}

const reportColumns = columns(StudentImportRow, {
  row: 'row',
  outcome: 'outcome',
  code: 'code',
  column: 'columnName',
  studentId: 'studentId',
});

/** @returns a page of the report, in the order of the file @throws DomainError not_found */
export async function listImportRows(
  db: Queries,
  clubId: Id,
  importId: Id,
  { outcome, ...page }: ReportFilter,
): Promise<Page<RecordOf<'StudentImportRow'>>> {
  const { created, existing, failed } = await findImport(db, clubId, importId);
  const { rows, total, next } = await listPage(db, page, {
    columns: reportColumns,
    from: sql`FROM student_import_rows WHERE ${all([
      sql`import_id = ${importId}`,
      outcome === undefined ? undefined : sql`outcome = ${outcome}`,
    ])}`,
    orderBy: [ascending('row', 'int')],
    // Each batch updates a stored number of rows, so the query does not have to count the rows of a long report.
    total: outcome === undefined ? created + existing + failed : { created, existing, failed }[outcome],
  });
  return {
    total,
    next,
    rows: rows.map(({ row, outcome: rowOutcome, code, column, studentId }) => ({
      row,
      outcome: rowOutcome,
      ...(code !== null && { code }),
      ...(column !== null && { column }),
      ...(studentId !== null && { student_id: studentId }),
    })),
  };
}

/**
 * Cancels an import. Rows that are already processed stay in effect. A second call changes nothing.
 * @throws DomainError not_found, import_ended (it was completed or has failed)
 */
export async function cancelImport(
  { db }: DatabaseDeps,
  clubId: Id,
  importId: Id,
  now: Date,
): Promise<RecordOf<'StudentImport'>> {
  return db.transaction(async (tx) => {
    await findImport(tx, clubId, importId);
    const { status } = await lockImport(tx, importId);
    if (status === 'canceled') return findImport(tx, clubId, importId);
    if (hasImportEnded(status)) throw new DomainError('import_ended', 'The import has ended already.');
    await endImport(tx, { id: importId, clubId }, { status: 'canceled' }, now);
    return findImport(tx, clubId, importId);
  });
}

/**
 * @returns the number of the club's imports that have not ended, including canceled imports with an upload that may still arrive. An import
 * with a failed upload does not count, because the file of this import is deleted.
 */
export async function countOpenImports(db: Queries, clubId: Id): Promise<number> {
  const row = await db.one<{ open: number }>(sql`
    SELECT count(*)::int AS open FROM student_imports
     WHERE club_id = ${clubId} AND looks_at IS NOT NULL
       AND (completed_at IS NULL OR status = 'canceled' AND file_bytes IS NULL)`);
  return row?.open ?? 0;
}

export type ImportEnd = { status: 'canceled' } | { status: 'failed'; error: ImportError };

/** Ends an open import. The workflow of the import then removes the file. The caller holds the lock of the import. */
export async function endImport(
  tx: Transaction,
  { id, clubId }: { id: Id; clubId: Id },
  end: ImportEnd,
  now: Date,
): Promise<void> {
  await tx.manager.update(
    StudentImport,
    { id },
    { status: end.status, error: 'error' in end ? end.error : null, completedAt: now, looksAt: now },
  );
  await wake(tx, 'studentImport', [{ id, clubId }], now);
  await wakeNextImport(tx, { id, clubId }, now);
}

/**
 * Only one import of a club runs at a time, because a running import holds locks that sign-ups need. The imports run in the order of their
 * creation.
 */
const isUnfinished = sql`status IN ('pending', 'running')`;

/** @returns whether each earlier import of the club has processed all rows */
export async function isItsTurn(db: Queries, { id, clubId, createdAt }: StoredImport): Promise<boolean> {
  const earlier = await db.one(sql`SELECT FROM student_imports
      WHERE club_id = ${clubId} AND ${isUnfinished} AND (created_at, id) < (${createdAt}, ${id}) LIMIT 1`);
  return earlier === undefined;
}

/** Wakes the club's next import in the transaction that ends the current import. So the next import does not have to poll. */
export async function wakeNextImport(tx: Transaction, endedImport: { id: Id; clubId: Id }, now: Date): Promise<void> {
  const next = await tx.one<{ id: Id; clubId: Id }>(sql`SELECT id, club_id AS "clubId" FROM student_imports
      WHERE club_id = ${endedImport.clubId} AND ${isUnfinished} AND id <> ${endedImport.id} ORDER BY created_at, id LIMIT 1`);
  if (next) await wake(tx, 'studentImport', [next], now);
}

function presentImport(stored: StoredImport): RecordOf<'StudentImport'> {
  const { created, existing, failed } = stored;
  return {
    id: stored.id,
    status: stored.status,
    delivery_ids: stored.deliveryIds,
    invite: stored.invite,
    ignored_columns: stored.ignoredColumns,
    rows_done: created + existing + failed,
    created,
    existing,
    failed,
    created_at: stored.createdAt.toISOString(),
    ...(stored.fileName !== null && { file_name: stored.fileName }),
    ...(stored.rowsTotal !== null && { rows_total: stored.rowsTotal }),
    ...(stored.error !== null && { error: stored.error }),
    ...(stored.startedAt !== null && { started_at: stored.startedAt.toISOString() }),
    ...(stored.completedAt !== null && { completed_at: stored.completedAt.toISOString() }),
  };
}
