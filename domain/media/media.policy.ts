/** The rules for files: which types and sizes are accepted, and how each type is uploaded and shown (MED-2 to MED-4). */
import type { MediaKind, MediaPurpose } from '../../entities/media/values.ts';

/** The reasons why a file gets the status `failed`. */
export type MediaError =
  | 'upload_expired' // the file never arrived, or no caller completed the upload
  | 'content_not_allowed' // the content of the file has a type that is not accepted for the purpose of the file
  | 'not_utf8' // the file is a text that is neither UTF-8 nor UTF-16 with a byte-order mark, or that has control characters
  | 'too_large'
  | 'storage_full' // the file is larger than its reservation, and the club's storage has no room for the difference
  | 'image_broken' // the file ends too early, or its size cannot be read
  | 'image_animated'
  | 'image_dimensions'
  | 'inspection_failed'; // all tries to process the file failed because of internal errors

export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof imageTypes)[number];

/** The text types. The content of a text does not show which of these types it has, so the service accepts the announced type. */
export const textTypes = ['text/markdown', 'text/html', 'text/csv', 'text/plain'] as const;
export type TextType = (typeof textTypes)[number];

const office = 'application/vnd.openxmlformats-officedocument';
const openDocument = 'application/vnd.oasis.opendocument';

/** Documents that are ZIP archives, and plain archives. */
export const archiveTypes = [
  `${office}.wordprocessingml.document`,
  `${office}.presentationml.presentation`,
  `${office}.spreadsheetml.sheet`,
  `${openDocument}.text`,
  `${openDocument}.presentation`,
  `${openDocument}.spreadsheet`,
  'application/epub+zip',
  'application/zip',
] as const;
export type ArchiveType = (typeof archiveTypes)[number];

const audioTypes = [
  'audio/mpeg',
  'audio/mp4',
  'audio/aac',
  'audio/ogg',
  'audio/wav',
  'audio/flac',
  'audio/webm',
] as const;

const videoTypes = ['video/mp4', 'video/quicktime', 'video/webm', 'video/x-matroska'] as const;

export type PlayedType = (typeof audioTypes)[number] | (typeof videoTypes)[number];

/** The accepted types of files in the library and in assignments. */
export const contentTypes = [
  'application/pdf',
  ...archiveTypes,
  ...textTypes,
  ...imageTypes,
  'image/avif',
  'image/svg+xml',
  ...audioTypes,
  ...videoTypes,
] as const;

/** @returns whether assignments accept files of this type */
export function isAllowedType(mime: string): boolean {
  return contentTypes.some((type) => type === mime);
}

/** A type that the service can detect from the content of a file. */
export type ContentType = (typeof contentTypes)[number];

const megabyte = 1_024 * 1_024;
const gigabyte = 1_024 * megabyte;
const secondMs = 1_000;
const minuteMs = 60_000;

export const mediaRules = {
  /** The lifetime of an upload address. */
  uploadMs: 15 * minuteMs,
  /** An upload that started before its address expired may still be completed within this time. */
  completionMs: 60 * minuteMs,
  /**
   * If a file was removed, its object is erased again this long after the upload address has expired. An upload may arrive even then: the
   * bucket's clock may be slow, and a request that started in time may still run. Until this
   * erasure, the bytes of the file count as storage.
   */
  lateMs: 5 * minuteMs,
  /**
   * This long after the expiry of an upload address, no upload can arrive any more, even if the upload is very slow. Until then the object
   * is erased repeatedly, at growing intervals.
   */
  arrivalMs: 24 * 60 * minuteMs,
  /** The maximum number of a library's valid upload addresses without an uploaded file. */
  maxLibraryAddresses: 200,
  /** The longest side of an image for agents, in pixels. */
  agentImageSide: 8_000,
  /** The maximum number of a student's images, complete or not, that no question shows. */
  maxUnusedImages: 20,
  /** The time for which an image is kept after its upload was completed, if no question shows the image. */
  unusedImageMs: 7 * 24 * 60 * minuteMs,
  /** The maximum number of a student's unfinished or ready files that belong to no attempt. */
  maxUnsentFiles: 20,
  /** The time for which a file that belongs to no attempt is kept, after its upload was completed or its attempt was withdrawn. */
  unsentFileMs: 7 * 24 * 60 * minuteMs,
  /** The maximum number of a student's unfinished or ready files that belong to no post. */
  maxUnsentPostFiles: 20,
  /** The maximum number of a student's valid upload addresses for avatars. */
  maxAvatarUploads: 10,
  /** The maximum number of subtitle languages of a video or sound. */
  maxTracks: 20,
} as const;

