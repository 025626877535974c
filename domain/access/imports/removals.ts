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

/** For an import that has ended: nobody asks any more. */
export async function forgetAddresses(db: Queries, importId: Id): Promise<void> {
  await db.manager.delete(StudentImportAddress, { importId });
}
