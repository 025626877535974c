/** Records the addresses of students who are removed during an import, so that the import does not recreate them. */
import { openImportStatuses } from '../../../entities/access/values.ts';
import { StudentImportAddress } from '../../../entities/access/student-import-address.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/**
 * Records for every open import of the club that a student has lost an address, because the student was removed or the address was
 * corrected. The caller holds the lock of the student. So a batch of the import that contains this address has either committed already, or
 * finds this record.
 */
export async function noteAddressLeft(
  tx: Transaction,
  vault: Vault,
  { clubId, studentId, email }: { clubId: Id; studentId: Id; email: string },
): Promise<void> {
  await tx.run(sql`INSERT INTO student_import_addresses (import_id, address_key, student_id)
     SELECT id, ${addressKeyOf(vault, email)}, ${studentId} FROM student_imports WHERE club_id = ${clubId} AND status = ANY (${openImportStatuses})
     ON CONFLICT DO NOTHING`);
}

/** @returns a function that says whether the student with the given address was removed during this import */
export async function readRemovedAddresses(
  tx: Transaction,
  vault: Vault,
  importId: Id,
): Promise<(foldedEmail: string) => boolean> {
  const rows = await tx.rows<{
    key: Buffer;
  }>(sql`SELECT address_key AS key FROM student_import_addresses noted JOIN students student ON student.id = noted.student_id
      WHERE noted.import_id = ${importId} AND student.removed_at IS NOT NULL`);
  const keys = new Set(rows.map(({ key }) => key.toString('hex')));
  return (email) => keys.size > 0 && keys.has(addressKeyOf(vault, email).toString('hex'));
}

/** The texts that an import stores from its file. A file name or a column name may contain the name of a person. */
const clearedTexts = sql`file_name = NULL, ignored_columns = '{}'`;

/** True if an ended import was canceled, or failed before its last row. */
const isReadInPart = sql`status <> 'completed'`;

/**
 * Runs when an import has ended, and deletes the addresses that were recorded for this import. If the file named a removed student, the
 * stored texts of the file are cleared. They are also cleared if a student was removed before the whole file was read, because the unread
 * rows may name the student.
 */
export async function forgetAddresses(db: Queries, importId: Id): Promise<void> {
  await db.run(sql`
    UPDATE student_imports SET ${clearedTexts}
     WHERE id = ${importId} AND (
       EXISTS (
         SELECT FROM student_import_rows row LEFT JOIN student_import_addresses noted USING (import_id, student_id)
          WHERE row.import_id = ${importId} AND (row.code = 'student_removed' OR noted.student_id IS NOT NULL))
       OR ${isReadInPart} AND EXISTS (SELECT FROM student_import_addresses WHERE import_id = ${importId}))`);
  await db.manager.delete(StudentImportAddress, { importId });
}

/**
 * Runs when a student is removed. It clears the texts of each ended import whose file named the student, or may have named the student. The
 * texts of an open import are cleared when the import ends ({@link noteAddressLeft}). This transaction holds the lock of a student, so it
 * does not wait for an open import.
 */
export async function forgetFilesThatName(
  tx: Transaction,
  { clubId, studentId }: { clubId: Id; studentId: Id },
): Promise<void> {
  await tx.run(sql`
    UPDATE student_imports import SET ${clearedTexts}
     WHERE club_id = ${clubId} AND completed_at IS NOT NULL AND (file_name IS NOT NULL OR ignored_columns <> '{}')
       AND (${isReadInPart} OR EXISTS (SELECT FROM student_import_rows row WHERE row.import_id = import.id AND row.student_id = ${studentId}))`);
}

const importsPerRound = 100;

/** Deletes the addresses that a removal recorded just as the import ended. */
export async function forgetAddressesLate(db: Queries): Promise<number> {
  const late = await db.rows<{ id: Id }>(sql`
    SELECT DISTINCT import.id FROM student_import_addresses noted JOIN student_imports import ON import.id = noted.import_id
     WHERE import.completed_at IS NOT NULL AND import.looks_at IS NULL LIMIT ${importsPerRound}`);
  for (const { id } of late) await forgetAddresses(db, id);
  return late.length;
}
