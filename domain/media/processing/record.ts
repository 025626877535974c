/** Recording what came of a claim, only while it still holds (ENG-2). */
import { syncSources } from '../../knowledge/sources.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { FoundFile } from '../file-content.ts';
import { unusedUntil } from '../erasure.ts';
import type { MediaError } from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import type { Digest } from './digest.ts';
import { recordRenditions, type Rendition } from './renditions.ts';

/** The file can be delivered from now on. @throws LeaseLost */
export async function recordReady(
  db: Database,
  claim: FileClaim,
  { found, digest, renditions }: { found: FoundFile; digest: Digest; renditions: readonly Rendition[] },
  now: Date,
): Promise<void> {
  const { mime, kind, width = null, height = null, durationMs = null } = found;
  const erasesAt = unusedUntil(claim.purpose, now);
  await db.transaction(async (tx) => {
    await end(
      tx,
      claim,
      sql`status = 'ready', mime = ${mime}, kind = ${kind}, width = ${width}, height = ${height}, duration_ms = ${durationMs}, erases_at = ${erasesAt},
          ${checksums(digest)}`,
      now,
    );
    await recordRenditions(tx, claim.id, renditions, now);
    if (claim.purpose === 'library') await syncSources(tx, claim.clubId, { mediaIds: [claim.id] }, now);
  });
}

/** The file is nothing that can be delivered; it is due for erasure. @throws LeaseLost */
export async function recordFailure(db: Database, claim: FileClaim, error: MediaError, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`status = 'failed', error = ${error}, erases_at = ${now}`, now));
}

/** What was missing of a file that is ready. @throws LeaseLost */
export async function recordMissing(
  db: Database,
  claim: FileClaim,
  { digest, renditions }: { digest: Digest; renditions: readonly Rendition[] },
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await end(tx, claim, checksums(digest), now);
    await recordRenditions(tx, claim.id, renditions, now);
  });
}

/** Nothing more can be found out of a file that is ready. @throws LeaseLost */
export async function recordEnd(db: Database, claim: FileClaim, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`fault_count = fault_count`, now));
}

const checksums = ({ sha256, crc32 }: Digest): Sql => sql`sha256 = ${sha256}, crc32 = ${crc32}, fault_count = 0`;

async function end(tx: Transaction, { id, fence, status }: FileClaim, changes: Sql, now: Date): Promise<void> {
  const recorded = await tx.run(sql`
    UPDATE media SET ${changes}, looks_at = NULL, lease_until = NULL, processed_at = ${now}, updated_at = ${now}
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL AND status = ${status} AND removed_at IS NULL`);
  if (recorded === 0) throw new LeaseLost();
}
