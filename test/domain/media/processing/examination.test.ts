/** Tests older files under newer rules (MED-30), and videos in submissions (MED-24). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { processOldFiles } from '../../../../domain/media/processing/old-files.ts';
import { processFile, type ProcessingDeps } from '../../../../domain/media/processing/step.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { ffmpegAt } from '../../../../platform/infra/video/ffmpeg.ts';
import { buildLearner, buildOpenCourse } from '../../../toolkit/builders/access.ts';
import { buildAssignment } from '../../../toolkit/builders/assignments.ts';
import { buildClub, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { ffmpegOutput, videoOf } from '../../../toolkit/builders/coded-videos.ts';
import { video } from '../../../toolkit/builders/played-files.ts';
import { realVideo } from '../../../toolkit/builders/real-videos.ts';
import { storageCounts } from '../../../toolkit/assert/storage.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { handingInOf, reviewingOf } from '../../../toolkit/drive/assignments.ts';
import { callsOf } from '../../../toolkit/drive/club-calls.ts';
import { eraseAll, uploadBytes } from '../../../toolkit/drive/erasure.ts';
import { keysOf, mediaDeps, sayingArrived, send, type MediaRecord } from '../../../toolkit/drive/media.ts';
import { processedFile, processingDeps, processOnce } from '../../../toolkit/drive/processing.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const hour = 3_600_000;

describe('older files under newer rules (MED-30)', function () {
  this.timeout(30_000);
  let club: TestClub;
  let student: TestStudent;
  let course: Awaited<ReturnType<typeof buildOpenCourse>>;
  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 1 });
    student = await buildLearner(course);
  });

  const read = async (id: Id): Promise<MediaRecord> => (await callsOf(club)('GET', `/media/${id}`)).body.data;
  const fetched = async (url: string | undefined) => Buffer.from(await (await fetch(url ?? '')).arrayBuffer());
  const rowOf = async (id: Id, columns: string) =>
    (await (await testDatabase()).query(`SELECT ${columns} FROM media WHERE id = $1`, [id]))[0];
  /** Returns the number of woken files. */
  async function catchUp(id: Id, deps: Partial<ProcessingDeps> = {}, at = new Date()): Promise<number> {
    const woken = await processOldFiles((await processingDeps()).db, at);
    if (woken > 0) await processedFile(id, { deps, at });
    return woken;
  }
  async function libraryFile(fileName: string, mime: string, bytes: Buffer): Promise<Id> {
    const { media } = await uploadBytes({ club }, { fileName, mime, bytes });
    await sayingArrived({ club }, media.id);
    await processedFile(media.id);
    return media.id;
  }

  describe('a photo', () => {
    const rotatedPhoto = () =>
      sharp({ create: { width: 400, height: 200, channels: 3, background: 'teal' } })
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer();

    it('has the size after its rotation', async () => {
      const id = await libraryFile('knot.jpg', 'image/jpeg', await rotatedPhoto());
      const record = await read(id);
      expect(record).to.include({ status: 'ready', width: 200, height: 400 });
      expect(record).to.not.have.property('mp4');
      expect(await sharp(await fetched(record.preview_url)).metadata()).to.include({ width: 200, height: 400 });
      expect(await catchUp(id)).to.equal(0);
    });

    it('gets its rotated size once if an old release processed it', async () => {
      const id = await libraryFile('knot.jpg', 'image/jpeg', await rotatedPhoto());
      await alter('media', id, { examined: 0, width: 400, height: 200 });
      const before = await keysOf(club);
      expect(await catchUp(id)).to.equal(1);
      expect(await rowOf(id, 'width, height, examined, status')).to.deep.equal({
        width: 200,
        height: 400,
        examined: 1,
        status: 'ready',
      });
      expect(await keysOf(club)).to.deep.equal(before);
      expect((await fetched((await read(id)).thumbnail_url)).length).to.be.above(0);
      expect(await catchUp(id)).to.equal(0);
    });

    it('gets its rotated size even if it belongs to a submission or a post', async () => {
      for (const purpose of ['assignment', 'post']) {
        const id = await libraryFile('knot.jpg', 'image/jpeg', await rotatedPhoto());
        await alter('media', id, { purpose, owner_id: student.id, examined: 0, width: 400, height: 200 });
        expect(await catchUp(id), purpose).to.equal(1);
        expect(await rowOf(id, 'width, height')).to.deep.equal({ width: 200, height: 400 });
      }
    });

    it('does not change if newer rules find it broken', async () => {
      const id = await libraryFile('knot.jpg', 'image/jpeg', await rotatedPhoto());
      const storage = await mediaDeps();
      const { object_key: key, size_bytes: size } = await rowOf(id, 'object_key, size_bytes');
      await storage.storage.empty(key);
      await alter('media', id, { examined: 0, size_bytes: 0 });
      expect(await catchUp(id)).to.equal(1);
      expect(await rowOf(id, 'width, height, status, examined')).to.deep.equal({
        width: 200,
        height: 400,
        status: 'ready',
        examined: 1,
      });
      expect(Number(size)).to.be.above(0);
    });
  });

  describe('a video of the library', () => {
    it('shows whether its MP4 is `pending`, `made` or `impossible`', async () => {
      const { media } = await uploadBytes(
        { club },
        { fileName: 'k.mov', mime: 'video/quicktime', bytes: await realVideo('320x240', { format: 'mov' }) },
      );
      expect(media.mp4).to.equal('pending');
      const arrived = await sayingArrived({ club }, media.id);
      expect(arrived.body.data).to.include({ status: 'processing', mp4: 'pending' });
      await processOnce(await processingDeps(), media.id);
      expect(await read(media.id)).to.include({ status: 'ready', mp4: 'pending' });
      await processedFile(media.id);
      expect(await read(media.id)).to.include({ status: 'ready', mp4: 'made' });

      const broken = await libraryFile('b.mov', 'video/quicktime', await video('mov'));
      expect(await read(broken)).to.include({ status: 'ready', mp4: 'impossible' });
      const none = await libraryFile('n.mov', 'video/quicktime', Buffer.from('no video at all'));
      expect(await read(none)).to.include({ status: 'failed', mp4: 'impossible' });
      const text = await libraryFile('t.txt', 'text/plain', Buffer.from('no video at all'));
      expect(await read(text)).to.not.have.property('mp4');
      const { body } = await callsOf(club)('POST', '/media/references', {
        provider: 'videosite1',
        external_id: 'https://youtu.be/dQw4w9WgXcQ',
        title: 'Elsewhere',
      });
      expect(body.data).to.include({ kind: 'video', status: 'ready' }).and.to.not.have.property('mp4');
    });

    it('shows its MP4 as `pending` if ffmpeg is missing', async () => {
      const bytes = await realVideo('320x240', { format: 'mov' });
      const { media } = await uploadBytes({ club }, { fileName: 'k.mov', mime: 'video/quicktime', bytes });
      await sayingArrived({ club }, media.id);
      const deps = await processingDeps();
      const without = { video: { ...deps.video, ffmpeg: ffmpegAt('/there/is/none') } };
      const now = new Date();
      await processedFile(media.id, { deps: without, at: now });
      expect(await read(media.id)).to.include({ status: 'ready', mp4: 'pending' });
      expect(await rowOf(media.id, 'examined')).to.deep.equal({ examined: 0 });
      expect(await catchUp(media.id, {}, now)).to.equal(0);
      expect(await catchUp(media.id, {}, new Date(now.getTime() + hour))).to.equal(1);
      expect(await read(media.id)).to.include({ mp4: 'made' });

      const broken = await libraryFile('b.mov', 'video/quicktime', await video('mov'));
      await alter('media', broken, { examined: 0 });
      expect(await read(broken), 'the video is tried once more').to.include({ mp4: 'pending' });
      expect(await catchUp(broken)).to.equal(1);
      expect(await read(broken)).to.include({ mp4: 'impossible' });
    });

    it('keeps a replaced HDR MP4 until its addresses expire', async () => {
      const plain = await libraryFile('p.mov', 'video/quicktime', await realVideo('320x240', { format: 'mov' }));
      const coding = { says: { primaries: 'bt2020', transfer: 'arib-std-b67' }, matrix: 'bt2020nc' } as const;
      const copyOptions = ['-c', 'copy', '-movflags', 'write_colr', '-tag:v', 'hvc1'];
      const bright = await ffmpegOutput(copyOptions, 'mov', await videoOf([0.75, 0.75, 0.75], coding));
      const hdr = await libraryFile('h.mov', 'video/quicktime', bright);
      await alter('media', plain, { examined: 0, width: 1, height: 2 });
      await alter('media', hdr, { examined: 0 });
      const before = await keysOf(club);
      const old = (await read(hdr)).preview_url;
      const now = new Date();
      expect(await processOldFiles((await processingDeps()).db, now)).to.equal(2);
      for (const id of [plain, hdr]) await processedFile(id, { at: now });
      expect(await rowOf(plain, 'width, height, examined')).to.deep.equal({ width: 320, height: 240, examined: 1 });
      const added = [`${hdr}.3-thumbnail-1`, `${hdr}.3-video-1`];
      expect(await keysOf(club)).to.have.members([...before, ...added]);
      expect((await fetched(old)).length).to.be.above(0);
      expect(await read(hdr)).to.include({ mp4: 'made' });
      await eraseLeftovers(await mediaDeps(), new Date(now.getTime() + 2 * hour));
      expect(await keysOf(club)).to.have.members([...before.filter((key) => !key.startsWith(`${hdr}.2`)), ...added]);
      expect((await fetched((await read(hdr)).preview_url)).subarray(4, 8).toString()).to.equal('ftyp');
    });
  });

  describe('a video in a submission (MED-24)', () => {
    const handingIn = () => handingInOf({ clubId: club.id }, student);
    const unsent = async (): Promise<MediaRecord[]> => (await handingIn().unsent()).body.data;
    async function handedVideo(bytes: Buffer): Promise<Id> {
      const reserved = await handingIn().reserve({ file_name: 'My knot.mov', mime: 'video/quicktime' });
      expect(reserved.body.data).to.include({ mp4: 'pending', provider: 'objstore' });
      await send(reserved.body.upload, bytes);
      await sayingArrived({ club, student }, reserved.body.data.id);
      return reserved.body.data.id;
    }
    const hevc = () => videoOf([0.7, 0.2, 0.1], { says: { primaries: 'bt709', transfer: 'bt709' }, matrix: 'bt709' });

    it('is played as an MP4 and downloaded unchanged', async () => {
      const bytes = await hevc();
      const id = await handedVideo(bytes);
      expect(await processOnce(await processingDeps(), id)).to.include({ done: false, for: 'turn' });
      expect(await unsent()).to.have.length(1);
      expect((await unsent())[0]).to.include({ status: 'ready', mp4: 'pending' });
      await processedFile(id);

      const lesson = { clubId: club.id, id: course.lessons[0]?.id ?? '' };
      const assignment = await buildAssignment(lesson, { maxFiles: 1, takesText: false });
      const sentAnswer = await handingIn().send(assignment.id, { file_ids: [id] });
      expect(sentAnswer.status, sentAnswer.text).to.equal(201);
      const submission: Id = sentAnswer.body.data.id;
      const reviewed = await reviewingOf(club).read(submission);
      for (const answer of [sentAnswer, await handingIn().read(submission), reviewed]) {
        const [file] = answer.body.data.attempts[0].files as MediaRecord[];
        expect(file).to.include({ status: 'ready', mp4: 'made', size_bytes: bytes.length });
        const played = await fetch(file?.preview_url ?? '');
        expect(played.headers.get('content-type')).to.equal('video/mp4');
        expect(Buffer.from(await played.arrayBuffer()).includes('avc1')).to.equal(true);
        const loaded = await fetch(file?.download_url ?? '');
        expect(loaded.headers.get('content-disposition')).to.match(/^attachment; filename="My knot\.mov"/);
        expect(Buffer.from(await loaded.arrayBuffer()).equals(bytes)).to.equal(true);
        expect(await sharp(await fetched(file?.thumbnail_url)).metadata()).to.include({ width: 320, height: 180 });
      }
      const { counted, there } = await storageCounts(club.id);
      expect(counted)
        .to.deep.equal(there)
        .and.to.deep.equal([`video ${bytes.length} 1 0`]);
    });

    it('is erased with its MP4', async () => {
      const bytes = await hevc();
      const dropped = await handedVideo(bytes);
      await processedFile(dropped);
      expect(await keysOf(club)).to.have.length(3);
      expect((await handingIn().drop(dropped)).status).to.equal(204);
      expect(await keysOf(club)).to.deep.equal([]);

      const late = await handedVideo(bytes);
      await processedFile(late);
      await eraseAll(new Date(Date.now() + 8 * 24 * hour));
      expect(await keysOf(club)).to.deep.equal([]);

      const id = await handedVideo(bytes);
      await processedFile(id);
      expect((await callsOf(club)('DELETE', `/students/${student.id}`)).status).to.equal(204);
      await eraseAll(new Date());
      expect(await keysOf(club)).to.deep.equal([]);
      expect((await storageCounts(club.id)).counted).to.deep.equal([]);
    });

    for (const failpoint of ['file_claimed', 'file_rendered', 'file_recorded'])
      it(`has one MP4 if a worker dies at ${failpoint}`, async () => {
        const id = await handedVideo(await hevc());
        await processOnce(await processingDeps(), id);
        const [dead, reached] = [Promise.withResolvers<never>(), Promise.withResolvers<void>()];
        const dying = await processingDeps({
          failpoint(name) {
            if (name !== failpoint) return Promise.resolve();
            reached.resolve();
            return dead.promise;
          },
        });
        processOnce(dying, id).catch(() => {});
        await reached.promise;
        await (
          await testDatabase()
        ).query(
          `UPDATE media SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1 AND lease_until IS NOT NULL`,
          [id],
        );
        expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
        expect((await unsent())[0]).to.include({ mp4: 'made' });
        expect(await keysOf(club)).to.have.length(3);
      });

    it('leaves no object if the video is deleted while ffmpeg works', async () => {
      const id = await handedVideo(await hevc());
      await processOnce(await processingDeps(), id);
      const deps = await processingDeps();
      const root = await mkdtemp(path.join(tmpdir(), 'dropped-test-'));
      const { ffmpeg } = deps.video;
      const run: typeof ffmpeg.run = async (args, options) => {
        if (args.includes('libx264')) await handingIn().drop(id);
        return ffmpeg.run(args, options);
      };
      const step = await processFile(
        { ...deps, video: { ...deps.video, workDirectory: root, ffmpeg: { ...ffmpeg, run } } },
        id,
        Date.now(),
        { beat() {}, stop: new AbortController().signal },
      );
      await rm(root, { recursive: true });
      expect(step).to.deep.equal({ done: true, outcome: 'removed' });
      expect(await keysOf(club)).to.deep.equal([]);
    });

    it('gets its MP4 later if a worker of an old release processed it', async () => {
      const id = await handedVideo(await hevc());
      await processOnce(await processingDeps(), id);
      // The state after an older worker processed it.
      await alter('media', id, { processed_at: new Date(), looks_at: null, lease_until: null });
      expect((await unsent())[0]).to.include({ status: 'ready', mp4: 'pending' });
      expect(await catchUp(id)).to.equal(1);
      expect((await unsent())[0]).to.include({ status: 'ready', mp4: 'made' });
      expect(await catchUp(id)).to.equal(0);
    });
  });
});
