/** The step of a file that has arrived: claim, find out what it is, record (MED-16, ENG-2). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { MediaKind, MediaStatus, RenditionRole } from '../../../entities/media/values.ts';
import { eraseFile } from '../erasure/erasure.ts';
import type { FoundFile } from '../formats/file-content.ts';
import {
  examinationVersion,
  getsMp4,
  isReadAtOnce,
  keptPictureBox,
  processingRules,
  renditionBoxes,
  videoRules,
  type MediaError,
} from '../media.policy.ts';
import { claimFile, holdFile, putOff, releaseFile, type FileClaim } from './claims.ts';
import { contentsOf, inMemory, StoreAway, type Contents } from './contents.ts';
import { anotherSize, digestWhole } from './digest.ts';
import { emptyOriginal, hasPicture, keepPicture } from './kept-picture.ts';
import type { FileReaders } from './readers.ts';
import { recordFailure, recordGivenUp, recordMissing, recordReady, recordWait } from './record.ts';
import { forgetOthers, forgetOwn, makeMailRendition, makePage, makeRenditions, type Made } from './renditions.ts';
import { makeVideo, type VideoDeps, type VideoWait } from './video.ts';

export interface ProcessingDeps {
  db: Database;
  storage: ObjectStore;
  readers: FileReaders;
  /** Told of each fault of ours, with which a file is tried again, and how each file ended. */
  onFault: (error: unknown) => void;
  onOutcome: (outcome: ProcessingOutcome) => void;
  video: VideoDeps;
  /** Where tests stop the process. */
  failpoint: (name: ProcessingFailpoint) => Promise<void>;
}
type ProcessingFailpoint = 'file_claimed' | 'file_identified' | 'file_rendered' | 'file_recorded';

/** `removed`: nothing of it is wanted any more. */
export type ProcessingOutcome = 'ready' | 'failed' | 'removed';

export type ProcessingStep =
  | { done: true; outcome: ProcessingOutcome; error?: MediaError }
  /** Absent `for`: another try. */
  | { done: false; at: number; faults: number; for?: ProcessingWait };

/**
 * What a file that is ready waits for: its next step (`turn`), of a video a place or room on the disk, of an image for agents the end of
 * the addresses that lead to its original.
 */
export type ProcessingWait = 'turn' | 'place' | 'disk' | 'addresses';

type Waits = ProcessingWait | undefined;

/** Whoever runs the step: hears that it lives and how far it is, and may stop it. */
export interface StepWatcher {
  beat: (progress: string) => void;
  stop: AbortSignal;
}

/**
 * Takes the file one step further: a repetition finds it done, or claimed.
 * @param now Unix milliseconds
 * @throws StoreAway, and Error where Postgres stays away; every other fault of ours, a connection that broke among them, is noted in
 *   the row, and tried again
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
  let waitsFor: Waits;
  try {
    waitsFor = await workOn(deps, claim, held.signal, tell, new Date(now));
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
    return next;
  }
  return waitsFor === undefined ? next : { ...next, for: waitsFor };
}

/** @throws StoreAway */
async function breakOff(
  deps: ProcessingDeps,
  claim: FileClaim,
  { error, isAborted }: { error: unknown; isAborted: boolean },
  now: Date,
): Promise<void> {
  if (error instanceof LeaseLost || error instanceof StoreAway || isAborted) {
    const wasOurs = await releaseFile(deps.db, claim);
    if (error instanceof StoreAway && wasOurs && !isAborted) throw error;
    // What another worker has overtaken may be emptied or gone by now, which is no fault of the store.
    if (error instanceof LeaseLost || (error instanceof StoreAway && !wasOurs)) await forgetOwn(deps, claim);
    return;
  }
  try {
    if (!(await putOff(deps.db, claim, now))) await giveUp(deps, claim, now);
  } catch (lost) {
    // Removed meanwhile, or another worker's: that its content has gone is no fault then.
    if (lost instanceof LeaseLost) return;
    deps.onFault(error);
    throw lost;
  }
  deps.onFault(error);
}

