/** Tests images that students attach to questions: reserve, upload, complete and view. */
import { expect } from 'chai';
import sharp from 'sharp';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { gif, jpeg, png, webp } from '../toolkit/builders/pictures.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { askingOf } from '../toolkit/drive/asking.ts';
import {
  completing,
  filesOf,
  libraryPath,
  put,
  reserve,
  reserving,
  type MediaRecord,
  type Uploader,
  uploadFile,
} from '../toolkit/drive/media.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const picture = { fileName: 'My knot.png', mime: 'image/png', bytes: png(640, 480) };

describe('agent images', () => {
  let club: TestClub;
  let student: TestStudent;
  let uploader: Uploader;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    uploader = { club, student };
  });

  describe('POST /v1/clubs/{clubId}/classroom/agent-images', () => {
    it('returns 201 with the record, and an upload address that is valid for 15 minutes', async () => {
      const { media, upload } = await reserve(uploader, picture);
      const { id, created_at: createdAt, ...rest } = media;
      expect(rest).to.deep.equal({
        kind: 'image',
        type: 'image',
        title: 'My knot.png',
        file_name: 'My knot.png',
        mime: 'image/png',
        provider: 'objstore',
        status: 'uploading',
        visibility: 'private',
        archived: false,
      });
      expect(upload).to.have.all.keys('method', 'url', 'headers', 'expires_at');
      expect(upload.method).to.equal('put');
      expect(upload.headers).to.deep.equal({
        'content-type': 'image/png',
        'content-length': String(picture.bytes.length),
        'if-none-match': '*',
      });
      expect(Date.parse(upload.expires_at) - Date.parse(createdAt)).to.equal(15 * 60_000);
      const { searchParams, pathname } = new URL(upload.url);
      expect(searchParams.get('X-Amz-Expires')).to.equal('900');
      expect(searchParams.get('X-Amz-SignedHeaders')).to.equal('content-length;content-type;host;if-none-match');
      expect(pathname.endsWith(`/media/${club.id}/${id}`)).to.equal(true);
    });

    it('returns 402 feature_not_in_plan with a message that does not mention the plan', async () => {
      await buildPlan(club.id, 'starter');
      const answer = await reserving(uploader, picture);
      expectError(answer, 'feature_not_in_plan');
      expect(answer.text).to.not.match(/plan does not/);
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('returns 422 for a wrong type or size, returns 400 for a wrong set of fields, and writes nothing', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { mime: 'image/svg+xml' },
          { mime: 'application/pdf' },
          { size_bytes: 0 },
          { size_bytes: 5 * 1_024 * 1_024 + 1 },
          { file_name: '' },
          { file_name: '../knot.png' },
        ],
        async (body) => expectError(await reserving(uploader, picture, body), 'invalid_request'),
      );
      await eachCase(
        [{ size_bytes: undefined }, { title: 'Mine' }, { size_bytes: '3' }, { owner_id: student.id }],
        async (body) => expectError(await reserving(uploader, picture, body), 'malformed_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await reserving(uploader, picture, { size_bytes: 5 * 1_024 * 1_024 })).status).to.equal(201);
    });
  });

  describe('the limit of images that no question contains', () => {
    /** Sends the requests one after another. A request that waits longer than 5 s for the student's lock is refused (ENG-17). */
    async function reserved(count: number): Promise<MediaRecord[]> {
      const records: MediaRecord[] = [];
      while (records.length < count) records.push((await reserve(uploader, picture)).media);
      return records;
    }

    it('returns 409 too_many_images for more than 20 images, even if many requests arrive simultaneously', async () => {
      const ready = await uploadFile(uploader, picture);
      // The limit also counts this failed image, because its upload address is still valid.
      await uploadFile(uploader, { ...picture, bytes: Buffer.from('not a picture') });
      await reserved(16);
      const answers = await Promise.all(Array.from({ length: 6 }, () => reserving(uploader, picture)));
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused).to.have.length(4);
      await eachCase(refused, (answer) => expectError(answer, 'too_many_images'));
      const before = await rowCounts();
      expectError(await reserving(uploader, picture), 'too_many_images');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await reserving({ club, student: await buildStudent(club.id) }, picture)).status).to.equal(201);
      expect((await completing(uploader, ready.id)).body.data.status).to.equal('ready');
    });

    it('counts an image that is being processed', async () => {
      const [first] = await reserved(20);
      const source = await testDatabase();
      // While an image is being processed, its row has no erasure time.
      await source.query(`UPDATE media SET status = 'processing', erases_at = NULL WHERE id = $1`, [first?.id]);
      expectError(await reserving(uploader, picture), 'too_many_images');
    });

    it('stops counting an image once an accepted question contains it', async () => {
      const agent = await buildOpenAgent(club.id, { dailyLimit: 1 });
      student = await buildLearner(agent);
      uploader = { club, student };
      const { ask, refused } = askingOf(agent, student);
      const [shownImage, otherImage] = [await uploadFile(uploader, picture), await uploadFile(uploader, picture)];
      await reserved(18);
      expectError(await reserving(uploader, picture), 'too_many_images');
      const { stream } = await ask({ image_ids: [shownImage.id] });
      stream.close();
      expect((await reserving(uploader, picture)).status).to.equal(201);
      expectError(await refused({ image_ids: [otherImage.id] }), 'daily_limit_reached');
      expectError(await reserving(uploader, picture), 'too_many_images');
    });
  });

  describe('POST /v1/clubs/{clubId}/media/{mediaId}/complete for an image', () => {
    it('stores a valid image as JPEG, or as PNG if it is transparent, with at most 1,600 pixels a side', async () => {
      const solid = (width: number, height: number, channels: 3 | 4 = 3) =>
        sharp({ create: { width, height, channels, background: channels === 3 ? 'teal' : '#0000' } });
      const kinds: [Buffer, string, number, number][] = [
        [png(640, 480), 'image/jpeg', 640, 480],
        [await solid(3_200, 200).jpeg().toBuffer(), 'image/jpeg', 1_600, 100],
        [await solid(7, 5, 4).gif().toBuffer(), 'image/png', 7, 5],
        [await solid(64, 32).webp().toBuffer(), 'image/jpeg', 64, 32],
      ];
      await eachCase(kinds, async ([bytes, mime, width, height]) => {
        const ready = await uploadFile(uploader, { fileName: 'knot.gif', mime: 'image/gif', bytes });
        expect(ready).to.include({ status: 'ready', mime, width, height, kind: 'image', type: 'image' });
        const download = await fetch(ready.download_url ?? '');
        expect(download.headers.get('content-type')).to.equal(mime);
        const name = `knot.${mime === 'image/png' ? 'png' : 'jpg'}`;
        expect(download.headers.get('content-disposition')).to.equal(
          `attachment; filename="${name}"; filename*=UTF-8''${name}`,
        );
        const storedBytes = Buffer.from(await download.arrayBuffer());
        expect(storedBytes.length).to.equal(ready.size_bytes);
        expect(await sharp(storedBytes).metadata()).to.include({ width, height });
        const preview = await fetch(ready.preview_url ?? '');
        expect(preview.headers.get('content-disposition')).to.match(/^inline; /);
        expect(Buffer.from(await preview.arrayBuffer()).equals(storedBytes)).to.equal(true);
      });
    });

    it('erases a file that is broken, too large, animated, without dimensions or not an image', async () => {
      const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 3);
      const wrong: [string, Buffer][] = [
        ['content_not_allowed', Buffer.from('%PDF-1.7\n%%EOF')],
        ['content_not_allowed', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
        ['content_not_allowed', Buffer.from('not a picture')],
        ['image_broken', cut(png())],
        ['image_broken', cut(jpeg())],
        ['image_broken', cut(gif())],
        ['image_broken', cut(webp())],
        ['image_broken', png(0, 3)],
        ['image_dimensions', png(8_001, 1)],
        ['image_dimensions', png(1, 8_001)],
        ['image_animated', gif(2, 2, 2)],
        ['image_animated', webp(2, 2, true)],
        ['image_animated', png(2, 2, { animated: true })],
      ];
      await eachCase(wrong, async ([error, bytes]) => {
        // Each file has its own student, because one student completes at most ten uploads a minute (LIM-24).
        const failed = await uploadFile({ club, student: await buildStudent(club.id) }, { ...picture, bytes });
        expect(failed, `${error} ${bytes.toString('latin1', 0, 12)}`).to.include({ status: 'failed', error });
        expect(failed).to.not.have.any.keys('preview_url', 'download_url', 'width', 'height');
      });
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('accepts images from 1 × 1 pixel to 50 million pixels, if no side exceeds 8,000 pixels', async () => {
      const large = await sharp({ create: { width: 8_000, height: 6_000, channels: 3, background: 'teal' } })
        .png()
        .toBuffer();
      expect(await uploadFile(uploader, { ...picture, bytes: png(1, 1) })).to.include({ width: 1, height: 1 });
      const ready = await uploadFile(uploader, { ...picture, bytes: large });
      expect(ready).to.include({ status: 'ready', width: 1_600, height: 1_200 });
    });

    it('returns 409 upload_missing before the file arrives, and 200 after the arrival', async () => {
      const { media, upload } = await reserve(uploader, picture);
      expectError(await completing(uploader, media.id), 'upload_missing');
      await put(upload, picture.bytes);
      expect((await completing(uploader, media.id)).body.data.status).to.equal('ready');
    });

    it('returns the status ready or processing to simultaneous calls, and ready to later calls', async () => {
      const { media, upload } = await reserve(uploader, picture);
      await put(upload, picture.bytes);
      // Each answer signs the addresses again, so they differ.
      const facts = (record: MediaRecord) => ({ ...record, preview_url: '', download_url: '' });
      const answers = await Promise.all(Array.from({ length: 5 }, () => completing(uploader, media.id)));
      clock.advance(60_000);
      const later = facts((await completing(uploader, media.id)).body.data);
      expect(later).to.include({ status: 'ready', width: 640, height: 480 });
      await eachCase(answers, ({ status, body }) => {
        expect(status).to.equal(200);
        if (body.data.status === 'ready') expect(facts(body.data)).to.deep.equal(later);
      });
      expect(answers.map(({ body }) => body.data.status)).to.include('ready');
    });

    it('returns 404 to administrators, and to students who did not reserve this image', async () => {
      const { media } = await reserve(uploader, picture);
      const other = { club, student: await buildStudent(club.id) };
      const elsewhere = await buildClub();
      expectError(await completing(other, media.id), 'not_found');
      expectError(await completing({ club }, media.id), 'not_found');
      expectError(await completing({ club: elsewhere }, media.id), 'not_found');
      expectError(await call('GET', libraryPath(club, media.id), { token: club.owner.token }), 'not_found');
      expectError(await call('DELETE', libraryPath(club, media.id), { token: club.owner.token }), 'not_found');
      const file = await reserve({ club }, { fileName: 'a.pdf', mime: 'application/pdf', bytes: Buffer.from('%PDF-') });
      expectError(await completing(uploader, file.media.id), 'not_found');
      const { body } = await call('GET', libraryPath(club), { token: club.owner.token });
      expect(body.data.map(({ id }: { id: string }) => id)).to.deep.equal([file.media.id]);
    });
  });
});
