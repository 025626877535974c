/** Records the results of processing under a claim. A result is recorded only while the claim is valid (ENG-2). */
import { syncSources } from '../../knowledge/sources.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { IdentifiedFile } from '../formats/file-content.ts';
import { replaceAvatar } from '../purposes/avatars.ts';
import { unusedUntil } from '../erasure/erasure.ts';
import { recordLeftover } from '../erasure/leftovers.ts';
import { type MediaError } from '../media.policy.ts';
import { examinationVersion, movingRules } from '../processing.policy.ts';
import type { FileClaim } from './claims.ts';
import type { Digest } from './digest.ts';
import { recordRenditions, type RenditionResult, type Rendition } from './renditions.ts';

/** Records that the file is ready. If a further step must process the file, this step is due immediately. @throws LeaseLost */
export async function recordReady(
  db: Database,
  claim: FileClaim,
  {
    file,
    digest,
    result,
    isContinued,
  }: { file: IdentifiedFile; digest: Digest; result: RenditionResult; isContinued: boolean },
  now: Date,
): Promise<void> {
  const { sizeBytes, mime, kind, width = null, height = null, durationMs = null } = file;
  const erasesAt = unusedUntil(claim.purpose, now);
  await db.transaction(async (tx) => {
    if (claim.purpose === 'avatar') await replaceAvatarBy(tx, claim, result.renditions, now);
    await end(
      tx,
      claim,
      sql`status = 'ready', size_bytes = ${sizeBytes}, mime = ${mime}, kind = ${kind}, width = ${width}, height = ${height}, duration_ms = ${durationMs}, erases_at = ${erasesAt},
          ${mailPictureOf(result)}, ${checksums(digest)}`,
      now,
      { continuesAt: isContinued ? now : null },
    );
    await recordRenditions(tx, claim.id, result, now);
    if (claim.purpose === 'library') await syncSources(tx, claim.clubId, { mediaIds: [claim.id] }, now);
  });
}

async function replaceAvatarBy(
  tx: Transaction,
  { id, ownerId }: FileClaim,
  [picture]: readonly Rendition[],
  now: Date,
): Promise<void> {
  if (ownerId === null || picture === undefined) throw new Error(`Avatar ${id} has no owner or no picture`);
  await replaceAvatar(tx, { studentId: ownerId, mediaId: id, key: picture.key }, now);
}

/** Records that the processing has failed. The file is then due for erasure. @throws LeaseLost */
export async function recordFailure(db: Database, claim: FileClaim, error: MediaError, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`status = 'failed', error = ${error}, erases_at = ${now}`, now));
}

/**
 * Records that a picture replaces an agent image that an old release made `ready`. The image's erasure time does not change.
 * @throws LeaseLost
 */
export async function recordPicture(
  db: Database,
  claim: FileClaim,
  { digest, picture, emptiesAt }: { digest: Digest; picture: Rendition; emptiesAt: Date },
  now: Date,
): Promise<void> {
  const { sizeBytes, mime, width, height } = picture;
  await db.transaction(async (tx) => {
    await end(
      tx,
      claim,
      sql`size_bytes = ${sizeBytes}, mime = ${mime}, width = ${width}, height = ${height}, renditions_due_at = NULL, ${checksums(digest)}`,
      now,
      { continuesAt: emptiesAt },
    );
    await recordRenditions(tx, claim.id, { renditions: [picture] }, now);
  });
}

/**
 * Records the parts that were missing from a ready file. Replaced renditions stay in the bucket until their addresses have expired
 * (MED-27).
 * @param claim the claimed file, with the dimensions and the duration that the last examination found
 * @param made the new renditions; absent if the file keeps its existing renditions
 * @param dueAt the time at which the missing renditions are due. Before that time, the file is not examined again, even under newer rules
 * @throws LeaseLost
 */
