/** The step that moves a file to another bucket: claim, copy, record (MED-25, ENG-2). */
import { MediaMove } from '../../../entities/media/media-move.ts';
import type { MediaVisibility } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { newId } from '../../../platform/core/ids.ts';
import { defineLease, holdLease, ignoreLostLease, LeaseLost, type Claim } from '../../../platform/engine/lease.ts';
import { keyPrefix, type ObjectStore, type StoredHeaders } from '../../../platform/infra/store/object-store.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { nameAs } from '../file-name.policy.ts';
import { recordLeftover } from '../erasure/leftovers.ts';
import { movingRules } from '../processing.policy.ts';
import { publicHeaders } from '../media.ts';
import type { StepWatcher } from '../processing/step.ts';

export interface MovingDeps {
  db: Database;
  storage: ObjectStore;
  onOutcome: (outcome: MoveOutcome) => void;
  failpoint: (name: 'move_claimed' | 'move_copied' | 'move_recorded') => Promise<void>;
}

/** The visibility after the move. `gone`: the file was removed meanwhile, or the store has lost it. */
export type MoveOutcome = MediaVisibility | 'gone';

export type MoveStep = { done: true; outcome: MoveOutcome } | { done: false; at: number };

interface MovedRendition {
  key: string;
  mime: string;
}

/** The file at the time of the claim. After the copy, the row of the file is updated only if the file has not changed since the claim. */
interface MovedFile {
  objectKey: string;
  fileName: string | null;
  mime: string;
  renditions: readonly MovedRendition[];
}

interface MoveClaim extends Claim {
  clubId: Id;
  visibility: MediaVisibility;
  /** Absent if the file has the requested visibility, cannot be moved now, or no longer exists. */
  copying?: { file: MovedFile; targetKey: string };
}

const lease = defineLease(MediaMove, { open: {}, due: 'looksAt', seconds: movingRules.leaseMs / 1_000 });

/**
 * Runs one step of a move. A repeated call changes nothing if the move is finished or a worker has claimed it.
 * @param now Unix milliseconds
 * @throws any error of the store; the move can then be claimed again immediately
 */
export async function moveFile(deps: MovingDeps, mediaId: Id, now: number, watcher: StepWatcher): Promise<MoveStep> {
  const { db } = deps;
  const claim = await claimMove(db, mediaId, now);
  if (!claim) return readState(db, mediaId, now);
  await deps.failpoint('move_claimed');
  const heldLease = holdLease(db, MediaMove, claim, {
    seconds: movingRules.leaseMs / 1_000,
    everyMs: movingRules.renewalMs,
    onRenewal: () => watcher.beat('copying'),
    stop: watcher.stop,
  });
  try {
    const isThere =
      claim.copying !== undefined && (await copyAll(deps.storage, claim, claim.copying, heldLease.signal));
    await deps.failpoint('move_copied');
    await settle(db, claim, isThere, new Date(now));
  } catch (error) {
    await release(db, claim).catch(() => undefined); // if Postgres is not available, this call fails and the lease expires
    if (!heldLease.signal.aborted) ignoreLostLease(error);
  } finally {
    heldLease.release();
  }
  await deps.failpoint('move_recorded');
  const next = await readState(db, mediaId, now);
  if (next.done) deps.onOutcome(next.outcome);
  return next;
}

/**
 * Claims the move. A worker with an earlier claim may still be writing its copy. So that copy is erased later, when no process can write it
 * any more.
 */
async function claimMove(db: Database, mediaId: Id, now: number): Promise<MoveClaim | undefined> {
  return db.transaction(async (tx) => {
    const claimed = await lease.claim<Claim & Pick<MediaMove, 'clubId' | 'visibility' | 'targetKey'>>(
      tx,
      mediaId,
      now,
      sql`SELECT ${columns(MediaMove, ['id', 'fence', 'clubId', 'visibility', 'targetKey'])} FROM claimed`,
    );
    if (!claimed) return undefined;
    const { targetKey: earlier, ...claim } = claimed;
    if (earlier !== null) {
      const erasesAt = new Date(now + movingRules.readableMs.private);
      await recordLeftover(tx, { clubId: claim.clubId, key: earlier, erasesAt });
    }
    const file = await findMovable(tx, claim);
    const targetKey = file ? `${keyPrefix[claim.visibility]}${claim.clubId}/${newId()}` : null;
    await tx.run(sql`UPDATE media_moves SET target_key = ${targetKey} WHERE id = ${mediaId}`);
    return { ...claim, ...(file && targetKey !== null && { copying: { file, targetKey } }) };
  });
}

/** True for a ready file that is stored here and not removed. It can be moved when it is not being processed. */
const isMovable = sql`status = 'ready' AND removed_at IS NULL AND object_key IS NOT NULL`;

async function findMovable(db: Queries, { id, visibility }: Pick<MoveClaim, 'id' | 'visibility'>) {
  const file = await db.one<Omit<MovedFile, 'renditions'>>(sql`
    SELECT object_key AS "objectKey", file_name AS "fileName", coalesce(mime, 'application/octet-stream') AS mime FROM media
     WHERE id = ${id} AND ${isMovable} AND visibility <> ${visibility} AND looks_at IS NULL`);
  return file && { ...file, renditions: await renditionsOf(db, id) };
}

