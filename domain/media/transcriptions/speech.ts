/** Makes subtitles of the speech of a file: ffmpeg makes a WAV of its first sound, and the command writes WebVTT or SRT (MED-34). */
import { constants, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TranscriptionError } from '../../../entities/media/values.ts';
import type { Ffmpeg } from '../../../platform/infra/video/ffmpeg.ts';
import { findProgram, runCommand } from '../../../platform/infra/programs/placeholder-command.ts';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import { BadSubtitles, parseSubtitles, toWebVtt } from '../../knowledge/extraction/subtitles.policy.ts';
import { videoRules } from '../media.policy.ts';
import type { Contents } from '../processing/contents.ts';
import { commandTime, transcriptionRules } from './transcription.policy.ts';

export interface SpeechDeps {
  /** The program and its arguments, with placeholders; undefined if the deployment has none. */
  command: readonly string[] | undefined;
  ffmpeg: Ffmpeg;
  workDirectory: string;
  /** Bytes that may still be written there. */
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

/** By what the container was found to be: ffmpeg guesses nothing. */
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

/** WebVTT, or why there is none, or what it waits for. */
export type Speech = { vtt: Buffer } | { error: TranscriptionError } | { waitsFor: 'program' | 'disk' };

export const subtitlePlaceholders = ['input', 'output', 'language'] as const;

export interface SpeechWork {
  signal: AbortSignal;
  /** Hears how far it is. */
  tell: (words: string) => void;
}

/** @throws StoreAway, the signal's reason, and faults of ours */
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
  // Nothing but the copy may be opened, whatever the file says.
  const only = ['-protocol_whitelist', 'file,pipe', '-f', demuxer, '-threads', String(videoRules.threads)];
  const input = [...only, '-i', `file:${original}`];
  const output = ['-map', '0:a:0', '-vn', '-sn', '-dn', '-ac', '1', '-ar', '16000', '-c:a', 'pcm_s16le', '-f', 'wav'];
  const made = await ffmpeg.run([...input, ...output, '-map_metadata', '-1', '-y', `file:${sound}`], {
    bounds,
    signal,
  });
  if (made === 'absent') return { waitsFor: 'program' };
  if (made === 'failed' || (await stat(sound).catch(() => undefined)) === undefined)
    return (await ffmpeg.look({ anew: true })) ? { error: 'no_sound' } : { waitsFor: 'program' };
  tell('the command works');
  const written = path.join(directory, 'subtitles');
  const timeMs = commandTime(file.durationMs);
  const { memoryMb: most, scratchBytes, cores } = transcriptionRules;
  const cpuSeconds = (timeMs / 1_000) * cores;
  const size = { path: directory, bytes: file.sizeBytes + soundBytes(file) + scratchBytes };
  const outcome = await runCommand(
    command,
    { input: sound, output: written, language: new Intl.Locale(file.language).language },
    { directory, signal, bounds: { timeMs, memoryMb: most, fileBytes: scratchBytes, cpuSeconds, directory: size } },
  );
  if (outcome === 'absent') return { waitsFor: 'program' };
  if (outcome === 'failed') return { error: 'command_failed' };
  return readSubtitles(written, file.durationMs);
}

/** With room for a file that says nothing of its length, and for one that goes on a little. */
function soundBytes({ durationMs }: SpokenFile): number {
  const ms = durationMs ?? transcriptionRules.mostMs;
  return Math.ceil((ms / 1_000 + 60) * transcriptionRules.soundBytesASecond);
}

/** Programs add an ending of their own to the path that they are given. */
const endings = ['', '.vtt', '.srt'];

/** @param written the path that the command was given @param durationMs of the sound; null if nobody knows */
export async function readSubtitles(written: string, durationMs: number | null): Promise<Speech> {
  for (const ending of endings) {
    const text = await readBounded(`${written}${ending}`);
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

/** @returns undefined if there is no such file, or it is too large */
async function readBounded(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    return found.isFile() && found.size <= transcriptionRules.maxOutputBytes
      ? await handle.readFile('utf8')
      : undefined;
  } finally {
    await handle.close();
  }
}
