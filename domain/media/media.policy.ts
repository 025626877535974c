/** Which files are accepted, and as what they are shown (MED-2 to MED-4). */
import type { MediaKind, MediaPurpose, RenditionRole } from '../../entities/media/values.ts';

/** Why a file failed. */
export type MediaError =
  | 'upload_expired' // it never arrived, or nobody said that it had
  | 'content_not_allowed' // by its content it is nothing that may be uploaded there, whatever was announced
  | 'not_utf8' // a text that is neither in UTF-8 nor in UTF-16 with a mark, or with bytes that no text has
  | 'too_large'
  | 'storage_full' // it is larger than its reservation, and the club's storage has no room for that
  | 'image_broken' // it ends too early, or cannot be measured
  | 'image_animated'
  | 'image_dimensions'
  | 'inspection_failed'; // its processing failed by a fault of ours, as often as it was tried

export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof imageTypes)[number];

/** Distinguished by what was announced: the content of one may be any other. */
export const textTypes = ['text/markdown', 'text/html', 'text/csv', 'text/plain'] as const;
export type TextType = (typeof textTypes)[number];

const office = 'application/vnd.openxmlformats-officedocument';
const openDocument = 'application/vnd.oasis.opendocument';

/** Documents that are ZIP archives inside, and the archive itself. */
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

/** What a file of the library, or one that a student hands in, may be. */
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

/** What students may hand in. */
export function isAllowedType(mime: string): boolean {
  return contentTypes.some((type) => type === mime);
}

/** What a file may be, once it is known by its content. */
export type ContentType = (typeof contentTypes)[number];

const megabyte = 1_024 * 1_024;
const gigabyte = 1_024 * megabyte;
const secondMs = 1_000;
const minuteMs = 60_000;

export const mediaRules = {
  /** How long the address of an upload is good. */
  uploadMs: 15 * minuteMs,
  /** After the end of its address, so long an upload that was begun in time may still be completed. */
  completionMs: 60 * minuteMs,
  /**
   * Of a file that is gone, so long after the end of its address the bucket erases what has arrived there meanwhile. Until then its bytes
   * are held. The bucket's clock may be behind ours, and a request that began in time goes on.
   */
  lateMs: 5 * minuteMs,
  /** And so long after it, nothing can arrive any more, however slowly it is sent: until then the bucket erases again, ever less often. */
  arrivalMs: 24 * 60 * minuteMs,
  /** Of a club's library: addresses of the bucket that are good and at which no file stands. */
  maxLibraryAddresses: 200,
  /** Of an agent's image, in pixels. */
  agentImageSide: 8_000,
  /** Of a student, uploading or ready, that no question shows. */
  maxUnusedImages: 20,
  /** After its completion, so long an image that no question shows is kept. */
  unusedImageMs: 7 * 24 * 60 * minuteMs,
  /** Of a student, uploading or ready, that are in no attempt. */
  maxUnsentFiles: 20,
  /** After its completion, or after its attempt was withdrawn, so long a file that is in no attempt is kept. */
  unsentFileMs: 7 * 24 * 60 * minuteMs,
  /** Of a student, uploading or ready, that no post shows. */
  maxUnsentPostFiles: 20,
  /** Of a student: addresses that are good for the upload of a picture of theirs. */
  maxAvatarUploads: 10,
  /** Of a video or sound: languages with subtitles. */
  maxTracks: 20,
} as const;

/** Resumable uploads (MED-26). */
export const resumableRules = {
  /** How long a token is good. */
  tokenMs: 24 * 60 * minuteMs,
  /** So long after its reservation, an upload gets new tokens: ten gigabytes take a day at a megabit a second. */
  renewableMs: 7 * 24 * 60 * minuteMs,
  /** Open at a time, of a library. Students are bounded by their unsent files. */
  maxOpen: 100,
  /** A holder of the lock that died is waited for so long; a living one renews its lease. */
  leaseMs: 6 * secondMs,
  renewalMs: 2 * secondMs,
  /** Whoever needs the lock asks its holder to let go, and waits so long. */
  lockWaitMs: 15 * secondMs,
} as const;

/** Videos in a club whose plan does not host them (MED-10). */
export const expiryRules = {
  /** A recording is kept so long; and every video, from the day on which the plan lost the feature. */
  keptMs: 30 * 24 * 60 * minuteMs,
  /** So long before, the administrators are told. */
  warnedMs: 7 * 24 * 60 * minuteMs,
  /** One mail tells of all files of so long a time. */
  oneWarningMs: 24 * 60 * minuteMs,
  /** What cannot be removed because it is in use is tried again so much later. */
  inUseMs: 24 * 60 * minuteMs,
} as const;

