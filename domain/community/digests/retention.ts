/** Removes digests and their mails in small batches after their retention time (COMM-18). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { digestRules } from './digests.policy.ts';

const batch = 1_000;

/** Removes a batch of expired mails of one digest. The last batch also removes the digest. */
export async function retainDigests(
  db: Database,
  now: Date,
): Promise<{ rows: { digestMails: number }; more: boolean }> {
  const endedBy = new Date(now.getTime() - digestRules.retentionMs);
  return db.transaction(async (tx) => {
    const digest = await tx.one<{ id: string }>(
      sql`SELECT id FROM space_digests WHERE ended_at <= ${endedBy} ORDER BY ended_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    );
    if (!digest) return { rows: { digestMails: 0 }, more: false };
    const removedMails = await tx.run(sql`DELETE FROM mails WHERE id IN (
      SELECT id FROM mails WHERE digest_id = ${digest.id} LIMIT ${batch} FOR UPDATE SKIP LOCKED)`);
    if (removedMails < batch) await tx.run(sql`DELETE FROM space_digests WHERE id = ${digest.id}`);
    return { rows: { digestMails: removedMails }, more: true };
  });
}
