/**
 * Subtitles of the library's videos and sounds. The service stores subtitles as WebVTT for players. Agents read the subtitles with their
 * times (MED-33).
 */
import { Readable } from 'node:stream';
import { MediaTrack } from '../../../entities/media/media-track.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import { keyPrefix } from '../../../platform/infra/store/object-store.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import {
  BadSubtitles,
  parseSubtitles,
  toWebVtt,
  type SubtitleProblem,
} from '../../knowledge/extraction/text/subtitles.policy.ts';
import { syncSources } from '../../knowledge/sources.ts';
import { recordLeftover } from '../erasure/leftovers.ts';
import { mediaRules } from '../media.policy.ts';
import { presentTrack, trackType, type MediaDeps } from '../media.ts';

/** Identifies a track by its file and its language. */
export interface TrackName {
  clubId: Id;
  mediaId: Id;
  /** The language: a BCP 47 tag in any form. */
  language: string;
}

/**
 * Adds or replaces the subtitles of a language. All checks run before the object is stored. The object is first recorded for erasure, and
 * this record is deleted when the row names the object. So if the process dies before it writes the row, maintenance erases the object.
 * @throws DomainError not_found, invalid_file (the file is not a ready video or sound), invalid_request (the language, the label or a line
 *   of the file is invalid), too_many_tracks
 */
export async function putTrack(
  { db, storage }: MediaDeps,
  { clubId, mediaId, language: tag }: TrackName,
  { content, label, kind = 'subtitles' }: RecordOf<'MediaTrackChange'>,
  now: Date,
): Promise<RecordOf<'MediaTrack'>> {
  const language = canonicalLanguage(tag);
  if (label !== undefined && !hasVisible(label)) throw new DomainError('invalid_request', 'label must have a letter.');
  const key = `${keyPrefix.private}${clubId}/${newId()}`;
  const bytes = await db.transaction(async (tx) => {
    const { durationMs } = await lockPlayed(tx, clubId, mediaId);
    const vtt = Buffer.from(webVttOf(content, durationMs), 'utf8');
    await findWithRoom(tx, mediaId, language);
    await recordLeftover(tx, { clubId, key, erasesAt: new Date(now.getTime() + mediaRules.completionMs) });
    return vtt;
  });
  await storage.put(key, trackType, Readable.from([bytes]));
  const row = {
    mediaId,
    language,
    clubId,
    kind,
    label: label ? tidyName(label) : nameOf(language),
    objectKey: key,
    sizeBytes: bytes.length,
    madeBy: 'upload' as const,
    updatedAt: now,
  };
  return db.transaction(async (tx) => {
    await lockPlayed(tx, clubId, mediaId);
    const before = await findWithRoom(tx, mediaId, language);
    if (before) await tx.manager.update(MediaTrack, { mediaId, language }, row);
    else await tx.manager.insert(MediaTrack, { ...row, createdAt: now });
    await tx.run(sql`DELETE FROM leftover_objects WHERE object_key = ${key}`);
    await syncSources(tx, clubId, { mediaIds: [mediaId], contentChanged: true }, now);
    return presentTrack({ language, kind, label: row.label, key, madeBy: 'upload' }, storage);
  });
}

/** @throws DomainError not_found */
export async function removeTrack({ db }: Pick<MediaDeps, 'db'>, name: TrackName, now: Date): Promise<void> {
  const { clubId, mediaId } = name;
  const language = canonicalLanguage(name.language);
  await db.transaction(async (tx) => {
    await lockPlayed(tx, clubId, mediaId);
    const { affected } = await tx.manager.delete(MediaTrack, { mediaId, language });
    if (affected === 0) throw notFound('track');
    await syncSources(tx, clubId, { mediaIds: [mediaId], contentChanged: true }, now);
  });
}

/**
 * @returns the file's track in this language. If the file has no such track and may still get one, the result is undefined
 * @throws DomainError too_many_tracks
 */
export async function findWithRoom(tx: Transaction, mediaId: Id, language: string): Promise<MediaTrack | undefined> {
  const tracks = await tx.manager.findBy(MediaTrack, { mediaId });
  const track = tracks.find((candidate) => candidate.language === language);
  if (!track && tracks.length >= mediaRules.maxTracks)
    throw new DomainError(
      'too_many_tracks',
      `A file has at most ${mediaRules.maxTracks} tracks. Remove a track first.`,
    );
  return track;
}

/** Locks a video or sound of the library for a change. @throws DomainError not_found, invalid_file */
export async function lockPlayed(tx: Transaction, clubId: Id, mediaId: Id): Promise<{ durationMs: number | null }> {
  const file = await tx.one<{ isPlayed: boolean; durationMs: number | null }>(
    sql`SELECT duration_ms::float8 AS "durationMs", kind IN ('video', 'audio') AND status = 'ready' AND object_key IS NOT NULL AS "isPlayed" FROM media
         WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!file) throw notFound('file');
  if (!file.isPlayed) throw new DomainError('invalid_file', 'Only a ready video or sound can have subtitles.');
  return file;
}

/** @throws DomainError invalid_request */
export function canonicalLanguage(language: string): string {
  try {
    const [tag] = Intl.getCanonicalLocales(language);
    if (tag !== undefined && tag.length <= 35) return tag;
  } catch {
    // the text is not a language tag of BCP 47
  }
  throw new DomainError('invalid_request', 'language must be a language tag, such as `en` or `pt-BR`.');
}

/** @returns the language's own name, such as `português (Brasil)`; the tag if the name is unknown */
export function nameOf(language: string): string {
  return new Intl.DisplayNames([language], { type: 'language' }).of(language) ?? language;
}

const problems: Readonly<Record<SubtitleProblem, string>> = {
  no_cues: 'the file has no cue. Send WebVTT or SRT',
  too_many_cues: 'there are more than 20,000 cues',
  time_expected: 'a time is expected here, such as `00:01.000 --> 00:02.500`',
  time_invalid: 'the time is invalid. A valid time is, for example, `00:01.000 --> 00:02.500`',
  ends_before_it_begins: 'the cue ends before its start',
  out_of_order: 'the cue starts before the cue above it',
  overlapping: 'the cue starts before the end of the cue above it',
  beyond_the_end: 'the cue ends after the video or sound',
  text_too_long: 'the cue has more than 5,000 characters',
};

function webVttOf(content: string, durationMs: number | null): string {
  try {
    return toWebVtt(parseSubtitles(content, durationMs));
  } catch (error) {
    if (!(error instanceof BadSubtitles)) throw error;
    throw new DomainError('invalid_request', `content, line ${error.line}: ${problems[error.problem]}.`);
  }
}