/** @throws LeaseLost, StoreAway, the signal's reason, and faults of ours */
async function workOn(
  deps: ProcessingDeps,
  claim: FileClaim,
  signal: AbortSignal,
  tell: (words: string) => void,
  now: Date,
): Promise<Waits> {
  const { db, storage } = deps;
  // Whoever tried before has died of it each time.
  if (claim.faultCount >= processingRules.maxFaults) {
    await giveUp(deps, claim, now);
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
  // A picture is read three times: to find out what it is, for its checksums, and for its renditions.
  const contents = isReadAtOnce(claim) ? await inMemory(stored, Number(claim.sizeBytes)) : stored;
  if (!contents) throw new Error('A file that has arrived is not in the store');
  const box = keptPictureBox(claim.purpose);
  if (claim.status === 'ready' && box) return keepPicture(deps, claim, contents, { box, signal, tell, now });
  if (claim.status === 'ready') return complement(deps, claim, contents, { signal, tell, now });
  tell('identification');
  const found = await deps.readers.identify(contents, claim, { signal });
  if (!found) throw new Error('A file that has arrived is not in the store');
  await deps.failpoint('file_identified');
  if ('error' in found) {
    await recordFailure(db, claim, found.error, now);
    return undefined;
  }
  if (box) return keepPicture(deps, claim, contents, { box, signal, tell, now });
  tell('checksums');
  const digest = await digestWhole(contents, claim, signal);
  tell('renditions');
  const made = await picturesOf(deps, claim, found, contents, signal);
  // A video is ready as it was uploaded: what is made of it follows in a step of its own.
  const isContinued = getsMp4({ kind: found.kind, purpose: claim.purpose });
  await forgetOthers(deps, claim, made.renditions);
  await recordReady(db, claim, { found, digest, made, isContinued }, now);
  return isContinued ? 'turn' : undefined;
}

/** What is missing of a file that is ready: its checksums, its renditions, and what newer rules find in it (MED-30). */
async function complement(
  deps: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  { signal, tell, now }: { signal: AbortSignal; tell: (words: string) => void; now: Date },
): Promise<Waits> {
  const { db } = deps;
  tell('checksums');
  const digest = claim.hasDigest ? undefined : await digestWhole(contents, claim, signal);
  const found = await foundAnew(deps, claim, contents, { signal, tell });
  const { width = null, height = null, durationMs = null } = found ?? claim;
  const file = { ...claim, width, height, durationMs };
  const isVideo = getsMp4(claim);
  tell('renditions');
  const made = !isVideo
    ? await picturesOf(deps, claim, claim, contents, signal)
    : keepsRenditions(claim, found)
      ? undefined
      : await versionsOf(deps, file, contents, { signal, tell });
  if (made === 'disk' || made === 'place') {
    const wait = made === 'disk' ? videoRules.diskWaitMs : videoRules.placeWaitMs;
    await recordWait(db, claim, { digest, at: new Date(now.getTime() + wait) });
    return made;
  }
  if (isVideo) await deps.failpoint('file_rendered');
  // Upkeep wakes it again when there may be an ffmpeg.
  const dueAt = made === 'ffmpeg' ? new Date(now.getTime() + videoRules.ffmpegWaitMs) : null;
  const recorded = made === 'ffmpeg' ? undefined : made && keepingOld(claim, made);
  await forgetOthers(deps, claim, recorded?.renditions ?? []);
  await recordMissing(db, file, { digest, made: recorded, dueAt }, now);
  return undefined;
}

/** @returns what newer rules find in a picture or a video that is ready; undefined where there are none, or they find a fault in it */
async function foundAnew(
  { readers }: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  { signal, tell }: { signal: AbortSignal; tell: (words: string) => void },
): Promise<FoundFile | undefined> {
  if (claim.examined >= examinationVersion || !['image', 'video'].includes(claim.kind)) return undefined;
  tell('identification');
  const found = await readers.identify(contents, claim, { signal });
  if (!found) throw new Error('A file that has arrived is not in the store');
  return 'error' in found || found.kind !== claim.kind ? undefined : found;
}

/** Renditions of before serve on, but those of a video with colours that its MP4 must not have. */
function keepsRenditions({ kind, purpose, renditions, examined }: FileClaim, found: FoundFile | undefined): boolean {
  const isMade = getsMp4({ kind, purpose }) ? renditions?.video !== undefined : renditions !== null;
  return isMade && examined < examinationVersion && found?.hasWideColors !== true;
}

/** What cannot be made anew stays as it was made before. */
function keepingOld({ renditions }: FileClaim, made: Made): Made {
  if (made.renditions.length > 0) return made;
  return { ...made, kept: Object.keys(renditions ?? {}) as RenditionRole[] };
}

async function versionsOf(
  { storage, video }: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  watch: { signal: AbortSignal; tell: (words: string) => void },
): Promise<Made | VideoWait> {
  const made = await makeVideo(storage, video, contents, claim, watch);
  return typeof made === 'string' ? made : { renditions: made };
}

async function picturesOf(
  deps: ProcessingDeps,
  claim: FileClaim,
  { kind, mime }: { kind: MediaKind; mime: string | null },
  contents: Contents,
  signal: AbortSignal,
): Promise<Made> {
  const isPdf = mime === 'application/pdf';
  if (!(kind === 'image' || isPdf) || claim.purpose !== 'library') return { renditions: [] };
  const made = isPdf
    ? { renditions: await makePage(deps, contents, claim, signal) }
    : await picturesOfImage(deps, claim, contents, signal);
  await deps.failpoint('file_rendered');
  return made;
}

/** The pictures for screens are made once, and so is that for e-mails; an image that was ready before has them. */
async function picturesOfImage(
  deps: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  signal: AbortSignal,
): Promise<Made> {
  const forScreens = Object.keys(renditionBoxes) as (keyof typeof renditionBoxes)[];
  const kept: RenditionRole[] = forScreens.every((role) => claim.renditions?.[role] !== undefined) ? forScreens : [];
  const renditions = kept.length > 0 ? [] : await makeRenditions(deps, contents, claim, renditionBoxes);
  if (claim.renditions?.mail) return { renditions, kept: [...kept, 'mail'], mailPicture: 'made' };
  const forMails = await makeMailRendition(deps, contents, claim, signal);
  return typeof forMails === 'string'
    ? { renditions, kept, mailPicture: forMails }
    : { renditions: [...renditions, forMails], kept, mailPicture: 'made' };
}

/** A store that answers, and has another file, is not away: it is a fault that ends after some tries. @throws StoreAway */
async function requireSameSize(contents: Pick<Contents, 'size'>, { sizeBytes }: FileClaim): Promise<void> {
  const size = await contents.size();
  if (size === undefined) throw new Error('A file that has arrived is not in the store');
  if (size !== Number(sizeBytes)) throw anotherSize();
}

/** After the last try: what is ready stays so. @throws LeaseLost, StoreAway */
async function giveUp(deps: ProcessingDeps, claim: FileClaim, now: Date): Promise<void> {
  if (claim.status !== 'ready') return recordFailure(deps.db, claim, 'inspection_failed', now);
  await forgetOthers(deps, claim, []);
  await recordGivenUp(deps.db, claim, now);
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
