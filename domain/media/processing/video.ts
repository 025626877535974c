/** Of a video: an MP4 that every browser plays, and a picture. ffmpeg makes them of a copy on the disk (MED-24). */
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
import { pictureBox, videoBounds, videoRules, videoSize } from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import type { Contents } from './contents.ts';
import { storePicture, storeRendition, type Rendition } from './renditions.ts';
import { colorFilters, conversionOf, readColors, standardColors } from './video-colors.ts';

export interface VideoDeps {
  ffmpeg: Ffmpeg;
  /** A directory for files that are worked on. */
  workDirectory: string;
  /** Bytes that may still be written there. */
  freeBytes: (directory: string) => Promise<number>;
  /** The permits for videos of this process: other files still find a permit (ENG-20). */
  permits: Pick<ClubPermits, 'tryAcquire'>;
}

/** Why it must wait: there is no ffmpeg that makes renditions, no room on the disk, or no place beside other videos. */
export type VideoWait = 'ffmpeg' | 'disk' | 'place';

/** By what the container was found to be: ffmpeg guesses nothing. */
const demuxers: Readonly<Record<string, string>> = {
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
};

/**
 * Makes both, and stores them under keys with the claim's fence.
 * @param tell hears how far it is
 * @returns why it must wait; no renditions of what ffmpeg cannot read, what has no size, and what is too long
 * @throws StoreAway, the signal's reason, and faults of ours
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
      const begun = { ffmpeg, directory, demuxer, durationMs, size: videoSize(source), signal, tell };
      tell('copy to the disk');
      await copy(contents, path.join(directory, original), signal);
      const filters = await filtersFor(begun, source);
      const work = { ...begun, filters };
      const made = [...(await picture(storage, claim, work)), ...(await playable(storage, claim, work))];
      // What another process has filled meanwhile is no fault of the file.
      if (made.length < 2 && (await freeBytes(workDirectory)) < videoRules.reserveBytes) return 'disk';
      // Nor is an ffmpeg that has gone meanwhile, or that an update has broken.
      return made.length < 2 && !(await ffmpeg.look({ anew: true })) ? 'ffmpeg' : made;
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return 'disk';
    throw error;
  } finally {
    release();
  }
}

interface BegunWork {
  ffmpeg: Ffmpeg;
  directory: string;
  demuxer: string;
  durationMs: number;
  /** Of the rendition. */
  size: { width: number; height: number };
  signal: AbortSignal;
  tell: (words: string) => void;
}

interface Work extends BegunWork {
  /** Of each output: its size and its colours. */
  filters: Readonly<Record<'video' | 'picture', string>>;
}

const original = 'original';

async function copy(contents: Pick<Contents, 'stream'>, file: string, signal: AbortSignal): Promise<void> {
  const bytes = await contents.stream(signal);
  if (!bytes) throw new Error('A file that has arrived is not in the store');
  await pipeline(Readable.from(bytes), createWriteStream(file, { mode: 0o600 }), { signal });
}

/** Reads the copy alone: no container makes ffmpeg open another file or address. */
function input({ directory, demuxer }: BegunWork): string[] {
  const bounds = ['-max_pixels', String(videoRules.mostPixels), '-threads', String(videoRules.threads)];
  return ['-protocol_whitelist', 'file,pipe', '-f', demuxer, ...bounds, '-i', `file:${path.join(directory, original)}`];
}

/**
 * Looks at the first picture: the stream as it is says its colours, and a PNG of it whether it is transparent. What ffmpeg cannot look at
 * says nothing.
 */
async function filtersFor(work: BegunWork, source: Work['size']): Promise<Work['filters']> {
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
  // A picture that stands still may have no frame but the first.
  for (const seconds of [at, 0]) {
    const args = ['-ss', String(seconds), ...input(work), ...output, '-y', `file:${file}`];
    const outcome = await ffmpeg.run(args, { bounds, signal });
    frame = outcome === 'done' ? await readFile(file).catch(() => undefined) : undefined;
    if (frame && frame.length > 0) break;
  }
  const [small] = (frame && (await shrinkImage(frame, [pictureBox]))) ?? [];
  return small ? [await storePicture(storage, claim, 'thumbnail', small)] : [];
}

async function playable(storage: Pick<ObjectStore, 'put'>, claim: FileClaim, work: Work): Promise<Rendition[]> {
  const { ffmpeg, directory, durationMs, size, signal, tell } = work;
  const file = path.join(directory, 'playable.mp4');
  const outcome = await ffmpeg.run([...input(work), ...playableOutput(work), '-y', `file:${file}`], {
    bounds: videoBounds(durationMs),
    signal,
    onProgress: (ms) => tell(`MP4: ${Math.min(100, Math.floor((100 * ms) / Math.max(1, durationMs)))} %`),
  });
  if (outcome !== 'done') return [];
  tell('storing the MP4');
  const made = { role: 'video', mime: 'video/mp4', sizeBytes: (await stat(file)).size, ...size } as const;
  return [await storeRendition(storage, claim, made, createReadStream(file))];
}

/** H.264 and AAC, the first picture and the first sound, without metadata, playable before it has arrived whole. */
function playableOutput({ durationMs, filters }: Work): string[] {
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '23', '-pix_fmt', 'yuv420p', ...standardColors];
  const frames = [...codec, '-vf', filters.video];
  const rate = ['-maxrate', String(videoRules.bitsASecond), '-bufsize', String(2 * videoRules.bitsASecond)];
  const sound = ['-c:a', 'aac', '-b:a', String(videoRules.soundBitsASecond), '-ac', '2', '-ar', '48000'];
  const streams = ['-map', '0:v:0', '-map', '0:a:0?', '-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1'];
  // A container that states a length and goes on is cut there.
  const bounds = ['-t', String(durationMs / 1_000 + 1), '-threads', String(videoRules.threads)];
  return [...streams, ...frames, ...rate, ...sound, ...bounds, '-movflags', '+faststart+write_colr', '-f', 'mp4'];
}
