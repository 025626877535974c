/** Fills in missing keyed hashes of students' addresses. */
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';

/** Hashing the addresses of a batch takes some tens of milliseconds. */
const batch = 1_000;

/**
 * Computes the missing keyed hashes of addresses (`email_key`) for one batch of students. If an address is corrected at the same time, the
 * student keeps the hash that the correction has written.
 * @returns the number of students who got a hash, and whether more students may need one
 */
export async function fillEmailKeys({ db, vault }: VaultDeps): Promise<{ filled: number; more: boolean }> {
  const students = await db.rows<{ id: Id; email: string }>(
    sql`SELECT id, email FROM students WHERE email_key IS NULL AND email IS NOT NULL ORDER BY id LIMIT ${batch}`,
  );
  const filled = await db.run(sql`UPDATE students SET email_key = found.key
    FROM unnest(${students.map(({ id }) => id)}::uuid[], ${students.map(({ email }) => email)}::text[],
                ${students.map(({ email }) => addressKeyOf(vault, email))}::bytea[]) AS found (id, email, key)
   WHERE students.id = found.id AND students.email = found.email AND students.email_key IS NULL`);
  return { filled, more: students.length === batch };
}