export async function recordMissing(
  db: Database,
  claim: FileClaim,
  {
    digest,
    result,
    dueAt,
  }: {
    digest: Digest | undefined;
    result?: RenditionResult | undefined;
    dueAt: Date | null;
  },
  now: Date,
): Promise<void> {
  const { width, height, durationMs } = claim;
  const examined = dueAt === null ? sql`${examinationVersion}` : sql`examined`;
  await db.transaction(async (tx) => {
    const mailPicture = result ? sql`, ${mailPictureOf(result)}` : sql``;
    const changes = sql`${checksums(digest)}, renditions_due_at = ${dueAt}, width = ${width}, height = ${height}, duration_ms = ${durationMs} ${mailPicture}`;
    await end(tx, claim, changes, now, { examined });
    if (!result) return;
    const erasesAt = new Date(now.getTime() + movingRules.readableMs[claim.visibility]);
    for (const [role, { key }] of Object.entries(claim.renditions ?? {}))
      if (!result.keptRoles?.some((keptRole) => keptRole === role))
        await recordLeftover(tx, { clubId: claim.clubId, key, erasesAt });
    await recordRenditions(tx, claim.id, result, now);
  });
}

/** Records that a ready file must wait before its renditions can be made. The wait does not count as a fault. @throws LeaseLost */
export async function recordWait(
  db: Database,
  { id, fence }: FileClaim,
  { digest, at }: { digest: Digest | undefined; at: Date },
): Promise<void> {
  const changedRows = await db.run(sql`
    UPDATE media SET ${checksums(digest)}, looks_at = ${at}, lease_until = NULL
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  if (changedRows === 0) throw new LeaseLost();
}

/**
 * Records that the last try for a ready file failed. The file stays as it is. A library image without a picture for e-mails is recorded as
 * unreadable.
 * @throws LeaseLost
 */
export async function recordAbandoned(db: Database, claim: FileClaim, now: Date): Promise<void> {
  const mailPicture = sql`CASE WHEN purpose = 'library' AND kind = 'image' THEN coalesce(mail_picture, 'image_unreadable') END`;
  await db.transaction((tx) => end(tx, claim, sql`renditions_due_at = NULL, mail_picture = ${mailPicture}`, now));
}

/** Records that the processing of a ready file has ended. @throws LeaseLost */
export async function recordEnd(db: Database, claim: FileClaim, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`renditions_due_at = NULL`, now));
}

const mailPictureOf = ({ mailPicture }: RenditionResult): Sql => sql`mail_picture = ${mailPicture ?? null}`;

const checksums = (digest: Digest | undefined): Sql =>
  digest ? sql`sha256 = ${digest.sha256}, crc32 = ${digest.crc32}, fault_count = 0` : sql`fault_count = 0`;

/**
 * @param options.continuesAt when the next step is due; null at the end of the processing
 * @param options.examined the version of the rules that have now examined the file
 */
async function end(
  tx: Transaction,
  { id, clubId, fence, status }: FileClaim,
  changes: Sql,
  now: Date,
  { continuesAt = null, examined = sql`${examinationVersion}` }: { continuesAt?: Date | null; examined?: Sql } = {},
): Promise<void> {
  const processing =
    continuesAt === null ? sql`processed_at = ${now}, examined = ${examined}` : sql`processed_at = NULL`;
  const changedRows = await tx.run(sql`
    UPDATE media SET ${changes}, looks_at = ${continuesAt}, lease_until = NULL, ${processing}, updated_at = ${now}
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL AND status = ${status} AND removed_at IS NULL`);
  if (changedRows === 0) throw new LeaseLost();
  if (continuesAt === null) await wakeMove(tx, { id, clubId }, now);
}

/**
 * Wakes a move that waits for the end of the processing (MED-25). The transaction of the move locks the same file. So the later transaction
 * sees the changes of the earlier transaction.
 */
async function wakeMove(tx: Transaction, file: { id: Id; clubId: Id }, now: Date): Promise<void> {
  const waitingMoves = await tx.run(sql`
    UPDATE media_moves SET looks_at = least(looks_at, ${now}) WHERE id = ${file.id}`);
  if (waitingMoves > 0) await wake(tx, 'mediaMove', [file], now);
}
