/** The rules for the processing of files: identification, renditions, videos and moves. The functions are pure. */
import type { MediaKind, MediaPurpose, RenditionRole } from '../../entities/media/values.ts';

const megabyte = 1_024 * 1_024;
const secondMs = 1_000;
const minuteMs = 60_000;

/** The limits of a thread that identifies files (DEC-54). */
export const identificationRules = {
  /** The number of files that a thread identifies before a new thread replaces it. Threads are replaced because they might leak memory. */
  filesPerThread: 100,
  /** The limit of CPU time for the identification of one file. An image of 20 MB takes about 50 ms. */
  workMs: 5_000,
  /** One limit for the thread's objects, and one for its buffers, which hold an image and a piece of a file. */
  maxHeapMb: 64,
  maxBuffersMb: 64,
} as const;

/** The rules for the processing of one file (MED-16). */
export const processingRules = {
  /** The lease of a claim. A worker that still works renews its lease. */
  leaseMs: 10 * secondMs,
  renewalMs: 2_500,
  /** A file that is not ready yet becomes `failed` after this many failures in a row that are our own faults. */
  maxFaults: 7,
  /** The time for which a call that completes an upload waits for the result. Most files are processed within this time. */
  watchMs: 2 * secondMs,
  /** The maximum number of calls in a process that wait for a result. Further calls get their answer immediately. */
  maxWatching: 200,
  /** The maximum number of files that are processed again at the same time, because an older release or older rules processed them. */
  maxOldFiles: 50,
  /** The time for which a replaced original is kept. Its signed addresses are valid for 20 minutes, and a download takes a while. */
  emptyAfterMs: 30 * minuteMs,
} as const;

/** Increase it when the sizes below change. Renditions of another version are not shown. */
export const renditionVersion = 1;

/** @returns the prefix of the keys of a file's renditions */
export const renditionsPrefix = (objectKey: string) => `${objectKey}.`;

/**
 * The version of the rules that examine files. Files of an older version are examined again (MED-30). Version 1 rotates photos, makes no
 * MP4s of HDR videos, and makes MP4s of students' submissions.
 */
export const examinationVersion = 1;

/** In pixels. A square picture shows only the middle of the longer side. */
interface Box {
  width: number;
  height: number;
  isSquare?: boolean;
}

/** The largest sizes of pictures for screens, in pixels (MED-22). */
export const renditionBoxes = {
  preview: { width: 1_600, height: 1_600 },
  thumbnail: { width: 320, height: 320 },
} as const satisfies Partial<Record<RenditionRole, { width: number; height: number }>>;

/** Images of these purposes are kept only as a picture of this size, without the original (MED-22, MED-28). */
const keptPictures: Partial<Record<MediaPurpose, Box>> = {
  agent_image: renditionBoxes.preview,
  avatar: { width: 512, height: 512, isSquare: true },
};

/** The purposes of images of which the service keeps only the picture that it made. */
export const picturePurposes = Object.keys(keptPictures);

/** @returns undefined if the original is kept */
export function keptPictureBox(purpose: MediaPurpose): Box | undefined {
  return keptPictures[purpose];
}

export function isKeptAsPicture(purpose: MediaPurpose): boolean {
  return keptPictures[purpose] !== undefined;
}

/** The limits for drawing the first page of a PDF as a picture (MED-22). */
export const pageRules = {
  /** A larger file gets no picture, because drawing a page needs the whole file twice in memory. */
  mostBytes: 100 * megabyte,
} as const;

/** The largest size of the picture of a video or of a PDF's page, in pixels. */
export const pictureBox = { width: 640, height: 640 } as const;

/** The purposes of videos that get an MP4: the library and assignments (MED-24). */
const purposesWithMp4: readonly MediaPurpose[] = ['library', 'assignment'];

/** @returns whether the service makes an MP4 of a file of this purpose and kind */
export function getsMp4({ kind, purpose }: { kind: MediaKind; purpose: MediaPurpose }): boolean {
  return kind === 'video' && purposesWithMp4.includes(purpose);
}

