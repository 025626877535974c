/** Tests subtitles of speech by ffmpeg and a program with the interface of whisper.cpp (MED-34). */
import { mkdtemp, readdir, rm, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { components } from '../../../../dev/components/catalogue.ts';
import { locate } from '../../../../dev/components.ts';
import { subtitlesOf, type SpeechDeps, type SpokenFile } from '../../../../domain/media/transcriptions/speech.ts';
import { commandTime } from '../../../../domain/media/transcriptions/transcription.policy.ts';
import { askProgram } from '../../../../platform/infra/programs/programs.ts';
import { ffmpegAt } from '../../../../platform/infra/video/ffmpeg.ts';
import { freeBytes } from '../../../../platform/infra/programs/work-directory.ts';
import { speechCommand } from '../../../toolkit/drive/transcribing.ts';

describe('transcription of speech', function () {
  this.timeout(60_000);
  let ffmpeg: string;
  let workDirectory: string;
  let spoken: Buffer;
  let silentVideo: Buffer;
  before(async () => {
    ffmpeg = await locate(components.ffmpeg);
    const directory = await mkdtemp(path.join(tmpdir(), 'speech-'));
    const make = async (name: string, args: string) => {
      await askProgram(ffmpeg, [...args.split(' '), '-y', path.join(directory, name)], { timeoutMs: 30_000 });
      return readFile(path.join(directory, name));
    };
    spoken = await make(
      'film.mp4',
      '-f lavfi -i testsrc=s=64x64:d=1 -f lavfi -i sine=d=1 -shortest -c:v libx264 -c:a aac',
    );
    silentVideo = await make('silent.mp4', '-f lavfi -i testsrc=s=64x64:d=1 -c:v libx264');
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    workDirectory = await mkdtemp(path.join(tmpdir(), 'speech-test-'));
  });
  afterEach(async () => {
    expect(await readdir(workDirectory), 'left behind').to.deep.equal([]);
    await rm(workDirectory, { recursive: true });
  });

  const fileOf = (bytes: Buffer | undefined, changed: Partial<SpokenFile> = {}): SpokenFile => ({
    mime: 'video/mp4',
    sizeBytes: bytes?.length ?? 4,
    durationMs: 1_000,
    language: 'pt-BR',
    contents: { stream: async () => bytes && (Readable.from([bytes]) as AsyncIterable<Buffer>) },
    ...changed,
  });
  const make = (mode: string, file = fileOf(spoken), changed: Partial<SpeechDeps> = {}) =>
    subtitlesOf(
      { command: speechCommand(mode), ffmpeg: ffmpegAt(ffmpeg), workDirectory, freeBytes, ...changed },
      file,
      {
        signal: new AbortController().signal,
        tell() {},
      },
    );
  const heard = 'WEBVTT\n\n00:00:00.000 --> 00:00:00.900\nHeard 1 channel at 16000 Hz in pt.\n';

  it('passes a mono WAV of 16 kHz to the command, and accepts WebVTT or SRT', async () => {
    for (const mode of ['vtt', 'srt']) {
      const speech = await make(mode);
      expect('vtt' in speech && speech.vtt.toString(), mode).to.equal(heard);
    }
  });

  const failures: { mode: string; error: string; file?: () => SpokenFile }[] = [
    { mode: 'silent', error: 'no_speech' },
    { mode: 'nonsense', error: 'subtitles_invalid' },
    { mode: 'fail', error: 'command_failed' },
    { mode: 'no-file', error: 'command_failed' },
    { mode: 'vtt', error: 'no_sound', file: () => fileOf(silentVideo) },
    { mode: 'vtt', error: 'no_sound', file: () => fileOf(Buffer.from('no film')) },
    { mode: 'vtt', error: 'no_sound', file: () => fileOf(spoken, { mime: 'application/x-mpegurl' }) },
    { mode: 'vtt', error: 'file_missing', file: () => fileOf(undefined) },
  ];
  for (const [at, { mode, error, file }] of failures.entries())
    it(`reports ${error} in case ${at + 1} (the test command runs in its mode ${mode})`, async () => {
      expect(await make(mode, file?.())).to.deep.equal({ error });
    });

  it('waits while the program is missing or the disk is full', async () => {
    for (const command of [undefined, ['/there/is/none', '{input}', '{output}']])
      expect(await make('vtt', undefined, { command })).to.deep.equal({ waitsFor: 'program' });
    expect(await make('vtt', undefined, { freeBytes: async () => 1_000_000_000 })).to.deep.equal({ waitsFor: 'disk' });
  });

  it('waits if ffmpeg is missing', async () => {
    const lacking = path.join(await mkdtemp(path.join(tmpdir(), 'speech-ffmpeg-')), 'ffmpeg');
    await writeFile(lacking, '#!/bin/sh\necho "ffmpeg version 4.4.2"\nexit 1\n', { mode: 0o755 });
    for (const other of ['/there/is/none', lacking])
      expect(await make('vtt', undefined, { ffmpeg: ffmpegAt(other) }), other).to.deep.equal({ waitsFor: 'program' });
    await rm(path.dirname(lacking), { recursive: true });
  });

  it('allows three times the file’s duration, at least ten minutes and at most six hours', () => {
    const minute = 60_000;
    expect([minute, 10 * minute, 200 * minute, null].map(commandTime)).to.deep.equal([
      10 * minute,
      30 * minute,
      360 * minute,
      360 * minute,
    ]);
  });

  it('ends the program when the worker stops', async () => {
    const stop = new AbortController();
    const running = subtitlesOf(
      { command: speechCommand('hang'), ffmpeg: ffmpegAt(ffmpeg), workDirectory, freeBytes },
      fileOf(spoken),
      {
        signal: stop.signal,
        tell: (words) => words.includes('command') && setTimeout(() => stop.abort(new Error('stopped')), 300),
      },
    );
    expect(await running.catch((error: unknown) => String(error))).to.equal('Error: stopped');
  });
});
