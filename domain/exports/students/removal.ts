/** Removes exports: with their student, when they expire, and long after their request (EXP-5). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { recordDroppedObject } from '../../media/erasure/leftovers.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { objectKeyOf, studentExportRules } from './exports.policy.ts';

interface FileRow {
  id: Id;
  clubId: Id;
  studentId: Id;
  fence: number;
}

/** Deletes the exports of a student, and makes their files due for erasure. The caller has locked the student's row. */
export async function removeExportsOf(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  const rows = await tx.rows<FileRow & { isOpen: boolean }>(sql`
    DELETE FROM student_exports WHERE student_id = ${studentId}
     RETURNING id, club_id AS "clubId", student_id AS "studentId", coalesce(file_fence, fence) AS fence, looks_at IS NOT NULL AS "isOpen"`);
  for (const row of rows) await eraseFile(tx, row, now);
  await wake(
    tx,
    'studentExport',
    rows.filter(({ isOpen }) => isOpen),
    now,
  );
}

async function eraseFile(tx: Transaction, row: FileRow, now: Date): Promise<void> {
  const again = new Date(now.getTime() + studentExportRules.unrecordedMs);
  await recordDroppedObject(tx, { clubId: row.clubId, key: objectKeyOf(row), again }, now);
}

const perRound = 100;

/**
 * Marks one batch of exports as expired, with their files due for erasure, and deletes one batch of old rows. Repeated or simultaneous
 * calls do no harm.
 */
export async function retainExports(
  db: Database,
  now: Date,
): Promise<{ rows: { exportsExpired: number; exportsRemoved: number }; more: boolean }> {
  const expired = await db.transaction(async (tx) => {
    const rows = await tx.rows<FileRow>(sql`
      UPDATE student_exports SET status = 'expired' WHERE id IN (
        SELECT id FROM student_exports WHERE status = 'ready' AND expires_at <= ${now}
         ORDER BY expires_at LIMIT ${perRound} FOR UPDATE SKIP LOCKED)
      RETURNING id, club_id AS "clubId", student_id AS "studentId", coalesce(file_fence, fence) AS fence`);
    for (const row of rows) await eraseFile(tx, row, now);
    return rows.length;
  });
  const before = new Date(now.getTime() - studentExportRules.rowMs);
  const removed = await db.run(sql`
    DELETE FROM student_exports WHERE id IN (
      SELECT id FROM student_exports WHERE looks_at IS NULL AND created_at <= ${before} AND status <> 'ready'
       ORDER BY created_at LIMIT ${perRound} FOR UPDATE SKIP LOCKED)`);
  return {
    rows: { exportsExpired: expired, exportsRemoved: removed },
    more: expired === perRound || removed === perRound,
  };
}
