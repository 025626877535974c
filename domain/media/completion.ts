/** Uploads as they end: somebody says that the file is there, and it is inspected, once (DEC-54). */
import type { RecordOf } from '../../contract/contract.ts';
import { syncSources } from '../knowledge/sources.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { ignoreLostLease, LeaseLost } from '../../platform/engine/lease.ts';
import { eraseFile, unusedUntil } from './erasure.ts';
import type { Finding } from './file-content.ts';
import { inPlace, inspect } from './inspection.ts';
import { inspectionRules, mediaRules } from './media.policy.ts';
import { settleStorage } from './storage.ts';
import { loadMedia, mediaColumns, presentMedia, type MediaOwner, type MediaDeps, type StoredMedia } from './media.ts';

/**
 * Inspects a file that was put there, and says what it is: `ready`, or `failed` with the reason, and then it is erased. One call
 * inspects; the others, and a call that comes when too many inspections wait, get `processing`. No other file can take its place
 * meanwhile: the store lets only one be put there ({@link MediaDeps.storage}, `signPut`), and only a row that is `failed` or
 * removed already has it erased.
 * @param chargeChange called once the call is about to inspect; what it throws leaves the upload as it was
 * @throws DomainError not_found (also for somebody else's), upload_missing (no file is there yet), what `chargeChange` throws
 */
export async function completeMedia(
  deps: MediaDeps,
  owner: MediaOwner,
  mediaId: Id,
  now: Date,
  chargeChange: () => Promise<void> = async () => {},
): Promise<RecordOf<'Media'>> {
  const { db, storage } = deps;
  const stored = await findStored(db, owner, mediaId);
  if (stored.status === 'uploading' || stored.status === 'processing') {
    if (!(await hasArrived(deps, stored))) {
      // Unless it was erased meanwhile.
      if ((await findStored(db, owner, mediaId)).status === 'uploading') throw uploadMissing();
    } else if ((await inspectOnce(deps, mediaId, now, chargeChange)) === 'too many') {
      await chargeChange();
      await leave(db, mediaId, now);
    }
  }
  return presentMedia(await findStored(db, owner, mediaId), storage);
}

const uploadMissing = () =>
  new DomainError('upload_missing', 'No file has arrived yet. Put it to the address of its upload.');

async function hasArrived({ storage }: MediaDeps, { objectKey }: StoredMedia): Promise<boolean> {
  return objectKey !== null && (await storage.size(objectKey)) !== undefined;
}

/** @throws DomainError not_found */
async function findStored(db: Database, owner: MediaOwner, mediaId: Id): Promise<StoredMedia> {
  const stored = await loadMedia(db, owner, mediaId);
  if (!stored) throw notFound('file');
  return stored;
}

/** Claims the row, inspects and records, where a place is free and nobody else is at it (ENG-2). @returns whether too many wait */
async function inspectOnce(
  deps: MediaDeps,
  mediaId: Id,
  now: Date,
  chargeChange: () => Promise<void>,
): Promise<'too many' | 'done'> {
  return (
    (await inPlace(async () => {
      const claim = await claimInspection(deps.db, mediaId, now);
      if (claim) await inspectClaimed(deps, claim, now, chargeChange).catch(ignoreLostLease);
      return 'done' as const;
    })) ?? 'too many'
  );
}

/** @property was what the row returns to if the file could not be inspected by a fault of ours */
type Claim = StoredMedia & { fence: number; was: 'uploading' | 'processing'; interruptions: number };

async function inspectClaimed(
  deps: MediaDeps,
  claim: Claim,
  now: Date,
  chargeChange: () => Promise<void>,
): Promise<void> {
  const { db, storage } = deps;
  const sizeBytes = Number(claim.sizeBytes ?? 0);
  let finding: Finding | undefined = { sizeBytes, error: 'inspection_failed' };
  if (claim.interruptions <= inspectionRules.maxInterruptions) {
    try {
      await chargeChange();
      const size = claim.objectKey === null ? undefined : await storage.size(claim.objectKey);
      finding = size === undefined ? undefined : await inspect(storage, claim, size);
    } catch (error) {
      await release(db, claim).catch(() => undefined); // else the lease runs out
      throw error;
    }
  }
  if (!finding) return release(db, claim);
  const status = await record(db, claim, finding, now).catch(async (error: unknown) => {
    await release(db, claim).catch(() => undefined);
    throw error;
  });
  // At once, where that goes: the row says that it is still to be done, and upkeep does it otherwise.
  if (status === 'failed') await eraseFile(deps, claim.id, now).catch(() => undefined);
}

