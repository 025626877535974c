/**
 * A program with the command line of whisper.cpp. It reads a WAV file, and writes WebVTT or SRT. The first argument selects whether and how
 * the program fails. Usage: `node speech-program.mjs MODE INPUT OUTPUT LANGUAGE`
 */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';

const [behavior, input, output, language] = process.argv.slice(2);
const [mode, detail] = behavior.split('=');
const sound = readFileSync(input);
const rate = sound.readUInt32LE(24);
const channels = sound.readUInt16LE(22);
const words = `Heard ${channels} channel at ${rate} Hz in ${language}.`;
const vtt = `WEBVTT\n\n00:00.000 --> 00:00.900\n${words}\n`;

if (mode === 'vtt') writeFileSync(`${output}.vtt`, vtt);
else if (mode === 'srt') writeFileSync(output, `1\n00:00:00,000 --> 00:00:00,900\n${words}\n`);
else if (mode === 'silent') writeFileSync(output, 'WEBVTT\n');
else if (mode === 'nonsense') writeFileSync(output, 'WEBVTT\n\n00:09.000 --> 00:01.000\nBackwards.\n');
else if (mode === 'fail') process.exitCode = 1;
else if (mode === 'no-file') process.exitCode = 0;
else if (mode === 'hang') {
  // Starts a child process that continues after the end of the program. The child is in the process group of the program.
  if (detail) {
    spawn(process.execPath, ['-e', `setInterval(() => {}, 1000) // ${detail}`], { stdio: 'ignore' });
    appendFileSync(detail, 'begun');
  }
  setInterval(() => undefined, 1_000);
} else throw new Error(`Unknown mode ${mode}`);
