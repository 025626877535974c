/** Makes the renditions of a video: an MP4 that every browser plays, and a picture. ffmpeg reads a copy on the disk (MED-24). */
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClubPermits } from '../../../platform/engine/club-permits.ts';
import { colorTable } from '../../../platform/infra/images/colors.mjs';
import { shrinkImage } from '../../../platform/infra/images/shrink.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Ffmpeg } from '../../../platform/infra/video/ffmpeg.ts';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import { pictureBox, videoBounds, videoRules, videoSize } from '../processing.policy.ts';
import type { FileClaim } from './claims.ts';
import type { Contents } from './contents.ts';
import { storePicture, storeRendition, type Rendition } from './renditions.ts';
import { colorFilters, conversionOf, readColors, standardColors } from './video-colors.ts';

export interface VideoDeps {
  ffmpeg: Ffmpeg;
  workDirectory: string;
  /** Returns the free bytes of a directory's disk. */
  freeBytes: (directory: string) => Promise<number>;
  /** The permits of this process for videos. Their number is limited, so that other files still get a permit (ENG-20). */
  permits: Pick<ClubPermits, 'tryAcquire'>;
}

/** Why a video must wait: ffmpeg cannot be used, the disk has no room, or no permit is free (`place`). */
export type VideoWait = 'ffmpeg' | 'disk' | 'place';

/**
 * The demuxer for each container that the service identifies. The service names the demuxer, so that ffmpeg does not guess the container.
 */
const demuxers: Readonly<Record<string, string>> = {
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
};

/**
 * Makes both renditions, and stores them under keys with the claim's fencing token.
 * @param tell receives the progress
 * @returns the renditions, or the reason why the video must wait. The list of renditions is empty if ffmpeg cannot read the video, or if
 * the video has no size or is too long
 * @throws StoreAway, the signal's reason, or an internal error
 */
