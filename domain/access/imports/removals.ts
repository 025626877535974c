/** Students removed during an import, who must not be recreated: their addresses are noted with it. */
import { openImportStatuses } from '../../../entities/access/values.ts';
import { StudentImportAddress } from '../../../entities/access/student-import-address.ts';
import { addressKeyOf } from '../../../platform/infra/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/vault.ts';

/**
 * Notes an address that a student leaves behind, by a removal or a correction, with every import of the club that may still
 * come to it. The student's row is held by the caller: a batch with the address was recorded before, or finds the note.
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

/** @returns whether an address is one that was noted with the import and whose student is removed by now */
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

/** What an import says of its file in words of others: a file may be named after a person, and so may what stands for a column. */
const wordsOfFile = sql`file_name = NULL, ignored_columns = '{}'`;

/** Of an import that has ended: it was canceled or has failed before its last row. */
const isReadInPart = sql`status <> 'completed'`;

/**
 * For an import that has ended: nobody asks for the addresses any more. A file that had a removed student loses its words, and so does
 * one that was not read to its end while a student was removed: nobody knows whom its other rows name.
 */
export async function forgetAddresses(db: Queries, importId: Id): Promise<void> {
  await db.run(sql`
    UPDATE student_imports SET ${wordsOfFile}
     WHERE id = ${importId} AND (
       EXISTS (
         SELECT FROM student_import_rows row LEFT JOIN student_import_addresses noted USING (import_id, student_id)
          WHERE row.import_id = ${importId} AND (row.code = 'student_removed' OR noted.student_id IS NOT NULL))
       OR ${isReadInPart} AND EXISTS (SELECT FROM student_import_addresses WHERE import_id = ${importId}))`);
  await db.manager.delete(StudentImportAddress, { importId });
}

/**
 * For a student who is removed: imports that have ended forget the words of files that had them, or may have had them. An open one
 * does so when it ends ({@link noteAddressLeft}): a transaction that holds a student waits for no open import.
 */
export async function forgetFilesThatName(
  tx: Transaction,
  { clubId, studentId }: { clubId: Id; studentId: Id },
): Promise<void> {
  await tx.run(sql`
    UPDATE student_imports import SET ${wordsOfFile}
     WHERE club_id = ${clubId} AND completed_at IS NOT NULL AND (file_name IS NOT NULL OR ignored_columns <> '{}')
       AND (${isReadInPart} OR EXISTS (SELECT FROM student_import_rows row WHERE row.import_id = import.id AND row.student_id = ${studentId}))`);
}

/** Imports that a round of upkeep looks at. */
const importsARound = 100;

/** Forgets the addresses that were noted at the moment in which their import ended. */
export async function forgetAddressesLate(db: Queries): Promise<number> {
  const late = await db.rows<{ id: Id }>(sql`
    SELECT DISTINCT import.id FROM student_import_addresses noted JOIN student_imports import ON import.id = noted.import_id
     WHERE import.completed_at IS NOT NULL AND import.looks_at IS NULL LIMIT ${importsARound}`);
  for (const { id } of late) await forgetAddresses(db, id);
  return late.length;
}
