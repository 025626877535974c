/**
 * Makes subtitles from the speech in a file. ffmpeg makes a WAV of its first audio stream, and the operator's command writes WebVTT or SRT
 * (MED-34).
 */
import { constants, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TranscriptionError } from '../../../entities/media/values.ts';
import type { Ffmpeg } from '../../../platform/infra/video/ffmpeg.ts';
import { findProgram, runCommand } from '../../../platform/infra/programs/placeholder-command.ts';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import { BadSubtitles, parseSubtitles, toWebVtt } from '../../knowledge/extraction/text/subtitles.policy.ts';
import { videoRules } from '../processing.policy.ts';
import type { Contents } from '../processing/contents.ts';
import { commandTime, transcriptionRules } from './transcription.policy.ts';

export interface SpeechDeps {
  /** A program and its arguments with placeholders; undefined if the deployment has none. */
  command: readonly string[] | undefined;
  ffmpeg: Ffmpeg;
  workDirectory: string;
  /** Returns the free bytes of a directory's disk. */
  freeBytes: (directory: string) => Promise<number>;
}

export interface SpokenFile {
  mime: string | null;
  sizeBytes: number;
  durationMs: number | null;
  /** BCP 47. */
  language: string;
  contents: Pick<Contents, 'stream'>;
}

/**
 * The demuxer for each container that the service identifies. The service names the demuxer, so that ffmpeg does not guess the container.
 */
const demuxers: Readonly<Record<string, string>> = {
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
  'audio/mp4': 'mov',
  'audio/x-m4a': 'mov',
  'audio/webm': 'matroska',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/aac': 'aac',
};

/** The subtitles as WebVTT, an error, or why the work must wait. */
export type Speech = { vtt: Buffer } | { error: TranscriptionError } | { waitsFor: 'program' | 'disk' };

export const subtitlePlaceholders = ['input', 'output', 'language'] as const;

export interface SpeechWork {
  signal: AbortSignal;
  /** Receives the progress. */
  tell: (words: string) => void;
}

/** @throws StoreAway, the signal's reason, or an internal error */
export async function subtitlesOf(deps: SpeechDeps, file: SpokenFile, { signal, tell }: SpeechWork): Promise<Speech> {
  const { command, workDirectory, freeBytes } = deps;
  if (command === undefined || (await findProgram(command)) === undefined) return { waitsFor: 'program' };
  const { scratchBytes } = transcriptionRules;
  if ((await freeBytes(workDirectory)) < file.sizeBytes + soundBytes(file) + scratchBytes) return { waitsFor: 'disk' };
  try {
    return await inWorkDirectory(workDirectory, async (directory) => {
      tell('copy to the disk');
      const bytes = await file.contents.stream(signal);
      if (!bytes) return { error: 'file_missing' };
      const original = path.join(directory, 'original');
      await pipeline(Readable.from(bytes), createWriteStream(original, { mode: 0o600 }), { signal });
      return fromCopy(deps.ffmpeg, command, file, { directory, original, signal, tell });
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return { waitsFor: 'disk' };
    throw error;
  }
}

interface Copy {
  directory: string;
  original: string;
  signal: AbortSignal;
  tell: (words: string) => void;
}

async function fromCopy(
  ffmpeg: Ffmpeg,
  command: readonly string[],
  file: SpokenFile,
  { directory, original, signal, tell }: Copy,
): Promise<Speech> {
  tell('sound');
  const sound = path.join(directory, 'sound.wav');
  const { soundMs: soundTime, soundMemoryMb } = transcriptionRules;
  const bounds = { timeMs: soundTime, memoryMb: soundMemoryMb, fileBytes: soundBytes(file) };
  const demuxer = demuxers[file.mime ?? ''];
  if (demuxer === undefined) return { error: 'no_sound' };
  // ffmpeg may open only the copy, so that its content cannot make ffmpeg open another file.
  const inputOptions = ['-protocol_whitelist', 'file,pipe', '-f', demuxer, '-threads', String(videoRules.threads)];
  const input = [...inputOptions, '-i', `file:${original}`];
  const output = ['-map', '0:a:0', '-vn', '-sn', '-dn', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 'wav'];
  const conversion = await ffmpeg.run([...input, ...output, '-map_metadata', '-1', '-y', `file:${sound}`], {
    bounds,
    signal,
  });
  if (conversion === 'absent') return { waitsFor: 'program' };
  if (conversion === 'failed' || (await stat(sound).catch(() => undefined)) === undefined)
    return (await ffmpeg.look({ force: true })) ? { error: 'no_sound' } : { waitsFor: 'program' };
  tell('the command works');
  const outputPath = path.join(directory, 'subtitles');
  const timeMs = commandTime(file.durationMs);
  const { memoryMb: most, scratchBytes, cores } = transcriptionRules;
  const cpuSeconds = (timeMs / 1_000) * cores;
  const size = { path: directory, bytes: file.sizeBytes + soundBytes(file) + scratchBytes };
  const outcome = await runCommand(
    command,
    { input: sound, output: outputPath, language: new Intl.Locale(file.language).language },
    { directory, signal, bounds: { timeMs, memoryMb: most, fileBytes: scratchBytes, cpuSeconds, directory: size } },
  );
  if (outcome === 'absent') return { waitsFor: 'program' };
  if (outcome === 'failed') return { error: 'command_failed' };
  return readSubtitles(outputPath, file.durationMs);
}

/**
 * Returns the maximum size of the WAV. The limit also allows a sound whose duration is unknown, and a sound that is slightly longer than
 * the stated duration.
 */
function soundBytes({ durationMs }: SpokenFile): number {
  const ms = durationMs ?? transcriptionRules.mostMs;
  return Math.ceil((ms / 1_000 + 60) * transcriptionRules.soundBytesASecond);
}

/** A program may add one of these endings to the given path. */
const endings = ['', '.vtt', '.srt'];

/** @param outputPath the path that the command received @param durationMs the duration of the sound; null if it is unknown */
export async function readSubtitles(outputPath: string, durationMs: number | null): Promise<Speech> {
  for (const ending of endings) {
    const text = await readBounded(`${outputPath}${ending}`);
    if (text === undefined) continue;
    try {
      return { vtt: Buffer.from(toWebVtt(parseSubtitles(text, durationMs)), 'utf8') };
    } catch (error) {
      if (!(error instanceof BadSubtitles)) throw error;
      return { error: error.problem === 'no_cues' ? 'no_speech' : 'subtitles_invalid' };
    }
  }
  return { error: 'command_failed' };
}

/** @returns undefined if the file does not exist or is too large */
async function readBounded(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const stats = await handle.stat();
    return stats.isFile() && stats.size <= transcriptionRules.maxOutputBytes
      ? await handle.readFile('utf8')
      : undefined;
  } finally {
    await handle.close();
  }
}