/** Finding out what a file is: in a thread, within these bounds (DEC-54). */
export const identificationRules = {
  /** One after another; then another thread takes its place, in case that something piles up in it. */
  filesAThread: 100,
  /** Of a file, so much work; a picture of 20 MB takes some 50 ms. */
  workMs: 5_000,
  /** Memory of the thread: its objects, and its buffers beside them, which hold one image and a piece. */
  maxHeapMb: 64,
  maxBuffersMb: 64,
} as const;

/** A file on its way through the worker (MED-16). */
export const processingRules = {
  /** Of a worker that died. A living one renews it. */
  leaseMs: 10 * secondMs,
  renewalMs: 2_500,
  /** After so many faults of ours in a row, a file that is not ready has failed. */
  maxFaults: 7,
  /** So long a call that completes an upload watches it: most files are processed by then. */
  watchMs: 2 * secondMs,
  /** Calls that watch, in one process; more are answered at once. */
  maxWatching: 200,
  /** Of files that were ready before they were processed, so many are under way at a time. */
  caughtUpAtOnce: 50,
  /**
   * So long an original is kept that a picture has replaced: signed addresses of it are good for 20 minutes, and a download takes a
   * while.
   */
  emptiedAfterMs: 30 * minuteMs,
} as const;

/** Of the boxes below: what was made by others is not shown. */
export const renditionVersion = 1;

/** @returns the prefix of the keys of a file's renditions */
export const renditionsPrefix = (objectKey: string) => `${objectKey}.`;

/**
 * Of the rules by which files are examined. Files of before are examined once more (MED-30): 1 turns photos upright, keeps HDR out of
 * MP4s, and makes MP4s of what students hand in.
 */
export const examinationVersion = 1;

/** In pixels; of a square, what is longer is cut to its middle. */
interface Box {
  width: number;
  height: number;
  isSquare?: boolean;
}

/** What pictures for screens fit into, in pixels (MED-22). */
export const renditionBoxes = {
  preview: { width: 1_600, height: 1_600 },
  thumbnail: { width: 320, height: 320 },
} as const satisfies Partial<Record<RenditionRole, { width: number; height: number }>>;

/** Images of which a picture that was made of them is kept, and nothing else: what it fits into (MED-22, MED-28). */
const keptPictures: Partial<Record<MediaPurpose, Box>> = {
  agent_image: renditionBoxes.preview,
  avatar: { width: 512, height: 512, isSquare: true },
};

/** @returns what the picture fits into that is kept of such a file; undefined where the file itself is kept */
export function keptPictureBox(purpose: MediaPurpose): Box | undefined {
  return keptPictures[purpose];
}

export function isKeptAsPicture(purpose: MediaPurpose): boolean {
  return keptPictures[purpose] !== undefined;
}

/** Of a PDF, what its first page may take (MED-22). */
export const pageRules = {
  /** Larger ones get no picture: drawing one needs the whole file in memory, twice. */
  mostBytes: 100 * megabyte,
} as const;

/** What the picture of a video, or of a page, fits into, in pixels. */
export const pictureBox = { width: 640, height: 640 } as const;

/** Whose videos get an MP4: those of the library, and those that students hand in (MED-24). */
const purposesWithMp4: readonly MediaPurpose[] = ['library', 'assignment'];

/** @returns whether an MP4 is made of such a file */
export function getsMp4({ kind, purpose }: { kind: MediaKind; purpose: MediaPurpose }): boolean {
  return kind === 'video' && purposesWithMp4.includes(purpose);
}

/** Of a video, what ffmpeg may take, and what it makes (MED-24). */
export const videoRules = {
  /** 720p, lying or standing. */
  longSide: 1_280,
  shortSide: 720,
  /** Rates of the rendition, which bound its size. */
  bitsASecond: 3_000_000,
  soundBitsASecond: 128_000,
  /** Longer ones are delivered as uploaded. */
  longestMs: 12 * 60 * minuteMs,
  /** Of a decoded picture: 8K has 33 million. */
  mostPixels: 36_000_000,
  memoryMb: 2_048,
  /** Of each step of ffmpeg: the rest of the machine serves people. */
  threads: 2,
  /** From the beginning, unless a tenth of the video is less. */
  pictureAtMs: 3 * secondMs,
  pictureMs: minuteMs,
  /** Left free on the disk beside what a video needs. */
  reserveBytes: 512 * megabyte,
  /** Without a place, so long until the next look. */
  placeWaitMs: 15 * secondMs,
  /** Without room on the disk. */
  diskWaitMs: 5 * minuteMs,
  /** Without ffmpeg; the file is ready as it is. */
  ffmpegWaitMs: 60 * minuteMs,
} as const;

/** @returns width and height of the rendition in even pixels: 720p at most, never more than the video has */
export function videoSize({ width, height }: { width: number; height: number }): { width: number; height: number } {
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const scale = Math.min(1, videoRules.longSide / long, videoRules.shortSide / short);
  const even = (side: number) => Math.max(2, 2 * Math.floor((side * scale) / 2 + 1e-6));
  return { width: even(width), height: even(height) };
}

