/** Recording what came of a claim, only while it still holds (ENG-2). */
import { syncSources } from '../../knowledge/sources.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { FoundFile } from '../formats/file-content.ts';
import { replaceAvatar } from '../purposes/avatars.ts';
import { unusedUntil } from '../erasure/erasure.ts';
import { leaveBehind } from '../erasure/leftovers.ts';
import { examinationVersion, movingRules, type MediaError } from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import type { Digest } from './digest.ts';
import { recordRenditions, type Made, type Rendition } from './renditions.ts';

/** The file can be delivered from now on. Where its processing is continued, another step is due at once. @throws LeaseLost */
export async function recordReady(
  db: Database,
  claim: FileClaim,
  { found, digest, made, isContinued }: { found: FoundFile; digest: Digest; made: Made; isContinued: boolean },
  now: Date,
): Promise<void> {
  const { sizeBytes, mime, kind, width = null, height = null, durationMs = null } = found;
  const erasesAt = unusedUntil(claim.purpose, now);
  await db.transaction(async (tx) => {
    if (claim.purpose === 'avatar') await replaceAvatarBy(tx, claim, made.renditions, now);
    await end(
      tx,
      claim,
      sql`status = 'ready', size_bytes = ${sizeBytes}, mime = ${mime}, kind = ${kind}, width = ${width}, height = ${height}, duration_ms = ${durationMs}, erases_at = ${erasesAt},
          ${mailPictureOf(made)}, ${checksums(digest)}`,
      now,
      { continuesAt: isContinued ? now : null },
    );
    await recordRenditions(tx, claim.id, made, now);
    if (claim.purpose === 'library') await syncSources(tx, claim.clubId, { mediaIds: [claim.id] }, now);
  });
}

async function replaceAvatarBy(
  tx: Transaction,
  { id, ownerId }: FileClaim,
  [picture]: readonly Rendition[],
  now: Date,
): Promise<void> {
  if (ownerId === null || picture === undefined)
    throw new Error('A picture of a student has an owner, and is a rendition');
  await replaceAvatar(tx, { studentId: ownerId, mediaId: id, key: picture.key }, now);
}

/** The file is nothing that can be delivered; it is due for erasure. @throws LeaseLost */
export async function recordFailure(db: Database, claim: FileClaim, error: MediaError, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`status = 'failed', error = ${error}, erases_at = ${now}`, now));
}

/** An image for agents that was ready as it was uploaded is the picture from now on; when it goes, stays. @throws LeaseLost */
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
 * What was missing of a file that is ready. Renditions that others replace stay until nobody can have an address of them (MED-27).
 * @param claim with the size and the length that were found last
 * @param made absent: the renditions that there are stay
 * @param dueAt when renditions that are still missing are due; until then it is not examined by newer rules
 * @throws LeaseLost
 */
export async function recordMissing(
  db: Database,
  claim: FileClaim,
  {
    digest,
    made,
    dueAt,
  }: {
    digest: Digest | undefined;
    made?: Made | undefined;
    dueAt: Date | null;
  },
  now: Date,
): Promise<void> {
  const { width, height, durationMs } = claim;
  const examined = dueAt === null ? sql`${examinationVersion}` : sql`examined`;
  await db.transaction(async (tx) => {
    const mailPicture = made ? sql`, ${mailPictureOf(made)}` : sql``;
    const changes = sql`${checksums(digest)}, renditions_due_at = ${dueAt}, width = ${width}, height = ${height}, duration_ms = ${durationMs} ${mailPicture}`;
    await end(tx, claim, changes, now, { examined });
    if (!made) return;
    const erasesAt = new Date(now.getTime() + movingRules.readableMs[claim.visibility]);
    for (const [role, { key }] of Object.entries(claim.renditions ?? {}))
      if (!made.kept?.some((one) => one === role)) await leaveBehind(tx, { clubId: claim.clubId, key, erasesAt });
    await recordRenditions(tx, claim.id, made, now);
  });
}

/** A file that is ready must wait before more can be made of it; that is no fault. @throws LeaseLost */
export async function recordWait(
  db: Database,
  { id, fence }: FileClaim,
  { digest, at }: { digest: Digest | undefined; at: Date },
): Promise<void> {
  const recorded = await db.run(sql`
    UPDATE media SET ${checksums(digest)}, looks_at = ${at}, lease_until = NULL
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`);
  if (recorded === 0) throw new LeaseLost();
}

/**
 * A file that is ready stays as it is after the last try. Of an image of the library there is no picture for e-mails then, unless it
 * has one.
 * @throws LeaseLost
 */
export async function recordGivenUp(db: Database, claim: FileClaim, now: Date): Promise<void> {
  const mailPicture = sql`CASE WHEN purpose = 'library' AND kind = 'image' THEN coalesce(mail_picture, 'image_unreadable') END`;
  await db.transaction((tx) => end(tx, claim, sql`renditions_due_at = NULL, mail_picture = ${mailPicture}`, now));
}

/** Nothing more can be found out of a file that is ready. @throws LeaseLost */
export async function recordEnd(db: Database, claim: FileClaim, now: Date): Promise<void> {
  await db.transaction((tx) => end(tx, claim, sql`renditions_due_at = NULL`, now));
}

const mailPictureOf = ({ mailPicture }: Made): Sql => sql`mail_picture = ${mailPicture ?? null}`;

const checksums = (digest: Digest | undefined): Sql =>
  digest ? sql`sha256 = ${digest.sha256}, crc32 = ${digest.crc32}, fault_count = 0` : sql`fault_count = 0`;

/**
 * @param options.continuesAt when another step is due; null where none is
 * @param options.examined by which rules the file is examined once no step is due
 */
async function end(
  tx: Transaction,
  { id, clubId, fence, status }: FileClaim,
  changes: Sql,
  now: Date,
  { continuesAt = null, examined = sql`${examinationVersion}` }: { continuesAt?: Date | null; examined?: Sql } = {},
): Promise<void> {
  const ended = continuesAt === null ? sql`processed_at = ${now}, examined = ${examined}` : sql`processed_at = NULL`;
  const recorded = await tx.run(sql`
    UPDATE media SET ${changes}, looks_at = ${continuesAt}, lease_until = NULL, ${ended}, updated_at = ${now}
     WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL AND status = ${status} AND removed_at IS NULL`);
  if (recorded === 0) throw new LeaseLost();
  if (continuesAt === null) await wakeMove(tx, { id, clubId }, now);
}

/** A move waits while the file is processed (MED-25). It holds the file as this transaction does, so one of them sees the other. */
async function wakeMove(tx: Transaction, file: { id: Id; clubId: Id }, now: Date): Promise<void> {
  const waiting = await tx.run(sql`
    UPDATE media_moves SET looks_at = least(looks_at, ${now}) WHERE id = ${file.id}`);
  if (waiting > 0) await wake(tx, 'mediaMove', [file], now);
}