const isOpen = sql`removed_at IS NULL AND (status = 'uploading'
  OR status = 'processing' AND (lease_until IS NULL OR lease_until < clock_timestamp()))`;

/** A claim keeps the upload from expiring for as long as an upload may be completed. */
async function claimInspection(db: Database, mediaId: Id, now: Date): Promise<Claim | undefined> {
  const expires = new Date(now.getTime() + mediaRules.completionMs);
  return db.one<Claim>(sql`
    WITH before AS (SELECT id, status AS was, lease_until FROM media WHERE id = ${mediaId} AND ${isOpen} FOR NO KEY UPDATE)
    UPDATE media
       SET status = 'processing', fence = fence + 1, updated_at = ${now}, erases_at = greatest(erases_at, ${expires}),
           lease_until = clock_timestamp() + make_interval(secs => ${inspectionRules.leaseSeconds}),
           -- A lease that was not given back: its process died.
           interruptions = interruptions + CASE WHEN before.lease_until IS NULL THEN 0 ELSE 1 END
      FROM before WHERE media.id = before.id
 RETURNING ${mediaColumns}, media.fence, media.interruptions, before.was`);
}

async function release(db: Database, { id, fence, was }: Claim): Promise<void> {
  await db.run(sql`
    UPDATE media SET status = ${was}, lease_until = NULL WHERE id = ${id} AND fence = ${fence} AND status = 'processing'`);
}

/** Leaves the inspection to upkeep, or to the next call. */
async function leave(db: Database, mediaId: Id, now: Date): Promise<void> {
  const expires = new Date(now.getTime() + mediaRules.completionMs);
  await db.run(sql`
    UPDATE media SET status = 'processing', updated_at = ${now}, erases_at = greatest(erases_at, ${expires})
     WHERE id = ${mediaId} AND status = 'uploading' AND removed_at IS NULL`);
}

/** Files of a round of upkeep, and how long a round goes on beginning with the next: its step has a minute. */
const inspectedARound = 50;
const roundMs = 10_000;

/**
 * Inspects what was left: the process that had claimed it died, or too many inspections waited. What cannot be inspected, because
 * the store is away, comes again with the next round.
 */
export async function inspectLeft(deps: MediaDeps, now: Date): Promise<{ inspected: number; more: boolean }> {
  const left = await deps.db.rows<{ id: Id }>(sql`
    SELECT id FROM media WHERE status = 'processing' AND ${isOpen} ORDER BY updated_at LIMIT ${raw(String(inspectedARound))}`);
  const ends = performance.now() + roundMs;
  let inspected = 0;
  for (const { id } of left) {
    if (performance.now() > ends) return { inspected, more: true };
    await inspectOnce(deps, id, now, async () => {}).then(
      () => inspected++,
      () => {},
    );
  }
  return { inspected, more: inspected === inspectedARound };
}

/** Settles what the club's storage counts of it, too (MED-21). @throws LeaseLost where the row is somebody else's, or removed, or has expired */
async function record(
  db: Database,
  { id, clubId, purpose, fence }: Claim,
  finding: Finding,
  now: Date,
): Promise<'ready' | 'failed'> {
  const unknown = { error: null, mime: null, kind: null, width: null, height: null };
  const { sizeBytes, mime, kind, width, height, error: found } = { ...unknown, ...finding };
  return db.transaction(async (tx) => {
    const claimed = sql`id = ${id} AND fence = ${fence} AND status = 'processing' AND removed_at IS NULL`;
    if (!(await tx.one(sql`SELECT FROM media WHERE ${claimed} FOR NO KEY UPDATE`))) throw new LeaseLost();
    const fits = found !== null || (await settleStorage(tx, { id, clubId }, sizeBytes, now));
    const error = fits ? found : 'storage_full';
    const status = error === null ? 'ready' : 'failed';
    const erasesAt = status === 'failed' ? now : unusedUntil(purpose, now);
    await tx.run(sql`
      UPDATE media
         SET status = ${status}, error = ${error}, size_bytes = ${fits ? sizeBytes : null}, mime = coalesce(${mime}, mime),
             kind = coalesce(${kind}, kind), width = ${width}, height = ${height}, updated_at = ${now},
             lease_until = NULL, erases_at = ${erasesAt}
       WHERE ${claimed}`);
    if (purpose === 'library') await syncSources(tx, clubId, { mediaIds: [id] }, now);
    return status;
  });
}