/** @returns the bounds of ffmpeg for a video of this length */
export function videoBounds(durationMs: number): { timeMs: number; memoryMb: number; fileBytes: number } {
  const bytesASecond = (videoRules.bitsASecond + videoRules.soundBitsASecond) / 8;
  return {
    timeMs: Math.min(5 * 60 * minuteMs, 10 * minuteMs + 6 * durationMs),
    memoryMb: videoRules.memoryMb,
    fileBytes: 32 * megabyte + Math.ceil((1.2 * bytesASecond * durationMs) / 1_000),
  };
}

/** A video takes minutes: where there are few places, one is left to other files. @returns how many a worker works on at a time */
export function videoPlaces(cores: number): number {
  return mediaPlaces(cores) - 1;
}

const hourMs = 60 * minuteMs;

/** A file on its way to the other bucket (MED-25). */
export const movingRules = {
  /** Of a worker that died. A living one renews it. */
  leaseMs: 10 * secondMs,
  renewalMs: 2_500,
  /** Until the next look at a file that is being processed: the end of that wakes the move, and only a removal does not. */
  busyMs: 10 * minuteMs,
  /** So long anybody may keep where the lasting address of a public file leads. */
  linkSeconds: 300,
  /**
   * So long a file that has moved stays where it was, by what it was there: signed addresses of a private one are good for 20 minutes, and
   * reading it takes its time; where a lasting address led may be kept for 5 minutes.
   */
  readableMs: { private: hourMs, public: 6 * minuteMs },
} as const;

/**
 * Where there are more than two cores, one is left to the rest of the process; with one place alone a slow read from the store would
 * keep every other file waiting.
 * @param cores of the machine @returns how many files of one club a worker processes at a time; of all clubs twice as many (ENG-20)
 */
export function mediaPlaces(cores: number): number {
  return Math.max(2, Math.min(4, cores - 1));
}

/** @param faults so far, from 1 @returns milliseconds until the next try; undefined after the last one */
export function waitAfterFault(faults: number): number | undefined {
  return waits[faults - 1];
}

/** Nearly three hours in all: a fault of a release can be mended meanwhile. */
const waits = [secondMs, 10 * secondMs, minuteMs, 10 * minuteMs, 40 * minuteMs, 120 * minuteMs] as const;

export function isImageType(mime: string): mime is ImageType {
  return imageTypes.some((type) => type === mime);
}

export function isTextType(mime: string): mime is TextType {
  return textTypes.some((type) => type === mime);
}

/** Whether a browser that opened such a file could run what stands in it; texts are shown as their source instead. */
export function mayRun(mime: string): boolean {
  return !isTextType(mime) && /(?:[/+]xml|html|script)/.test(mime);
}

/** @returns the label of what is announced, or found, as this type */
export function kindOf(mime: string): MediaKind {
  const [group] = mime.split('/');
  return group === 'video' || group === 'audio' || group === 'image' ? group : 'document';
}

/** Of each kind, the bytes that a file may have. A store takes 5 GB in one request, so videos come in parts (MED-26). */
export const mostBytes = {
  library: { image: 20 * megabyte, video: 10 * gigabyte, audio: 500 * megabyte, document: 500 * megabyte },
  assignment: { image: 100 * megabyte, video: 2 * gigabyte, audio: 100 * megabyte, document: 100 * megabyte },
  agent_image: { image: 5 * megabyte, video: 0, audio: 0, document: 0 },
  post: { image: 20 * megabyte, video: 0, audio: 0, document: 20 * megabyte },
  avatar: { image: 10 * megabyte, video: 0, audio: 0, document: 0 },
} as const satisfies Record<MediaPurpose, Record<MediaKind, number>>;

/**
 * Where the bytes of a file go: `tus` in parts through our listener (MED-26), `listener` through it in one request, because nobody has
 * announced their size (MED-29), `bucket` to a signed address of the bucket, whose signature covers the size.
 */
export type UploadWay = 'tus' | 'listener' | 'bucket';

export function uploadWay(purpose: MediaPurpose, mime: string): UploadWay {
  if (isResumable(mime)) return 'tus';
  return purpose === 'assignment' ? 'listener' : 'bucket';
}

/** @returns whether a file that is announced as this type is uploaded in parts (MED-26), and not in one request */
export function isResumable(mime: string): boolean {
  return kindOf(mime) === 'video';
}

/** @returns whether a worker holds the whole file in its memory while it processes it: pictures alone, so at most 20 MB */
export function isReadAtOnce({ mime, sizeBytes }: { mime: string | null; sizeBytes: string | number | null }): boolean {
  return isImageType(mime ?? '') && Number(sizeBytes) <= mostBytes.library.image;
}

/** @returns how large a file of this type may be there, in bytes */
export function maxBytes(purpose: MediaPurpose, mime: string): number {
  return mostBytes[purpose][kindOf(mime)];
}
