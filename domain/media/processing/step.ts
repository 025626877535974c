/** The step that processes an uploaded file: claim, identify, record (MED-16, ENG-2). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { MediaKind, MediaStatus, RenditionRole } from '../../../entities/media/values.ts';
import { eraseFile } from '../erasure/erasure.ts';
import type { IdentifiedFile } from '../formats/file-content.ts';
import { isReadWhole, type MediaError } from '../media.policy.ts';
import {
  examinationVersion,
  getsMp4,
  keptPictureBox,
  processingRules,
  renditionBoxes,
  videoRules,
} from '../processing.policy.ts';
import { claimFile, holdFile, deferFile, releaseFile, type FileClaim } from './claims.ts';
import { contentsOf, inMemory, StoreAway, type Contents } from './contents.ts';
import { anotherSize, digestWhole } from './digest.ts';
import { emptyOriginal, hasPicture, keepPicture } from './kept-picture.ts';
import type { FileReaders } from './readers.ts';
import { recordFailure, recordAbandoned, recordMissing, recordReady, recordWait } from './record.ts';
import {
  eraseUnrecorded,
  eraseOwn,
  makeMailRendition,
  makePage,
  makeRenditions,
  type RenditionResult,
} from './renditions.ts';
import { makeVideo, type VideoDeps, type VideoWait } from './video.ts';

export interface ProcessingDeps {
  db: Database;
  storage: ObjectStore;
  readers: FileReaders;
  /** Receives each error that the file did not cause. The step then tries the file again. */
  onFault: (error: unknown) => void;
  onOutcome: (outcome: ProcessingOutcome) => void;
  video: VideoDeps;
  failpoint: (name: ProcessingFailpoint) => Promise<void>;
}
type ProcessingFailpoint = 'file_claimed' | 'file_identified' | 'file_rendered' | 'file_recorded';

/** `removed`: the file was removed during the step. */
export type ProcessingOutcome = 'ready' | 'failed' | 'removed';

export type ProcessingStep =
  | { done: true; outcome: ProcessingOutcome; error?: MediaError }
  /** Without `for`, the file waits for its next try. */
  | { done: false; at: number; faults: number; for?: ProcessingWait };

/**
 * The reason why a ready file waits. `turn`: the file waits for its next step. `place`: the video waits for a free permit. `disk`: the disk
 * has too little room for the video. `addresses`: the signed addresses of an agent image's original have not expired yet.
 */
export type ProcessingWait = 'turn' | 'place' | 'disk' | 'addresses';

type Waits = ProcessingWait | undefined;

/** The step sends heartbeats with its progress, and the caller may stop it. */
export interface StepWatcher {
  beat: (progress: string) => void;
  stop: AbortSignal;
}

/**
 * Runs one step for the file. A repeated call changes nothing if the step is finished, or if a worker has claimed it.
 * @param now Unix milliseconds
 * @throws StoreAway; Error if Postgres is not available for a long time. Any other fault, such as a broken connection, is recorded in the
 *   row and tried again
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
  const lease = holdFile(db, claim, () => beat(progress), stop);
  let waitsFor: Waits;
  try {
    waitsFor = await workOn(deps, claim, lease.signal, tell, new Date(now));
  } catch (error) {
    await handleError(deps, claim, { error, isAborted: lease.signal.aborted }, new Date(now));
  } finally {
    lease.release();
  }
  await deps.failpoint('file_recorded');
  const next = await readState(db, mediaId, now);
  if (next.done) {
    // If this fails, the row stays due, and upkeep erases the file.
    if (next.outcome === 'failed') await eraseFile(deps, mediaId, new Date(now)).catch(() => undefined);
    deps.onOutcome(next.outcome);
    return next;
  }
  return waitsFor === undefined ? next : { ...next, for: waitsFor };
}

/** @throws StoreAway */
async function handleError(
  deps: ProcessingDeps,
  claim: FileClaim,
  { error, isAborted }: { error: unknown; isAborted: boolean },
  now: Date,
): Promise<void> {
  if (error instanceof LeaseLost || error instanceof StoreAway || isAborted) {
    const wasOurs = await releaseFile(deps.db, claim);
    if (error instanceof StoreAway && wasOurs && !isAborted) throw error;
    // Another worker that has claimed the file may have emptied or removed its object. So a missing object is no fault of the store.
    if (error instanceof LeaseLost || (error instanceof StoreAway && !wasOurs)) await eraseOwn(deps, claim);
    return;
  }
  try {
    if (!(await deferFile(deps.db, claim, now))) await abandon(deps, claim, now);
  } catch (recordError) {
    // The file was removed or claimed by another worker, so its missing content is no fault.
    if (recordError instanceof LeaseLost) return;
    deps.onFault(error);
    throw recordError;
  }
  deps.onFault(error);
}

