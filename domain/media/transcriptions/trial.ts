/** Tests the program that makes subtitles. The command `doctor` runs the program with two seconds of silence (DEC-174). */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, runCommand } from '../../../platform/infra/programs/placeholder-command.ts';
import { inWorkDirectory } from '../../../platform/infra/programs/work-directory.ts';
import { readSubtitles } from './speech.ts';
import { transcriptionRules } from './transcription.policy.ts';

const trialSeconds = 2;

/** @returns the message for operators if the program does not exist */
export const noProgram = ([executable = '']: readonly string[]): string =>
  `The program ${executable} does not exist. Install it, or name another program in SUBTITLES_COMMAND.`;

/**
 * Runs the command in the same way as for a file, within the limits of {@link transcriptionRules}.
 * @param workDirectory an existing directory
 * @returns a message about the problem; undefined if the command wrote readable subtitles, even without cues
 */
export async function problemOfCommand(command: readonly string[], workDirectory: string): Promise<string | undefined> {
  const file = await findProgram(command);
  if (file === undefined) return noProgram(command);
  const { trialMs: timeMs, memoryMb, scratchBytes: fileBytes, cores } = transcriptionRules;
  const cpuSeconds = (timeMs / 1_000) * cores;
  const speech = await inWorkDirectory(workDirectory, async (directory) => {
    const [input, output] = [path.join(directory, 'sound.wav'), path.join(directory, 'subtitles')];
    await writeFile(input, silentWav(trialSeconds));
    const bounds = { timeMs, memoryMb, fileBytes, cpuSeconds, directory: { path: directory, bytes: fileBytes } };
    const { signal } = new AbortController();
    const outcome = await runCommand(command, { input, output, language: 'en' }, { directory, bounds, signal });
    return outcome === 'done' ? readSubtitles(output, null) : undefined;
  });
  if (speech && ('vtt' in speech || ('error' in speech && speech.error === 'no_speech'))) return undefined;
  const bounds = `${memoryMb} MB of memory, ${timeMs / 1_000} s`;
  return speech && 'error' in speech && speech.error === 'subtitles_invalid'
    ? `${file} wrote neither WebVTT nor SRT to {output} for a trial sound. Check that its command names one of these formats.`
    : `${file} made no subtitles of a trial sound within its limits (${bounds}). Check that it is complete with its model, and writes to {output}.`;
}

/** A WAV of silence with 16 kHz, one channel and two bytes per sample. */
export function silentWav(seconds: number): Buffer {
  const { soundBytesASecond } = transcriptionRules;
  const samples = Buffer.alloc(seconds * soundBytesASecond);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20); // PCM
  head.writeUInt16LE(1, 22); // one channel
  head.writeUInt32LE(soundBytesASecond / 2, 24);
  head.writeUInt32LE(soundBytesASecond, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}