const renditionsOf = (db: Queries, id: Id) =>
  db.rows<MovedRendition>(
    sql`SELECT object_key AS key, mime FROM media_renditions WHERE media_id = ${id} ORDER BY object_key`,
  );

/** @returns whether the store has the file. A lost rendition is skipped */
async function copyAll(
  storage: Pick<ObjectStore, 'copy'>,
  { visibility }: MoveClaim,
  { file, targetKey }: NonNullable<MoveClaim['copying']>,
  signal: AbortSignal,
): Promise<boolean> {
  const name = file.fileName ?? '';
  const headersOf = (mime: string, downloadName: string): StoredHeaders =>
    visibility === 'public' ? publicHeaders(mime, downloadName) : { contentType: mime };
  for (const { key, mime } of file.renditions)
    await storage.copy(key, renditionAt(targetKey, file, key), headersOf(mime, nameAs(name, mime)), signal);
  return storage.copy(file.objectKey, targetKey, headersOf(file.mime, name), signal);
}

/** The new key of the file, with the suffix of the rendition's old key. */
const renditionAt = (targetKey: string, { objectKey }: MovedFile, key: string) =>
  `${targetKey}${key.slice(objectKey.length)}`;

/**
 * Switches the file to the copy, if the file did not change during the copying and the move is still requested. Otherwise, the function
 * records the copy for erasure, and the move ends or starts again. The function locks the file's row before the row of the move, in the
 * same order as requests for moves.
 * @throws LeaseLost
 */
async function settle(db: Database, claim: MoveClaim, isThere: boolean, now: Date): Promise<void> {
  const { id, fence, clubId, copying } = claim;
  await db.transaction(async (tx) => {
    const file = await tx.one<{
      visibility: MediaVisibility;
      objectKey: string;
      busy: boolean;
      uploadExpiresAt: Date | null;
    }>(sql`
      SELECT visibility, object_key AS "objectKey", looks_at IS NOT NULL AS busy, upload_expires_at AS "uploadExpiresAt" FROM media
       WHERE id = ${id} AND ${isMovable} FOR NO KEY UPDATE`);
    const move = await tx.one<Pick<MediaMove, 'visibility'>>(sql`
      SELECT visibility FROM media_moves WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL FOR UPDATE`);
    if (!move) throw new LeaseLost();
    const isRequested = file !== undefined && file.visibility !== move.visibility;
    const isSame =
      isRequested &&
      !file.busy &&
      move.visibility === claim.visibility &&
      file.objectKey === copying?.file.objectKey &&
      sameKeys(await renditionsOf(tx, id), copying.file.renditions);
    if (isSame && isThere && copying) {
      await switchTo(tx, claim, copying, now);
      const erasesAt = new Date(now.getTime() + movingRules.readableMs[file.visibility]);
      await recordLeftover(tx, { clubId, key: file.objectKey, erasesAt, uploadExpiresAt: file.uploadExpiresAt });
    } else if (copying) await recordLeftover(tx, { clubId, key: copying.targetKey, erasesAt: now });
    if (!isRequested || isSame) await tx.run(sql`DELETE FROM media_moves WHERE id = ${id}`);
    else {
      const looksAt = new Date(now.getTime() + (file.busy ? movingRules.busyMs : 0));
      await tx.run(
        sql`UPDATE media_moves SET target_key = NULL, lease_until = NULL, looks_at = ${looksAt} WHERE id = ${id}`,
      );
    }
  });
}

const sameKeys = (some: readonly { key: string }[], others: readonly { key: string }[]) =>
  some.map(({ key }) => key).join() === others.map(({ key }) => key).join();

/** Changes the keys of the file and its renditions. The columns of the upload become null, because the new key has no upload address. */
async function switchTo(
  tx: Transaction,
  { id, visibility }: MoveClaim,
  { file, targetKey }: NonNullable<MoveClaim['copying']>,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    UPDATE media SET object_key = ${targetKey}, visibility = ${visibility}, upload_expires_at = NULL, address_bytes = NULL, updated_at = ${now} WHERE id = ${id}`);
  for (const { key } of file.renditions)
    await tx.run(sql`
      UPDATE media_renditions SET object_key = ${renditionAt(targetKey, file, key)} WHERE media_id = ${id} AND object_key = ${key}`);
}

/** Releases an interrupted claim. The next claim records its copy for erasure. */
async function release(db: Queries, { id, fence }: Claim): Promise<void> {
  await db.run(
    sql`UPDATE media_moves SET lease_until = NULL WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`,
  );
}

async function readState(db: Queries, mediaId: Id, now: number): Promise<MoveStep> {
  const row = await db.one<{ visibility: MediaVisibility; exists: boolean; at: Date | null }>(sql`
    SELECT media.visibility, ${isMovable} AS exists, greatest(move.looks_at, move.lease_until) AS at
      FROM media LEFT JOIN media_moves move ON move.id = media.id WHERE media.id = ${mediaId}`);
  if (row?.at) return { done: false, at: Math.max(now, row.at.getTime()) };
  return { done: true, outcome: row?.exists ? row.visibility : 'gone' };
}
