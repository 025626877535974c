/** Tests videos of the library and their renditions (MED-24). */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { components } from '../../../../dev/components/catalogue.ts';
import { locate } from '../../../../dev/components.ts';
import { videoBounds, videoPermits, videoRules, videoSize } from '../../../../domain/media/processing.policy.ts';
import { playedFileOf } from '../../../../domain/media/formats/played-file.ts';
import { processOldFiles } from '../../../../domain/media/processing/old-files.ts';
import { processFile, type ProcessingDeps, type ProcessingStep } from '../../../../domain/media/processing/step.ts';
import { ffmpegAt } from '../../../../platform/infra/video/ffmpeg.ts';
import { buildClub, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { video } from '../../../toolkit/builders/played-files.ts';
import { realVideo } from '../../../toolkit/builders/real-videos.ts';
import { uploadBytes } from '../../../toolkit/drive/erasure.ts';
import { callsOf } from '../../../toolkit/drive/club-calls.ts';
import { keysOf, sayingArrived, type MediaRecord } from '../../../toolkit/drive/media.ts';
import { processedFile, processingDeps, processOnce } from '../../../toolkit/drive/processing.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const minute = 60_000;

describe('a video of the library (MED-24)', () => {
  let club: TestClub;
  let workDirectory: string;
  let large: Buffer;
  before('make a video', async () => {
    large = await realVideo('1600x900', { seconds: 2, format: 'mov' });
  });
  beforeEach(async () => {
    club = await buildClub();
    workDirectory = await mkdtemp(path.join(tmpdir(), 'video-test-'));
  });
  afterEach(() => rm(workDirectory, { recursive: true }));

  /** The video has no renditions yet. */
  async function readyVideo(bytes: Buffer): Promise<string> {
    const file = { fileName: 'Knots.v2.mov', mime: 'video/quicktime', bytes };
    const { media } = await uploadBytes({ club }, file);
    await sayingArrived({ club }, media.id);
    const step = await processOnce(await depsWith(), media.id);
    expect(step).to.include({ done: false, for: 'turn' });
    return media.id;
  }
  async function depsWith(changes: Partial<ProcessingDeps['video']> = {}, more: Partial<ProcessingDeps> = {}) {
    const deps = await processingDeps(more);
    return { ...deps, video: { ...deps.video, workDirectory, ...changes } };
  }
  const read = async (id: string): Promise<MediaRecord> => (await callsOf(club)('GET', `/media/${id}`)).body.data;
  const fetched = async (url: string | undefined) => {
    const response = await fetch(url ?? '');
    const bytes = Buffer.from(await response.arrayBuffer());
    return { type: response.headers.get('content-type'), as: response.headers.get('content-disposition'), bytes };
  };
  const measured = (bytes: Buffer) =>
    playedFileOf(async (offset, length) => bytes.subarray(offset, offset + length), bytes.length);

  it('is ready as uploaded, and later has an MP4 and a picture', async () => {
    const id = await readyVideo(large);
    const before = await read(id);
    expect(before).to.include({ status: 'ready', width: 1_600, height: 900, duration_seconds: 2 });
    expect(before).to.not.have.property('thumbnail_url');
    expect((await fetched(before.download_url)).bytes.equals(large)).to.equal(true);

    expect(await processOnce(await depsWith(), id)).to.deep.equal({ done: true, outcome: 'ready' });
    const { preview_url: preview, thumbnail_url: thumbnail, download_url: download, size_bytes: size } = await read(id);
    expect(size).to.equal(large.length);
    const previewFile = await fetched(preview);
    expect(previewFile).to.include({ type: 'video/mp4' });
    expect(await measured(previewFile.bytes)).to.include({ mime: 'video/mp4', width: 1_280, height: 720 });
    expect(previewFile.bytes.includes('Quixotic'), 'metadata').to.equal(false);
    expect(previewFile.bytes.indexOf('moov'), 'playable from its beginning').to.be.below(
      previewFile.bytes.indexOf('mdat'),
    );
    const loaded = await fetched(download);
    expect(loaded.bytes.equals(previewFile.bytes)).to.equal(true);
    expect(loaded.as).to.match(/^attachment; filename="Knots\.v2\.mp4"/);
    const picture = await fetched(thumbnail);
    expect(await sharp(picture.bytes).metadata()).to.include({ format: 'jpeg', width: 640, height: 360 });
    expect(await keysOf(club)).to.have.members([id, `${id}.2-thumbnail-1`, `${id}.2-video-1`]);
    expect(await readdir(workDirectory)).to.deep.equal([]);
  });

  it('is not enlarged if it is small, even as WebM', async () => {
    const small = await realVideo('322x240', { format: 'webm' });
    const { media } = await uploadBytes({ club }, { fileName: 'k.webm', mime: 'video/webm', bytes: small });
    await sayingArrived({ club }, media.id);
    expect(await processedFile(media.id)).to.deep.equal({ done: true, outcome: 'ready' });
    const { bytes } = await fetched((await read(media.id)).preview_url);
    expect(await measured(bytes)).to.include({ mime: 'video/mp4', width: 322, height: 240 });
  });

  it('stays as uploaded if ffmpeg cannot decode it', async () => {
    const broken = await video('mov');
    const id = await readyVideo(broken);
    expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
    const { preview_url: preview, download_url: download } = await read(id);
    for (const url of [preview, download]) expect((await fetched(url)).bytes.equals(broken)).to.equal(true);
    expect(await processOldFiles((await depsWith()).db, new Date(Date.now() + 24 * 60 * minute))).to.equal(0);
  });

  it('stays as uploaded if ffmpeg is missing, and gets its renditions an hour later', async () => {
    const id = await readyVideo(large);
    const deps = await depsWith({ ffmpeg: ffmpegAt('/there/is/none') });
    const now = new Date();
    expect(await processOnce(deps, id, now)).to.deep.equal({ done: true, outcome: 'ready' });
    expect(deps.video.ffmpeg.isThere).to.equal(false);
    expect((await fetched((await read(id)).download_url)).bytes.equals(large)).to.equal(true);
    expect(await processOldFiles(deps.db, new Date(now.getTime() + 59 * minute))).to.equal(0);
    const later = new Date(now.getTime() + 60 * minute);
    expect(await processOldFiles(deps.db, later)).to.equal(1);
    expect(await processedFile(id, { at: later })).to.deep.equal({ done: true, outcome: 'ready' });
    expect(await keysOf(club)).to.have.length(3);
    expect(await processOldFiles(deps.db, new Date(later.getTime() + 600 * minute))).to.equal(0);
  });

  it('waits an hour if ffmpeg lacks an encoder', async () => {
    const real = await locate(components.ffmpeg);
    const wrapper = path.join(workDirectory, 'ffmpeg');
    const removalMark = path.join(workDirectory, 'gone');
    const breaks = {
      lacking: `case "$*" in *-encoders) echo " V....D png"; exit;; esac; exec ${real} "$@"`,
      // After the picture, an update removes the libraries of ffmpeg.
      updated: `[ -e ${removalMark} ] && exit 127; case "$*" in *original*) ${real} "$@"; touch ${removalMark}; exit;; esac; exec ${real} "$@"`,
    };
    for (const [name, script] of Object.entries(breaks)) {
      await writeFile(wrapper, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const id = await readyVideo(large);
      const deps = await depsWith({ ffmpeg: ffmpegAt(wrapper) });
      const now = new Date();
      expect(await processOnce(deps, id, now), name).to.deep.equal({ done: true, outcome: 'ready' });
      expect((await fetched((await read(id)).download_url)).bytes.equals(large), name).to.equal(true);
      const later = new Date(now.getTime() + 60 * minute);
      expect(await processOldFiles(deps.db, later), name).to.equal(1);
      expect(await processedFile(id, { at: later }), name).to.deep.equal({ done: true, outcome: 'ready' });
      expect((await read(id)).thumbnail_url, name).to.be.a('string');
    }
  });

  it('waits for disk space and for a permit, without a fault', async () => {
    const id = await readyVideo(large);
    const needed = large.length + videoBounds(2_000).fileBytes + videoRules.reserveBytes;
    const waits = { disk: { freeBytes: async () => needed - 1 }, place: { permits: { tryAcquire: () => undefined } } };
    let now = new Date();
    for (const [reason, change] of Object.entries(waits)) {
      const step = await processOnce(await depsWith(change), id, now);
      const at = now.getTime() + (reason === 'disk' ? 5 * minute : 15_000);
      expect(step).to.deep.equal({ done: false, at, faults: 0, for: reason });
      expect(await keysOf(club)).to.deep.equal([id]);
      now = new Date(at);
    }
    const last = await processOnce(await depsWith({ freeBytes: async () => needed }), id, now);
    expect(last).to.deep.equal({ done: true, outcome: 'ready' });
  });

  it('releases its permit when the worker stops, and leaves nothing on the disk', async () => {
    const id = await readyVideo(large);
    const stop = new AbortController();
    const deps = await depsWith();
    const { ffmpeg } = deps.video;
    const run: typeof ffmpeg.run = (args, options) => {
      if (args.includes('libx264')) stop.abort(new Error('WORKER_SHUTDOWN'));
      return ffmpeg.run(args, options);
    };
    const stopped: ProcessingStep = await processFile(
      { ...deps, video: { ...deps.video, ffmpeg: { ...ffmpeg, run } } },
      id,
      Date.now(),
      { beat() {}, stop: stop.signal },
    );
    expect(stopped).to.include({ done: false, faults: 0 });
    expect([deps.video.permits.tryAcquire(club.id) === undefined, await readdir(workDirectory)]).to.deep.equal([
      false,
      [],
    ]);
    expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
    expect(await keysOf(club), 'the picture of the interrupted claim is erased').to.have.members([
      id,
      `${id}.3-thumbnail-1`,
      `${id}.3-video-1`,
    ]);
  });

  it('keeps one set of renditions if a worker died before the record', async () => {
    const id = await readyVideo(large);
    const dead = Promise.withResolvers<never>();
    const rendered = Promise.withResolvers<void>();
    const failpoint = (name: string) => {
      if (name !== 'file_rendered') return Promise.resolve();
      rendered.resolve();
      return dead.promise;
    };
    processOnce(await depsWith({}, { failpoint }), id).catch(() => {});
    await rendered.promise;
    await (
      await testDatabase()
    ).query(`UPDATE media SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [id]);
    expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
    expect(await keysOf(club)).to.have.members([id, `${id}.3-thumbnail-1`, `${id}.3-video-1`]);
  });

  it('has at most 720 lines, and a time limit that depends on its duration', () => {
    const sizes = [
      [1_920, 1_080],
      [1_080, 1_920],
      [4_000, 1_000],
      [641, 361],
      [1, 1],
    ] as const;
    expect(sizes.map(([width, height]) => Object.values(videoSize({ width, height })))).to.deep.equal([
      [1_280, 720],
      [720, 1_280],
      [1_280, 320],
      [640, 360],
      [2, 2],
    ]);
    expect(videoBounds(60 * minute)).to.deep.equal({
      timeMs: 300 * minute,
      memoryMb: 2_048,
      fileBytes: 32 * 1_024 * 1_024 + 1_689_120_000,
    });
    expect([1, 2, 4, 64].map(videoPermits)).to.deep.equal([1, 1, 2, 3]);
  });
});