/** Resumable uploads (MED-26). */
export const resumableRules = {
  /** The lifetime of a token for a resumable upload. */
  tokenMs: 24 * 60 * minuteMs,
  /**
   * For this time after the reservation, a client can get new tokens for an upload. Slow uploads need this time: ten gigabytes take a day
   * at a megabit per second.
   */
  renewableMs: 7 * 24 * 60 * minuteMs,
  /** The maximum number of open uploads of a library. For students, the limit of unsent files applies instead. */
  maxOpen: 100,
  /** The lease of the upload's lock. The process that holds the lock renews the lease. */
  leaseMs: 6 * secondMs,
  renewalMs: 2 * secondMs,
  /** The maximum time for which a request waits for the upload's lock. */
  lockWaitMs: 15 * secondMs,
} as const;

/** The rules for videos in a club whose plan does not host videos (MED-10). */
export const expiryRules = {
  /**
   * The time for which a recording is kept if the plan does not host videos. If the plan loses this feature, every other video is also kept
   * for this time.
   */
  keepMs: 30 * 24 * 60 * minuteMs,
  /** The time between the warning to the administrators and the removal of the video. */
  warningMs: 7 * 24 * 60 * minuteMs,
  /** One mail contains all warnings that are due within a period of this length. */
  oneWarningMs: 24 * 60 * minuteMs,
  /** The wait after a removal that failed because the file is in use. */
  inUseMs: 24 * 60 * minuteMs,
} as const;

export function isImageType(mime: string): mime is ImageType {
  return imageTypes.some((type) => type === mime);
}

export function isTextType(mime: string): mime is TextType {
  return textTypes.some((type) => type === mime);
}

/** Returns whether a browser could run the content of a file of this type. Browsers show texts as their source and never run them. */
export function mayRun(mime: string): boolean {
  return !isTextType(mime) && /(?:[/+]xml|html|script)/.test(mime);
}

/** @returns the kind of files of this type */
export function kindOf(mime: string): MediaKind {
  const [group] = mime.split('/');
  return group === 'video' || group === 'audio' || group === 'image' ? group : 'document';
}

/**
 * The maximum size of a file in bytes, by purpose and kind. A store accepts at most 5 GB in one request, so videos are uploaded in parts
 * (MED-26).
 */
export const mostBytes = {
  library: { image: 20 * megabyte, video: 10 * gigabyte, audio: 500 * megabyte, document: 500 * megabyte },
  assignment: { image: 100 * megabyte, video: 2 * gigabyte, audio: 100 * megabyte, document: 100 * megabyte },
  agent_image: { image: 5 * megabyte, video: 0, audio: 0, document: 0 },
  post: { image: 20 * megabyte, video: 0, audio: 0, document: 20 * megabyte },
  avatar: { image: 10 * megabyte, video: 0, audio: 0, document: 0 },
} as const satisfies Record<MediaPurpose, Record<MediaKind, number>>;

/**
 * Returns how a file is uploaded. `tus`: in parts through our listener (MED-26). `listener`: in one request through our listener, because
 * the size was not announced (MED-29). `bucket`: to a signed address of the bucket. The signature of the address covers the size.
 */
export type UploadWay = 'tus' | 'listener' | 'bucket';

export function uploadWay(purpose: MediaPurpose, mime: string): UploadWay {
  if (isResumable(mime)) return 'tus';
  return purpose === 'assignment' ? 'listener' : 'bucket';
}

/** @returns whether a file of this announced type is uploaded in parts (MED-26) */
export function isResumable(mime: string): boolean {
  return kindOf(mime) === 'video';
}

/** @returns whether a worker keeps the whole file in memory while it processes the file. This is true only for images of at most 20 MB */
export function isReadWhole({ mime, sizeBytes }: { mime: string | null; sizeBytes: string | number | null }): boolean {
  return isImageType(mime ?? '') && Number(sizeBytes) <= mostBytes.library.image;
}

/** @returns the limit of a file of this type and purpose, in bytes */
export function maxBytes(purpose: MediaPurpose, mime: string): number {
  return mostBytes[purpose][kindOf(mime)];
}
