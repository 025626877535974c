/** Tests what happens if a worker is killed while its program makes subtitles (MED-34). */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { components } from '../../dev/components/catalogue.ts';
import { locate } from '../../dev/components.ts';
import { MediaTrack } from '../../entities/media/media-track.ts';
import { MediaTranscription } from '../../entities/media/media-transcription.ts';
import { requestTranscription } from '../../domain/media/transcriptions/requests.ts';
import { silentWav } from '../../domain/media/transcriptions/trial.ts';
import type { Id } from '../../platform/core/ids.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { speechCommand } from '../toolkit/drive/transcribing.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';
import { useWorkerProcesses } from '../toolkit/stack/worker.ts';

const second = 1_000;

describe('the death of a worker while its program makes subtitles', function () {
  this.timeout(180 * second);
  const startWorker = useWorkerProcesses('subtitles');
  let directory: string;
  let work: string;
  let mark: string;
  let ffmpeg: string;
  let mediaId: Id;
  const running = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
    return lines.filter((line) => line.includes(mark)).length;
  };
  const settings = (mode: string) => ({
    SUBTITLES_COMMAND: speechCommand(mode).join(' '),
    MEDIA_WORK_DIRECTORY: work,
    FFMPEG_BINARY: ffmpeg,
  });
  const tracks = async () => (await testDeps()).db.manager.findBy(MediaTrack, { mediaId });
  const row = async () => (await testDeps()).db.manager.findOneBy(MediaTranscription, { id: mediaId });

  before('kill the worker during its work', async function () {
    if (platform() !== 'linux') this.skip();
    ffmpeg = await locate(components.ffmpeg);
    directory = await mkdtemp(path.join(tmpdir(), 'speech-kill-'));
    [work, mark] = [await mkdtemp(path.join(directory, 'work-')), path.join(directory, 'mark')];
    const worker = await startWorker(settings(`hang=${mark}`));
    const { id: clubId } = await buildClub();
    ({ id: mediaId } = await buildMedia(clubId, { video: true, bytes: silentWav(2), mime: 'audio/wav' }));
    await requestTranscription(
      { ...(await testDeps()), makesSubtitles: true },
      { clubId, mediaId },
      { language: 'pt' },
      new Date(),
    );
    await until('the run of the program', { timeoutMs: 60 * second }, async () => (await running()) >= 2);
    await worker.end('SIGKILL');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('ends the program and its child process', () =>
    until('their end', { timeoutMs: 10 * second }, async () => (await running()) === 0));

  it('leaves the work directory and a counted attempt, but no track', async () => {
    expect(await readdir(work)).to.have.length(1);
    expect(await row()).to.include({ language: 'pt', attempts: 1, errorCode: null });
    expect(await tracks()).to.deep.equal([]);
  });

  it('lets the next worker make the subtitles once and remove the work directory', async () => {
    await startWorker(settings('vtt'));
    await until('the end of the work', { timeoutMs: 90 * second }, async () => (await row()) === null);
    const [track, ...others] = await tracks();
    expect(others).to.deep.equal([]);
    expect(track).to.include({ language: 'pt', madeBy: 'command' });
    const stored = await (await testObjectStore()).read(track?.objectKey ?? '', 0, 1_000);
    expect(stored?.toString()).to.equal(
      'WEBVTT\n\n00:00:00.000 --> 00:00:00.900\nHeard 1 channel at 16000 Hz in pt.\n',
    );
    expect(await readdir(work)).to.deep.equal([]);
  });
});