/** @throws LeaseLost, StoreAway, the signal's reason, or an internal error */
async function workOn(
  deps: ProcessingDeps,
  claim: FileClaim,
  signal: AbortSignal,
  tell: (words: string) => void,
  now: Date,
): Promise<Waits> {
  const { db, storage } = deps;
  // The process died in all earlier tries.
  if (claim.faultCount >= processingRules.maxFaults) {
    await abandon(deps, claim, now);
    return undefined;
  }
  if (claim.objectKey === null) throw new LeaseLost();
  const stored = contentsOf(storage, claim.objectKey);
  if (claim.status === 'ready' && hasPicture(claim)) {
    tell('emptying the original');
    await emptyOriginal(deps, claim, now);
    return undefined;
  }
  await requireSameSize(stored, claim);
  // An image stays in memory, because it is read three times: for the identification, the checksums and the renditions.
  const contents = isReadWhole(claim) ? await inMemory(stored, Number(claim.sizeBytes)) : stored;
  if (!contents) throw new Error('The object of an uploaded file is missing in the store');
  const box = keptPictureBox(claim.purpose);
  if (claim.status === 'ready' && box) return keepPicture(deps, claim, contents, { box, signal, tell, now });
  if (claim.status === 'ready') return complement(deps, claim, contents, { signal, tell, now });
  tell('identification');
  const finding = await deps.readers.identify(contents, claim, { signal });
  if (!finding) throw new Error('The object of an uploaded file is missing in the store');
  await deps.failpoint('file_identified');
  if ('error' in finding) {
    await recordFailure(db, claim, finding.error, now);
    return undefined;
  }
  if (box) return keepPicture(deps, claim, contents, { box, signal, tell, now });
  tell('checksums');
  const digest = await digestWhole(contents, claim, signal);
  tell('renditions');
  const result = await picturesOf(deps, claim, finding, contents, signal);
  // A video is ready without renditions. A later step makes the renditions.
  const isContinued = getsMp4({ kind: finding.kind, purpose: claim.purpose });
  await eraseUnrecorded(deps, claim, result.renditions);
  await recordReady(db, claim, { file: finding, digest, result, isContinued }, now);
  return isContinued ? 'turn' : undefined;
}

/** Adds what a ready file lacks: checksums, renditions, and the results of newer rules (MED-30). */
async function complement(
  deps: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  { signal, tell, now }: { signal: AbortSignal; tell: (words: string) => void; now: Date },
): Promise<Waits> {
  const { db } = deps;
  tell('checksums');
  const digest = claim.hasDigest ? undefined : await digestWhole(contents, claim, signal);
  const finding = await reexamine(deps, claim, contents, { signal, tell });
  const { width = null, height = null, durationMs = null } = finding ?? claim;
  const file = { ...claim, width, height, durationMs };
  const isVideo = getsMp4(claim);
  tell('renditions');
  const outcome = !isVideo
    ? await picturesOf(deps, claim, claim, contents, signal)
    : keepsRenditions(claim, finding)
      ? undefined
      : await videoRenditionsOf(deps, file, contents, { signal, tell });
  if (outcome === 'disk' || outcome === 'place') {
    const wait = outcome === 'disk' ? videoRules.diskWaitMs : videoRules.permitWaitMs;
    await recordWait(db, claim, { digest, at: new Date(now.getTime() + wait) });
    return outcome;
  }
  if (isVideo) await deps.failpoint('file_rendered');
  // Upkeep wakes the file again later, because ffmpeg may then be available.
  const dueAt = outcome === 'ffmpeg' ? new Date(now.getTime() + videoRules.ffmpegWaitMs) : null;
  const result = outcome === 'ffmpeg' ? undefined : outcome && withOldRenditions(claim, outcome);
  await eraseUnrecorded(deps, claim, result?.renditions ?? []);
  await recordMissing(db, file, { digest, result, dueAt }, now);
  return undefined;
}

/**
 * @returns the result of an examination by newer rules, for a ready image or video; undefined if the file was already examined by the
 * newest rules, or if these rules refuse the file
 */