export async function makeVideo(
  storage: Pick<ObjectStore, 'put'>,
  { ffmpeg, workDirectory, freeBytes, permits }: VideoDeps,
  contents: Pick<Contents, 'stream'>,
  claim: FileClaim,
  { signal, tell }: { signal: AbortSignal; tell: (words: string) => void },
): Promise<Rendition[] | VideoWait> {
  const { mime, durationMs, width, height } = claim;
  const demuxer = demuxers[mime ?? ''];
  if (demuxer === undefined || durationMs === null || !width || !height) return [];
  if (durationMs > videoRules.longestMs) return [];
  const release = permits.tryAcquire(claim.clubId);
  if (!release) return 'place';
  try {
    if (!(await ffmpeg.look())) return 'ffmpeg';
    const needed = Number(claim.sizeBytes) + videoBounds(durationMs).fileBytes + videoRules.reserveBytes;
    if ((await freeBytes(workDirectory)) < needed) return 'disk';
    return await inWorkDirectory<Rendition[] | VideoWait>(workDirectory, async (directory) => {
      const source = { width, height };
      const job = { ffmpeg, directory, demuxer, durationMs, size: videoSize(source), signal, tell };
      tell('copy to the disk');
      await copy(contents, path.join(directory, original), signal);
      const filters = await filtersFor(job, source);
      const work = { ...job, filters };
      const renditions = [...(await picture(storage, claim, work)), ...(await makeMp4(storage, claim, work))];
      // Another process may have filled the disk. In this case the file did not cause the failure.
      if (renditions.length < 2 && (await freeBytes(workDirectory)) < videoRules.reserveBytes) return 'disk';
      // A software update may have removed or broken ffmpeg. In this case, too, the file did not cause the failure.
      return renditions.length < 2 && !(await ffmpeg.look({ force: true })) ? 'ffmpeg' : renditions;
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return 'disk';
    throw error;
  } finally {
    release();
  }
}

interface VideoJob {
  ffmpeg: Ffmpeg;
  directory: string;
  demuxer: string;
  durationMs: number;
  size: { width: number; height: number };
  signal: AbortSignal;
  tell: (words: string) => void;
}

interface Work extends VideoJob {
  /** The filters for size and colours of each output. */
  filters: Readonly<Record<'video' | 'picture', string>>;
}

const original = 'original';

async function copy(contents: Pick<Contents, 'stream'>, file: string, signal: AbortSignal): Promise<void> {
  const bytes = await contents.stream(signal);
  if (!bytes) throw new Error('The object of an uploaded file is missing in the store');
  await pipeline(Readable.from(bytes), createWriteStream(file, { mode: 0o600 }), { signal });
}

/** ffmpeg may read only the copy, so that the content of the file cannot make it open another file or address. */
function input({ directory, demuxer }: VideoJob): string[] {
  const bounds = ['-max_pixels', String(videoRules.mostPixels), '-threads', String(videoRules.threads)];
  return ['-protocol_whitelist', 'file,pipe', '-f', demuxer, ...bounds, '-i', `file:${path.join(directory, original)}`];
}

/**
 * Reads the colours from the first frame: a copy of the stream shows the colours, and a PNG shows transparency. If ffmpeg cannot read the
 * frame, the colours are unknown.
 */
async function filtersFor(work: VideoJob, source: Work['size']): Promise<Work['filters']> {
  const { ffmpeg, directory, durationMs, size, signal, tell } = work;
  tell('colors');
  const probes = { matroska: path.join(directory, 'colors.mkv'), png: path.join(directory, 'colors.png') };
  const bounds = { ...videoBounds(durationMs), timeMs: videoRules.pictureMs };
  const first = ['-map', '0:v:0', '-frames:v', '1'];
  const asItIs = [...first, '-c', 'copy', '-f', 'matroska', '-y', `file:${probes.matroska}`];
  await ffmpeg.run([...input(work), ...asItIs], { bounds, signal });
  const small = [...first, '-vf', 'scale=16:16', '-c:v', 'png', '-f', 'image2pipe', '-y', `file:${probes.png}`];
  await ffmpeg.run([...input(work), ...small], { bounds, signal });
  const colors = await readColors(probes);
  const convert = conversionOf(colors);
  const table = convert && path.join(directory, 'colors.cube');
  if (table) await writeFile(table, colorTable(convert));
  const filters = (as: 'video' | 'picture') => colorFilters(colors, { source, target: size, table, as });
  return { video: filters('video'), picture: filters('picture') };
}

async function picture(storage: Pick<ObjectStore, 'put'>, claim: FileClaim, work: Work): Promise<Rendition[]> {
  const { ffmpeg, directory, durationMs, filters, signal, tell } = work;
  tell('picture');
  const file = path.join(directory, 'picture.png');
  const at = Math.min(videoRules.pictureAtMs, durationMs / 10) / 1_000;
  const output = ['-map', '0:v:0', '-frames:v', '1', '-vf', filters.picture, '-c:v', 'png', '-f', 'image2pipe'];
  const bounds = { ...videoBounds(durationMs), timeMs: videoRules.pictureMs };
  let frame: Buffer | undefined;
  // A video without motion may have only one frame.
  for (const seconds of [at, 0]) {
    const args = ['-ss', String(seconds), ...input(work), ...output, '-y', `file:${file}`];
    const outcome = await ffmpeg.run(args, { bounds, signal });
    frame = outcome === 'done' ? await readFile(file).catch(() => undefined) : undefined;
    if (frame && frame.length > 0) break;
  }
  const [small] = (frame && (await shrinkImage(frame, [pictureBox]))) ?? [];
  return small ? [await storePicture(storage, claim, 'thumbnail', small)] : [];
}

async function makeMp4(storage: Pick<ObjectStore, 'put'>, claim: FileClaim, work: Work): Promise<Rendition[]> {
  const { ffmpeg, directory, durationMs, size, signal, tell } = work;
  const file = path.join(directory, 'playable.mp4');
  const outcome = await ffmpeg.run([...input(work), ...mp4Output(work), '-y', `file:${file}`], {
    bounds: videoBounds(durationMs),
    signal,
    onProgress: (ms) => tell(`MP4: ${Math.min(100, Math.floor((100 * ms) / Math.max(1, durationMs)))} %`),
  });
  if (outcome !== 'done') return [];
  tell('storing the MP4');
  const rendition = { role: 'video', mime: 'video/mp4', sizeBytes: (await stat(file)).size, ...size } as const;
  return [await storeRendition(storage, claim, rendition, createReadStream(file))];
}

/**
 * Returns the output options. The output has the first video stream as H.264 and the first audio stream as AAC. It has no metadata, and
 * players can play it before its download ends.
 */
function mp4Output({ durationMs, filters }: Work): string[] {
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '23', '-pix_fmt', 'yuv420p', ...standardColors];
  const frames = [...codec, '-vf', filters.video];
  const rate = ['-maxrate', String(videoRules.bitsASecond), '-bufsize', String(2 * videoRules.bitsASecond)];
  const sound = ['-c:a', 'aac', '-b:a', String(videoRules.soundBitsASecond), '-ac', '2', '-ar', '48000'];
  const streams = ['-map', '0:v:0', '-map', '0:a:0?', '-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1'];
  // If the streams are longer than the duration that the container states, the output ends at that duration.
  const bounds = ['-t', String(durationMs / 1_000 + 1), '-threads', String(videoRules.threads)];
  return [...streams, ...frames, ...rate, ...sound, ...bounds, '-movflags', '+faststart+write_colr', '-f', 'mp4'];
}
