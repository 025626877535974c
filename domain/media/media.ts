/** Reads the rows of files of a club and its students, and makes the records that callers get (MED-1). */
import { Media } from '../../entities/media/media.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Database, Queries } from '../../platform/infra/postgres/database.ts';
import { columns, raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { keyPrefix, type ObjectStore, type StoredHeaders } from '../../platform/infra/store/object-store.ts';
import { dispositionOf, nameAs } from './file-name.policy.ts';
import type {
  MediaKind,
  MediaProvider,
  MediaPurpose,
  MediaStatus,
  MediaVisibility,
  RenditionRole,
  ScreenType,
  TrackKind,
  TrackMaker,
  TranscriptionError,
} from '../../entities/media/values.ts';
import { isTextType, mayRun, type MediaError } from './media.policy.ts';
import { examinationVersion, getsMp4, isKeptAsPicture, movingRules, renditionVersion } from './processing.policy.ts';
import type { AllMediaUseRules } from './use-rules.ts';

export interface MediaDeps {
  db: Database;
  storage: ObjectStore;
}

/** The dependencies of functions that read the uses of files, or that delete files. */
export interface LibraryDeps extends MediaDeps {
  mediaUses: AllMediaUseRules;
}

/** The beginning of the keys of an administrator's pictures. */
export const ownPicturesPrefix = (administratorId: Id): string =>
  `${keyPrefix.private}administrators/${administratorId}/`;

export interface StoredMedia {
  id: Id;
  clubId: Id;
  purpose: MediaPurpose;
  kind: MediaKind;
  title: string;
  provider: MediaProvider;
  status: MediaStatus;
  visibility: MediaVisibility;
  archived: boolean;
  fileName: string | null;
  mime: string | null;
  /** The size in bytes. It is a string, because Postgres returns a bigint as text. */
  sizeBytes: string | null;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  error: MediaError | null;
  externalId: string | null;
  type: ScreenType;
  folderId: Id | null;
  expiresAt: Date | null;
  objectKey: string | null;
  createdAt: Date;
  /** The renditions by role; null if the file has no renditions. */
  renditions: Partial<Record<RenditionRole, { key: string; mime: string }>> | null;
  /** The file is ready, but a worker may still make renditions of it. */
  isUnfinished: boolean;
  /** The tracks in the order in which they were added. Null if the file has no tracks. */
  tracks: StoredTrack[] | null;
  transcription: StoredTranscription | null;
}

export interface StoredTrack {
  /** BCP 47. */
  language: string;
  label: string;
  kind: TrackKind;
  key: string;
  madeBy: TrackMaker;
}

/** A pending or failed request to make subtitles from the speech in a file. */
export interface StoredTranscription {
  /** BCP 47. */
  language: string;
  error: TranscriptionError | null;
}

export const trackType = 'text/vtt; charset=utf-8';

/** The columns that fill {@link StoredMedia}. */
export const mediaColumns = columns(
  Media,
  [
    'id',
    'clubId',
    'purpose',
    'kind',
    'title',
    'provider',
    'status',
    'visibility',
    'archived',
    'fileName',
    'mime',
    'sizeBytes',
    'width',
    'height',
    'durationMs',
    'externalId',
    'type',
    'folderId',
    'expiresAt',
    'objectKey',
    'createdAt',
  ],
  'media',
).and<Pick<StoredMedia, 'error' | 'renditions' | 'isUnfinished' | 'tracks' | 'transcription'>>(sql`media.error,
  media.processed_at IS NULL OR media.renditions_due_at IS NOT NULL OR media.examined < ${raw(String(examinationVersion))} AS "isUnfinished",
  (SELECT jsonb_object_agg(rendition.role, jsonb_build_object('key', rendition.object_key, 'mime', rendition.mime))
     FROM media_renditions rendition WHERE rendition.media_id = media.id AND rendition.version = ${raw(String(renditionVersion))}) AS renditions,
  (SELECT jsonb_agg(jsonb_build_object('language', track.language, 'label', track.label, 'kind', track.kind, 'key', track.object_key, 'madeBy', track.made_by)
                    ORDER BY track.created_at, track.language)
     FROM media_tracks track WHERE track.media_id = media.id) AS tracks,
  (SELECT jsonb_build_object('language', request.language, 'error', request.error_code)
     FROM media_transcriptions request WHERE request.id = media.id) AS transcription`);

/** Identifies the owner of a file: the club's library, or a student. */
export interface MediaOwner {
  clubId: Id;
  /** The student who owns the file. Absent if the library owns the file. */
  studentId?: Id;
}

/** @returns undefined if the file is unknown, was removed, or has another owner */
export async function loadMedia(
  db: Queries,
  { clubId, studentId }: MediaOwner,
  mediaId: Id,
): Promise<StoredMedia | undefined> {
  return db.one<StoredMedia>(sql`SELECT ${mediaColumns} FROM media
      WHERE id = ${mediaId} AND club_id = ${clubId} AND removed_at IS NULL AND owner_id IS NOT DISTINCT FROM ${studentId ?? null}::uuid`);
}

/**
 * Returns the record of a file. The addresses of a ready file are signed, are valid for some minutes, and must not be stored. The addresses
 * of a public file are permanent.
 */
export async function presentMedia(stored: StoredMedia, storage: ObjectStore): Promise<RecordOf<'Media'>> {
  return {
    id: stored.id,
    kind: stored.kind,
    title: stored.title,
    provider: stored.provider,
    status: stored.status,
    visibility: stored.visibility,
    archived: stored.archived,
    created_at: stored.createdAt.toISOString(),
    type: stored.type,
    ...(stored.fileName !== null && { file_name: stored.fileName }),
    ...(stored.mime !== null && { mime: stored.mime }),
    ...(stored.sizeBytes !== null && { size_bytes: Number(stored.sizeBytes) }),
    ...(stored.width !== null && { width: stored.width }),
    ...(stored.height !== null && { height: stored.height }),
    ...(stored.durationMs !== null && { duration_seconds: Math.round(stored.durationMs / 1_000) }),
    ...(getsMp4(stored) && stored.externalId === null && { mp4: mp4Of(stored) }),
    ...(stored.externalId !== null && { external_id: stored.externalId }),
    ...(stored.error !== null && { error: stored.error }),
    ...(stored.folderId !== null && { folder_id: stored.folderId }),
    ...(stored.expiresAt !== null && { expires_at: stored.expiresAt.toISOString() }),
    ...(stored.tracks && { tracks: await Promise.all(stored.tracks.map((track) => presentTrack(track, storage))) }),
    ...(stored.transcription && { transcription: presentTranscription(stored.transcription) }),
    ...(stored.status === 'ready' && (await addressesOf(stored, storage))),
  };
}

/** Returns the state of the video's MP4, for players (MED-24). */
function mp4Of({ status, renditions, isUnfinished }: StoredMedia): RecordOf<'MediaMp4'> {
  if (status === 'failed') return 'impossible';
  if (renditions?.video) return 'made';
  return status !== 'ready' || isUnfinished ? 'pending' : 'impossible';
}

/** Returns the record of a subtitle track, with a signed address. */
export async function presentTrack(
  { language, label, kind, key, madeBy }: StoredTrack,
  storage: Pick<ObjectStore, 'signGet'>,
): Promise<RecordOf<'MediaTrack'>> {
  const disposition = dispositionOf('inline', `${language}.vtt`);
  const url = await storage.signGet(key, { disposition, contentType: trackType });
  return { language, label, kind, made_by: madeBy, url };
}

export function presentTranscription({ language, error }: StoredTranscription): RecordOf<'MediaTranscription'> {
  return error === null ? { language, status: 'pending' } : { language, status: 'failed', error_code: error };
}

async function addressesOf(
  { id, purpose, visibility, objectKey, fileName, mime, renditions }: StoredMedia,
  storage: ObjectStore,
): Promise<{ preview_url: string; thumbnail_url?: string; download_url: string } | undefined> {
  if (objectKey === null || mime === null) return undefined;
  const address = (key: string, kind: 'inline' | 'attachment', contentType: string, name = fileName ?? '') =>
    storage.signGet(key, { disposition: dispositionOf(kind, name), contentType });
  const { preview, thumbnail, video } = renditions ?? {};
  // The rendition that a download contains instead of the original. Some images have no original any more. A download of a submission
  // contains the original.
  const download = isKeptAsPicture(purpose) ? preview : purpose === 'library' ? video : undefined;
  const download_url = download
    ? await address(download.key, 'attachment', download.mime, nameAs(fileName ?? '', download.mime))
    : await address(objectKey, 'attachment', isTextType(mime) ? `${mime}; charset=utf-8` : mime);
  if (visibility === 'public') {
    const lasting = `${storage.linksUrl}/${id}`;
    return {
      preview_url: `${lasting}/preview`,
      ...(thumbnail && { thumbnail_url: `${lasting}/thumbnail` }),
      download_url,
    };
  }
  const rendition = preview ?? video;
  const { disposition, contentType } = shownAs(rendition?.mime ?? mime);
  const name = rendition ? nameAs(fileName ?? '', rendition.mime) : undefined;
  return {
    preview_url: await address(rendition?.key ?? objectKey, disposition, contentType, name),
    ...(thumbnail && {
      thumbnail_url: await address(thumbnail.key, 'inline', thumbnail.mime, nameAs(fileName ?? '', thumbnail.mime)),
    }),
    download_url,
  };
}

/**
 * Returns headers that prevent uploaded content from running as code on the host of the files. Because of these headers, browsers show an
 * HTML page as source text, and download an SVG drawing.
 */
function shownAs(mime: string): { disposition: 'inline' | 'attachment'; contentType: string } {
  return {
    disposition: mayRun(mime) ? 'attachment' : 'inline',
    contentType: isTextType(mime) ? 'text/plain; charset=utf-8' : mime,
  };
}

/** Returns the headers of a public file. */
export function publicHeaders(mime: string, fileName: string): StoredHeaders {
  const { disposition, contentType } = shownAs(mime);
  return {
    contentType,
    disposition: dispositionOf(disposition, fileName),
    cacheControl: `public, max-age=${movingRules.linkSeconds}`,
  };
}