async function reexamine(
  { readers }: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  { signal, tell }: { signal: AbortSignal; tell: (words: string) => void },
): Promise<IdentifiedFile | undefined> {
  if (claim.examined >= examinationVersion || !['image', 'video'].includes(claim.kind)) return undefined;
  tell('identification');
  const finding = await readers.identify(contents, claim, { signal });
  if (!finding) throw new Error('The object of an uploaded file is missing in the store');
  return 'error' in finding || finding.kind !== claim.kind ? undefined : finding;
}

/** A video with colours that an MP4 must not have gets new renditions. */
function keepsRenditions(
  { kind, purpose, renditions, examined }: FileClaim,
  finding: IdentifiedFile | undefined,
): boolean {
  const isMade = getsMp4({ kind, purpose }) ? renditions?.video !== undefined : renditions !== null;
  return isMade && examined < examinationVersion && finding?.hasWideColors !== true;
}

/** Keeps the existing renditions if there are no new ones. */
function withOldRenditions({ renditions }: FileClaim, result: RenditionResult): RenditionResult {
  if (result.renditions.length > 0) return result;
  return { ...result, keptRoles: Object.keys(renditions ?? {}) as RenditionRole[] };
}

async function videoRenditionsOf(
  { storage, video }: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  watch: { signal: AbortSignal; tell: (words: string) => void },
): Promise<RenditionResult | VideoWait> {
  const renditions = await makeVideo(storage, video, contents, claim, watch);
  return typeof renditions === 'string' ? renditions : { renditions };
}

async function picturesOf(
  deps: ProcessingDeps,
  claim: FileClaim,
  { kind, mime }: { kind: MediaKind; mime: string | null },
  contents: Contents,
  signal: AbortSignal,
): Promise<RenditionResult> {
  const isPdf = mime === 'application/pdf';
  if (!(kind === 'image' || isPdf) || claim.purpose !== 'library') return { renditions: [] };
  const result = isPdf
    ? { renditions: await makePage(deps, contents, claim, signal) }
    : await picturesOfImage(deps, claim, contents, signal);
  await deps.failpoint('file_rendered');
  return result;
}

/** Makes the missing pictures of an image: the pictures for screens, and the picture for e-mails. Existing pictures stay. */
async function picturesOfImage(
  deps: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  signal: AbortSignal,
): Promise<RenditionResult> {
  const forScreens = Object.keys(renditionBoxes) as (keyof typeof renditionBoxes)[];
  const keptRoles: RenditionRole[] = forScreens.every((role) => claim.renditions?.[role] !== undefined)
    ? forScreens
    : [];
  const renditions = keptRoles.length > 0 ? [] : await makeRenditions(deps, contents, claim, renditionBoxes);
  if (claim.renditions?.mail) return { renditions, keptRoles: [...keptRoles, 'mail'], mailPicture: 'made' };
  const forMails = await makeMailRendition(deps, contents, claim, signal);
  return typeof forMails === 'string'
    ? { renditions, keptRoles, mailPicture: forMails }
    : { renditions: [...renditions, forMails], keptRoles, mailPicture: 'made' };
}

/**
 * A different size is a defect, and not an outage of the store, so the number of tries is limited.
 * @throws StoreAway
 */
async function requireSameSize(contents: Pick<Contents, 'size'>, { sizeBytes }: FileClaim): Promise<void> {
  const size = await contents.size();
  if (size === undefined) throw new Error('The object of an uploaded file is missing in the store');
  if (size !== Number(sizeBytes)) throw anotherSize();
}

/** Records that the last try has failed. A ready file stays ready. @throws LeaseLost, StoreAway */
async function abandon(deps: ProcessingDeps, claim: FileClaim, now: Date): Promise<void> {
  if (claim.status !== 'ready') return recordFailure(deps.db, claim, 'inspection_failed', now);
  await eraseUnrecorded(deps, claim, []);
  await recordAbandoned(deps.db, claim, now);
}

/** Any worker may have written the row. */
async function readState(db: Database, mediaId: Id, now: number): Promise<ProcessingStep> {
  const row = await db.one<{ at: Date | null; status: MediaStatus; error: MediaError | null; faults: number }>(sql`
    SELECT CASE WHEN looks_at IS NOT NULL THEN greatest(looks_at, lease_until) END AS at, status, error, fault_count AS faults
      FROM media WHERE id = ${mediaId} AND removed_at IS NULL`);
  if (!row) return { done: true, outcome: 'removed' };
  if (row.at !== null) return { done: false, at: Math.max(row.at.getTime(), now), faults: row.faults };
  if (row.error !== null) return { done: true, outcome: 'failed', error: row.error };
  return { done: true, outcome: row.status === 'ready' ? 'ready' : 'removed' };
}
