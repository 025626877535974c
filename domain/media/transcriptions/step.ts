/** The step that makes subtitles from speech: claim, make, record (MED-34, ENG-2). */
import { Readable } from 'node:stream';
import { MediaTrack } from '../../../entities/media/media-track.ts';
import { MediaTranscription } from '../../../entities/media/media-transcription.ts';
import type { TranscriptionError } from '../../../entities/media/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { defineLease, holdLease, LeaseLost, type Claim } from '../../../platform/engine/lease.ts';
import { keyPrefix, type ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { syncSources } from '../../knowledge/sources.ts';
import { recordLeftover } from '../erasure/leftovers.ts';
import { mediaRules } from '../media.policy.ts';
import { trackType } from '../media.ts';
import { contentsOf } from '../processing/contents.ts';
import type { StepWatcher } from '../processing/step.ts';
import { lockPlayed, nameOf } from '../library/tracks.ts';
import type { Speech, SpeechWork, SpokenFile } from './speech.ts';
import { transcriptionRules } from './transcription.policy.ts';

export interface TranscriptionDeps {
  db: Database;
  storage: ObjectStore;
  /** Makes subtitles from the speech in a file (speech.ts). */
  makeSubtitles: (file: SpokenFile, work: SpeechWork) => Promise<Speech>;
  /** Receives each error that the file did not cause, before the next try. */
  onFault: (error: unknown) => void;
  /** Receives the outcome of each transcription, and `unavailable` whenever it must wait for the program or the disk. */
  onOutcome: (outcome: TranscriptionOutcome | 'unavailable') => void;
  failpoint: (name: 'speech_claimed' | 'speech_made' | 'speech_stored' | 'speech_recorded') => Promise<void>;
}

/** `gone`: the row no longer exists, because the subtitles were made or uploaded, or the file was removed. */
export type TranscriptionOutcome = 'gone' | 'failed';

export type TranscriptionStep =
  | { done: true; outcome: TranscriptionOutcome; error?: TranscriptionError }
  | { done: false; at: number; attempt: number };

interface SpokenClaim extends Claim {
  clubId: Id;
  language: string;
  attempts: number;
}

const { leaseMs, renewalMs } = transcriptionRules;
const lease = defineLease(MediaTranscription, {
  open: {},
  due: 'looksAt',
  seconds: leaseMs / 1_000,
  counts: 'attempts',
});

/**
 * Runs one step of a transcription. A repeated call changes nothing if the step is finished or a worker has claimed it.
 * @param now Unix milliseconds
 * @throws Error if Postgres cannot be reached; other faults are recorded in the row and tried again
 */
export async function transcribeFile(
  deps: TranscriptionDeps,
  mediaId: Id,
  now: number,
  { beat, stop }: StepWatcher,
): Promise<TranscriptionStep> {
  const { db } = deps;
  const claim = await lease.claim<SpokenClaim>(
    db,
    mediaId,
    now,
    sql`SELECT ${columns(MediaTranscription, ['id', 'fence', 'clubId', 'language', 'attempts'])} FROM claimed`,
  );
  if (!claim) return readState(db, mediaId, now);
  await deps.failpoint('speech_claimed');
  let progress = 'starting';
  const tell = (words: string) => (progress = words);
  const heldLease = holdLease(db, MediaTranscription, claim, {
    seconds: leaseMs / 1_000,
    everyMs: renewalMs,
    onRenewal: () => beat(progress),
    stop,
  });
  try {
    await workOn(deps, claim, { signal: heldLease.signal, tell, now: new Date(now) });
    await deps.failpoint('speech_recorded');
  } catch (error) {
    if (error instanceof LeaseLost || heldLease.signal.aborted) await release(db, claim, new Date(now), 0);
    else {
      deps.onFault(error);
      await release(db, claim, new Date(now + transcriptionRules.faultWaitMs), 1);
    }
  } finally {
    heldLease.release();
  }
  const next = await readState(db, mediaId, now);
  if (next.done) deps.onOutcome(next.outcome);
  return next;
}

interface Work {
  signal: AbortSignal;
  tell: (words: string) => void;
  now: Date;
}

async function workOn(deps: TranscriptionDeps, claim: SpokenClaim, work: Work): Promise<void> {
  const { db, storage } = deps;
  if (claim.attempts > transcriptionRules.attempts) return fail(db, claim, 'command_failed');
  const file = await findSpoken(db, claim);
  if (!file) return end(db, claim);
  const { objectKey, sha256, ...properties } = file;
  const spokenFile = { ...properties, language: claim.language, contents: contentsOf(storage, objectKey) };
  const speech = await deps.makeSubtitles(spokenFile, work);
  if ('error' in speech) return fail(db, claim, speech.error);
  if ('waitsFor' in speech) {
    const { programWaitMs, diskWaitMs } = transcriptionRules;
    const wait = speech.waitsFor === 'disk' ? diskWaitMs : programWaitMs;
    deps.onOutcome('unavailable');
    return release(db, claim, new Date(work.now.getTime() + wait), 0);
  }
  await deps.failpoint('speech_made');
  work.tell('storing the subtitles');
  await record(deps, claim, { vtt: speech.vtt, source: { sha256, sizeBytes: properties.sizeBytes } }, work.now);
}

interface SpokenRow {
  mime: string | null;
  objectKey: string;
  sizeBytes: number;
  sha256: Buffer | null;
  durationMs: number | null;
}

/** @returns undefined if the file was removed or an uploaded track exists */
function findSpoken(db: Queries, { id, clubId, language }: SpokenClaim): Promise<SpokenRow | undefined> {
  return db.one<SpokenRow>(sql`
    SELECT mime, object_key AS "objectKey", size_bytes::float8 AS "sizeBytes", sha256, duration_ms::float8 AS "durationMs" FROM media
     WHERE id = ${id} AND club_id = ${clubId} AND purpose = 'library' AND status = 'ready' AND removed_at IS NULL AND object_key IS NOT NULL AND size_bytes IS NOT NULL
       AND NOT EXISTS (SELECT FROM media_tracks track
                        WHERE track.media_id = media.id AND track.language = ${language} AND track.made_by = 'upload')`);
}

interface MadeSubtitles {
  vtt: Buffer;
  /** The content of the file that was transcribed. */
  source: Pick<SpokenRow, 'sha256' | 'sizeBytes'>;
}

/**
 * Stores the object, and then the row. The object is first recorded for erasure, and this record is deleted when the row names the object.
 * So if the process dies before it writes the row, maintenance erases the object. If an administrator uploads a track during the
 * transcription, the uploaded track stays. If the content of the file changes (MED-18), the transcription starts again.
 * @throws LeaseLost
 */
async function record(
  { db, storage, failpoint }: TranscriptionDeps,
  claim: SpokenClaim,
  { vtt, source }: MadeSubtitles,
  now: Date,
): Promise<void> {
  const { id: mediaId, clubId, language } = claim;
  const key = `${keyPrefix.private}${clubId}/${newId()}`;
  const erasesAt = new Date(now.getTime() + mediaRules.completionMs);
  await db.transaction((tx) => recordLeftover(tx, { clubId, key, erasesAt }));
  await storage.put(key, trackType, Readable.from([vtt]));
  await failpoint('speech_stored');
  await db.transaction(async (tx) => {
    const isThere = await isStillPlayed(tx, claim);
    if (isThere && !(await hasContent(tx, mediaId, source))) return release(tx, claim, now, 0);
    const tracks = isThere ? await tx.manager.findBy(MediaTrack, { mediaId }) : [];
    const before = tracks.find((track) => track.language === language);
    if (!before && tracks.length >= mediaRules.maxTracks) return fail(tx, claim, 'too_many_tracks');
    await end(tx, claim);
    if (!isThere || before?.madeBy === 'upload') return;
    const row = {
      kind: 'subtitles',
      madeBy: 'command',
      objectKey: key,
      sizeBytes: vtt.length,
      updatedAt: now,
    } as const;
    const name = { mediaId, language };
    if (before) await tx.manager.update(MediaTrack, name, row);
    else await tx.manager.insert(MediaTrack, { ...name, ...row, clubId, label: nameOf(language), createdAt: now });
    await tx.run(sql`DELETE FROM leftover_objects WHERE object_key = ${key}`);
    await syncSources(tx, clubId, { mediaIds: [mediaId], contentChanged: true }, now);
  });
}

/** Locks the file before its transcription, as requests do. */
async function isStillPlayed(tx: Transaction, { id, clubId }: SpokenClaim): Promise<boolean> {
  try {
    await lockPlayed(tx, clubId, id);
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
}

/** Returns whether the file still has this content. The function does not compare keys, because a file gets a new key when it is moved. */
async function hasContent(db: Queries, mediaId: Id, { sha256, sizeBytes }: MadeSubtitles['source']): Promise<boolean> {
  const file = await db.one(
    sql`SELECT FROM media WHERE id = ${mediaId} AND sha256 IS NOT DISTINCT FROM ${sha256} AND size_bytes = ${sizeBytes}`,
  );
  return file !== undefined;
}

/** @throws LeaseLost */
async function end(db: Queries, { id, fence }: Claim): Promise<void> {
  const deletedRows = await db.run(
    sql`DELETE FROM media_transcriptions WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`,
  );
  if (deletedRows === 0) throw new LeaseLost();
}

/** @throws LeaseLost */
async function fail(db: Queries, { id, fence }: Claim, error: TranscriptionError): Promise<void> {
  const changedRows = await db.run(
    sql`UPDATE media_transcriptions SET lease_until = NULL, looks_at = NULL, error_code = ${error}
         WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`,
  );
  if (changedRows === 0) throw new LeaseLost();
}

/** @param attempts 1 if the claim counts as an attempt, otherwise 0 */
async function release(db: Queries, { id, fence }: Claim, at: Date, attempts: 0 | 1): Promise<void> {
  await db.run(
    sql`UPDATE media_transcriptions SET lease_until = NULL, looks_at = ${at}, attempts = attempts - 1 + ${attempts}::int
         WHERE id = ${id} AND fence = ${fence} AND lease_until IS NOT NULL`,
  );
}

async function readState(db: Queries, mediaId: Id, now: number): Promise<TranscriptionStep> {
  const row = await db.one<{ at: Date | null; attempts: number; error: TranscriptionError | null }>(
    sql`SELECT CASE WHEN looks_at IS NOT NULL THEN greatest(looks_at, lease_until) END AS at, attempts, error_code AS error
          FROM media_transcriptions WHERE id = ${mediaId}`,
  );
  if (!row) return { done: true, outcome: 'gone' };
  if (row.error !== null) return { done: true, outcome: 'failed', error: row.error };
  return { done: false, at: Math.max(now, row.at?.getTime() ?? now), attempt: row.attempts + 1 };
}
