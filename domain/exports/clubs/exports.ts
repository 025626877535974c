/** Asks for exports of a club, and lists, reads and erases them (EXP-10, EXP-11, EXP-16). `step.ts` does the work. */
import type { RecordOf } from '../../../contract/contract.ts';
import { ClubExport } from '../../../entities/exports/club-export.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { dispositionOf } from '../../media/file-name.policy.ts';
import { archiveKeyOf, clubExportRules } from './exports.policy.ts';
import { listFiles } from './files.ts';
import { recordTypes } from './record-types.ts';

type ExportRecord = RecordOf<'ClubExport'>;
type Signing = Pick<ObjectStore, 'signGet'>;

const exportColumns = columns(ClubExport, [
  'id',
  'clubId',
  'status',
  'progress',
  'archiveBytes',
  'createdAt',
  'startedAt',
  'readyAt',
  'expiresAt',
]);
type ExportRow = RowOf<typeof exportColumns>;

/**
 * Begins an export. If the club has an open export, or one of the last 24 hours has become ready, the function returns that export. Locks
 * the club's row, so that concurrent requests find each other's exports.
 */
export async function askForExport(
  { db }: DatabaseDeps,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
  now: Date,
): Promise<ExportRecord> {
  return db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
    const since = new Date(now.getTime() - clubExportRules.intervalMs);
    const earlier = await tx.one<ExportRow>(sql`
      SELECT ${exportColumns} FROM club_exports
       WHERE club_id = ${clubId} AND (status IN ('pending', 'running') OR (ready_at IS NOT NULL AND created_at > ${since}))
       ORDER BY created_at DESC, id DESC LIMIT 1`);
    if (earlier) return presentExport(earlier);
    const id = newId();
    await tx.manager.insert(ClubExport, {
      id,
      clubId,
      requestedBy: administratorId,
      status: 'pending',
      progress: { types: [] },
      looksAt: now,
      createdAt: now,
    });
    await wake(tx, 'clubExport', [{ id, clubId }], now);
    return presentExport(await findRow(tx, clubId, id));
  });
}

/** @returns a page of the club's exports, newest first, without addresses */
export async function listExports(db: Queries, clubId: Id, page: PageRequest): Promise<Page<ExportRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: exportColumns,
    from: sql`FROM club_exports WHERE club_id = ${clubId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentExport), total, next };
}

/**
 * @param mayDownload whether the record gets the address of the archive
 * @throws DomainError not_found
 */
export async function readExport(
  db: Queries,
  storage: Signing,
  { clubId, exportId }: { clubId: Id; exportId: Id },
  mayDownload: boolean,
): Promise<ExportRecord> {
  const row = await findRow(db, clubId, exportId);
  return mayDownload ? presentSigned(storage, row) : presentExport(row);
}

/** @returns a page of the files that a ready export lists and that still exist @throws DomainError not_found */
export async function listExportFiles(
  db: Queries,
  storage: Signing,
  { clubId, exportId }: { clubId: Id; exportId: Id },
  page: PageRequest,
): Promise<Page<RecordOf<'ClubExportFile'>>> {
  const { status, readyAt } = await findRow(db, clubId, exportId);
  if (status !== 'ready' || readyAt === null) return { rows: [], total: 0, next: undefined };
  return listFiles(db, clubId, readyAt, page, storage);
}

/**
 * Cancels an open export, and erases the archive of a ready one. A repeated call changes nothing.
 * @throws DomainError not_found
 */
export async function eraseExport(
  { db }: DatabaseDeps,
  { clubId, exportId }: { clubId: Id; exportId: Id },
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await findRow(tx, clubId, exportId);
    await expire(tx, clubId, exportId, now);
  });
}

/** Ends an export early. The higher fence stops the step that may be running, and the next step erases what is stored. */
async function expire(tx: Transaction, clubId: Id, exportId: Id, now: Date): Promise<void> {
  const changed = await tx.run(sql`
    UPDATE club_exports SET status = 'expired', progress = progress - 'next', looks_at = ${now}, fence = fence + 1
     WHERE id = ${exportId} AND status NOT IN ('failed', 'expired')`);
  if (changed > 0) await wake(tx, 'clubExport', [{ id: exportId, clubId }], now);
}

/**
 * Ends ready exports of a student's club, and begins running ones again, because both contain data of the student (EXP-15). Is part of the
 * removal of the student.
 */
export async function eraseStudentFromExports(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  const rows = await tx.rows<{ id: Id }>(sql`
    UPDATE club_exports
       SET status = CASE WHEN status = 'ready' THEN 'expired' ELSE status END,
           progress = CASE WHEN status = 'ready' THEN progress ELSE '{"types": []}' END,
           looks_at = ${now}, fence = fence + 1
     WHERE club_id = ${clubId} AND status IN ('pending', 'running', 'ready') RETURNING id`);
  if (rows.length > 0)
    await wake(
      tx,
      'clubExport',
      rows.map(({ id }) => ({ id, clubId })),
      now,
    );
}

async function findRow(db: Queries, clubId: Id, exportId: Id): Promise<ExportRow> {
  const row = await db.one<ExportRow>(
    sql`SELECT ${exportColumns} FROM club_exports WHERE id = ${exportId} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('export');
  return row;
}

async function presentSigned(storage: Signing, row: ExportRow): Promise<ExportRecord> {
  const record = presentExport(row);
  if (row.status !== 'ready') return record;
  const fileName = `club-export-${row.createdAt.toISOString().slice(0, 10)}.zip`;
  const answer = { disposition: dispositionOf('attachment', fileName), contentType: 'application/zip' };
  return {
    ...record,
    archive: {
      url: await storage.signGet(archiveKeyOf(row, row.progress.archiveFence ?? 0), answer),
      file_name: fileName,
      size_bytes: Number(row.archiveBytes),
    },
  };
}

function presentExport({ progress: { types, next }, ...row }: ExportRow): ExportRecord {
  const isOpen = row.status === 'pending' || row.status === 'running';
  return {
    id: row.id,
    status: row.status,
    progress: {
      record_types: recordTypes.length,
      record_types_done: Math.max(0, types.length - (isOpen && next !== undefined ? 1 : 0)),
      records: types.reduce((sum, { records }) => sum + records, 0),
      bytes: types.reduce((sum, { bytes }) => sum + bytes, 0),
    },
    created_at: row.createdAt.toISOString(),
    ...(row.startedAt !== null && { started_at: row.startedAt.toISOString() }),
    ...(row.readyAt !== null && { ready_at: row.readyAt.toISOString() }),
    ...(row.status === 'ready' && row.expiresAt !== null && { expires_at: row.expiresAt.toISOString() }),
  };
}