/** The limits of ffmpeg for a video, and the properties of its output (MED-24). */
export const videoRules = {
  /** The size of the output: 720p, in landscape or portrait format. */
  longSide: 1_280,
  shortSide: 720,
  /** The bit rates of the rendition. They limit the size of the file. */
  bitsASecond: 3_000_000,
  soundBitsASecond: 128_000,
  /** The maximum duration of a video that gets a rendition. */
  longestMs: 12 * 60 * minuteMs,
  /** The maximum number of pixels in a decoded frame; an 8K frame has 33 million pixels. */
  mostPixels: 36_000_000,
  memoryMb: 2_048,
  /** The number of threads of each ffmpeg process. The other cores serve requests. */
  threads: 2,
  /** The picture shows this time of the video, or a tenth of its duration if that is earlier. */
  pictureAtMs: 3 * secondMs,
  pictureMs: minuteMs,
  /** The bytes that must stay free on the disk beyond the space of a video. */
  reserveBytes: 512 * megabyte,
  /** The wait if no permit is free. */
  permitWaitMs: 15 * secondMs,
  /** The wait if the disk has not enough room. */
  diskWaitMs: 5 * minuteMs,
  /** The wait if ffmpeg is not installed. Until then, the file is ready without its rendition. */
  ffmpegWaitMs: 60 * minuteMs,
} as const;

/** @returns width and height of the rendition in even pixels, at most 720p and at most the size of the video */
export function videoSize({ width, height }: { width: number; height: number }): { width: number; height: number } {
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  const scale = Math.min(1, videoRules.longSide / long, videoRules.shortSide / short);
  const even = (side: number) => Math.max(2, 2 * Math.floor((side * scale) / 2 + 1e-6));
  return { width: even(width), height: even(height) };
}

/** @returns the limits of ffmpeg for a video of this duration */
export function videoBounds(durationMs: number): { timeMs: number; memoryMb: number; fileBytes: number } {
  const bytesASecond = (videoRules.bitsASecond + videoRules.soundBitsASecond) / 8;
  return {
    timeMs: Math.min(5 * 60 * minuteMs, 10 * minuteMs + 6 * durationMs),
    memoryMb: videoRules.memoryMb,
    fileBytes: 32 * megabyte + Math.ceil((1.2 * bytesASecond * durationMs) / 1_000),
  };
}

/**
 * One permit is kept free for other files, because the processing of a video takes minutes.
 * @returns the number of videos that a worker processes at the same time
 */
export function videoPermits(cores: number): number {
  return mediaPermits(cores) - 1;
}

const hourMs = 60 * minuteMs;

/** The rules for moving a file to the other bucket (MED-25). */
export const movingRules = {
  /** The lease of a claim. A worker that still works renews its lease. */
  leaseMs: 10 * secondMs,
  renewalMs: 2_500,
  /** The wait while the file is being processed. The end of the processing wakes the move earlier, but a removal does not. */
  busyMs: 10 * minuteMs,
  /** The time for which clients may cache the target of a public file's permanent address. */
  linkSeconds: 300,
  /**
   * The time for which the old object of a moved file stays in its bucket. The time depends on the visibility that the file had before.
   * Signed addresses of a private file are valid for 20 minutes, and reading the file takes a while. The target of a permanent address may
   * be cached for 5 minutes.
   */
  readableMs: { private: hourMs, public: 6 * minuteMs },
} as const;

/**
 * If the machine has more than two cores, one core is left to the rest of the process. There are at least two permits, so that a slow read
 * from the store does not block all other files.
 * @param cores the machine's number of cores
 * @returns the number of files that a worker processes at the same time for one club; the number for all clubs together is twice as high
 * (ENG-20)
 */
export function mediaPermits(cores: number): number {
  return Math.max(2, Math.min(4, cores - 1));
}

/** @param faults from 1 @returns the milliseconds until the next try; undefined after the last try */
export function waitAfterFault(faults: number): number | undefined {
  return waits[faults - 1];
}

/** All waits together take nearly three hours. In this time the operator can replace a release that has a fault. */
const waits = [secondMs, 10 * secondMs, minuteMs, 10 * minuteMs, 40 * minuteMs, 120 * minuteMs] as const;
