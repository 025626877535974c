/** The step of a file that has arrived: claim, find out what it is, record (MED-16, ENG-2). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/object-store.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { MediaKind, MediaStatus } from '../../../entities/media/values.ts';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import { eraseFile } from '../erasure.ts';
import { processingRules, type MediaError } from '../media.policy.ts';
import { claimFile, holdFile, putOff, releaseFile, type FileClaim } from './claims.ts';
import { contentsOf, StoreAway, type Contents } from './contents.ts';
import { digestOf, type Digest } from './digest.ts';
import { identify } from './identification.ts';
import { recordEnd, recordFailure, recordMissing, recordReady } from './record.ts';
import { makeRenditions, renditionsPrefix, type Rendition } from './renditions.ts';

export interface ProcessingDeps {
  db: Database;
  storage: ObjectStore;
  /** Told of each fault of ours, before it is tried again, and how each file ended. */
  onFault: (error: unknown) => void;
  onOutcome: (outcome: ProcessingOutcome) => void;
  /** Where tests stop the process. */
  failpoint: (name: ProcessingFailpoint) => Promise<void>;
}
type ProcessingFailpoint = 'file_claimed' | 'file_identified' | 'file_rendered' | 'file_recorded';

/** `removed`: nothing of it is wanted any more. */
export type ProcessingOutcome = 'ready' | 'failed' | 'removed';

export type ProcessingStep =
  | { done: true; outcome: ProcessingOutcome; error?: MediaError }
  | { done: false; at: number; faults: number };

/** Whoever runs the step: hears that it lives and how far it is, and may stop it. */
export interface StepWatcher {
  beat: (progress: string) => void;
  stop: AbortSignal;
}

/**
 * Takes the file one step further: a repetition finds it done, or claimed.
 * @param now Unix milliseconds
 * @throws StoreAway, and Error where Postgres is away; every other fault of ours is noted in the row, and tried again
 */
export async function processFile(
  deps: ProcessingDeps,
  mediaId: Id,
  now: number,
  { beat, stop }: StepWatcher,
): Promise<ProcessingStep> {
  const { db } = deps;
  const claim = await claimFile(db, mediaId, now);
  if (!claim) return readState(db, mediaId, now);
  await deps.failpoint('file_claimed');
  let progress = 'about to read';
  const tell = (words: string) => {
    progress = words;
  };
  beat(progress);
  const held = holdFile(db, claim, () => beat(progress), stop);
  try {
    await workOn(deps, claim, held.signal, tell, new Date(now));
  } catch (error) {
    await breakOff(deps, claim, { error, isAborted: held.signal.aborted }, new Date(now));
  } finally {
    held.release();
  }
  await deps.failpoint('file_recorded');
  const next = await readState(db, mediaId, now);
  if (next.done) {
    // At once, where that goes: the row says that it is still to be done, and upkeep does it otherwise.
    if (next.outcome === 'failed') await eraseFile(deps, mediaId, new Date(now)).catch(() => undefined);
    deps.onOutcome(next.outcome);
  }
  return next;
}

/** @throws StoreAway */
async function breakOff(
  deps: ProcessingDeps,
  claim: FileClaim,
  { error, isAborted }: { error: unknown; isAborted: boolean },
  now: Date,
): Promise<void> {
  if (error instanceof LeaseLost || isAborted) return releaseFile(deps.db, claim);
  if (error instanceof StoreAway) {
    await releaseFile(deps.db, claim);
    throw error;
  }
  deps.onFault(error);
  try {
    if (!(await putOff(deps.db, claim, now))) await giveUp(deps.db, claim, now);
  } catch (lost) {
    if (!(lost instanceof LeaseLost)) throw lost;
  }
}

/** @throws LeaseLost, StoreAway, the signal's reason, and faults of ours */
async function workOn(
  deps: ProcessingDeps,
  claim: FileClaim,
  signal: AbortSignal,
  tell: (words: string) => void,
  now: Date,
): Promise<void> {
  const { db, storage } = deps;
  // Whoever tried before has died of it each time.
  if (claim.faultCount >= processingRules.maxFaults) return giveUp(db, claim, now);
  if (claim.objectKey === null) throw new LeaseLost();
  const contents = contentsOf(storage, claim.objectKey);
  if (claim.status === 'ready') {
    tell('checksums');
    const digest = await digestWhole(contents, claim, signal);
    tell('renditions');
    await recordMissing(db, claim, { digest, renditions: await renditionsOf(deps, claim, claim.kind, contents) }, now);
    return forgetOthers(deps, claim);
  }
  tell('identification');
  const found = await identify(contents, claim, { signal });
  if (!found) throw new Error('A file that has arrived is not in the store');
  await deps.failpoint('file_identified');
  if ('error' in found) return recordFailure(db, claim, found.error, now);
  tell('checksums');
  const digest = await digestWhole(contents, claim, signal);
  tell('renditions');
  const renditions = await renditionsOf(deps, claim, found.kind, contents);
  await recordReady(db, claim, { found, digest, renditions }, now);
  await forgetOthers(deps, claim);
}

/** Images for agents are shown as they are. */
async function renditionsOf(
  { storage, failpoint }: ProcessingDeps,
  claim: FileClaim,
  kind: MediaKind,
  contents: Contents,
): Promise<Rendition[]> {
  if (kind !== 'image' || claim.purpose !== 'library') return [];
  const made = await makeRenditions(storage, contents, claim);
  await failpoint('file_rendered');
  return made;
}

/** Erases what claims before this one have made and not recorded, as far as the store can be reached. */
async function forgetOthers({ db, storage }: ProcessingDeps, { id, objectKey, fence }: FileClaim): Promise<void> {
  if (fence === 1 || objectKey === null) return;
  const kept = await db.manager.findBy(MediaRendition, { mediaId: id });
  const keys = kept.map((rendition) => rendition.objectKey);
  await storage.removeUnder(renditionsPrefix(objectKey), keys).catch(() => undefined);
}

async function digestWhole(contents: Contents, claim: FileClaim, signal: AbortSignal): Promise<Digest> {
  const bytes = await contents.stream(signal);
  if (!bytes) throw new Error('A file that has arrived is not in the store');
  const digest = await digestOf(bytes);
  if (digest.sizeBytes !== Number(claim.sizeBytes)) throw new StoreAway('The store gave another number of bytes');
  return digest;
}

/** After the last try: what is ready stays so. @throws LeaseLost */
function giveUp(db: Database, claim: FileClaim, now: Date): Promise<void> {
  return claim.status === 'ready' ? recordEnd(db, claim, now) : recordFailure(db, claim, 'inspection_failed', now);
}

/** What the row says now, whichever worker wrote it. */
async function readState(db: Database, mediaId: Id, now: number): Promise<ProcessingStep> {
  const row = await db.one<{ at: Date | null; status: MediaStatus; error: MediaError | null; faults: number }>(sql`
    SELECT CASE WHEN looks_at IS NOT NULL THEN greatest(looks_at, lease_until) END AS at, status, error, fault_count AS faults
      FROM media WHERE id = ${mediaId} AND removed_at IS NULL`);
  if (!row) return { done: true, outcome: 'removed' };
  if (row.at !== null) return { done: false, at: Math.max(row.at.getTime(), now), faults: row.faults };
  if (row.error !== null) return { done: true, outcome: 'failed', error: row.error };
  return { done: true, outcome: row.status === 'ready' ? 'ready' : 'removed' };
}
