/** Tests avatars of students: reserve, upload, complete, show, replace and delete (MED-28). */
import { expect } from 'chai';
import sharp from 'sharp';
import { deleteAvatar } from '../../domain/media/purposes/avatars.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildSpace, buildSpaceMembership } from '../toolkit/builders/community.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { talkingOf } from '../toolkit/drive/community.ts';
import { eraseAll, uploadBytes } from '../toolkit/drive/erasure.ts';
import {
  completing,
  keysOf,
  mediaDeps,
  reserve,
  reserving,
  sayingArrived,
  uploadFile,
  type TestFile,
  type Uploader,
} from '../toolkit/drive/media.ts';
import { processingDeps, processOnce } from '../toolkit/drive/processing.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const solid = (width: number, height: number, background = 'teal', channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background } });
const pictureOf = async (width: number, height: number, background?: string): Promise<TestFile> => ({
  fileName: 'Me at the helm.jpg',
  mime: 'image/jpeg',
  bytes: await solid(width, height, background).jpeg().toBuffer(),
});

/** Two images of 20 × 30 pixels. */
async function animation(): Promise<Buffer> {
  const pictures = await Promise.all(['red', 'blue'].map((color) => solid(20, 30, color).png().toBuffer()));
  return sharp(pictures, { join: { animated: true } })
    .webp()
    .toBuffer();
}

describe('avatars of students', () => {
  let club: TestClub;
  let course: OpenCourse;
  let student: Learner;
  let uploader: Uploader;
  let portrait: TestFile;
  before(async () => {
    portrait = await pictureOf(640, 480);
  });
  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id);
    student = await buildLearner(course);
    uploader = { club, student, uploads: 'avatar' };
  });

  const own = async (): Promise<string | undefined> =>
    (await call('GET', '/v1/auth/session', { token: student.token })).body.data.avatar_url;
  const opened = async (address: string | undefined) => {
    const answer = await fetch(address ?? '');
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      bytes: Buffer.from(await answer.arrayBuffer()),
    };
  };
  const colorOf = async (address: string | undefined) => {
    const { dominant } = await sharp((await opened(address)).bytes).stats();
    return dominant.r > dominant.b ? 'red' : 'blue';
  };
  const deleting = (token = student.token) => call('DELETE', `/v1/clubs/${club.id}/classroom/avatar`, { token });
  const storage = async () => (await callsOf(club)('GET', '/media/storage')).body;
  const readyOnes = async (): Promise<number> => {
    const rows = await (
      await testDatabase()
    ).query<object[]>(
      `SELECT FROM media WHERE owner_id = $1 AND purpose = 'avatar' AND status = 'ready' AND removed_at IS NULL`,
      [student.id],
    );
    return rows.length;
  };

  describe('POST /v1/clubs/{clubId}/classroom/avatar', () => {
    it('returns the record and a signed upload request, and shows the avatar only when it is ready', async () => {
      const { media, upload } = await reserve(uploader, portrait);
      expect(media).to.include({
        status: 'uploading',
        kind: 'image',
        visibility: 'private',
        title: 'Me at the helm.jpg',
      });
      expect(upload.headers).to.deep.equal({
        'content-type': 'image/jpeg',
        'content-length': String(portrait.bytes.length),
        'if-none-match': '*',
      });
      expect(Date.parse(upload.expires_at) - Date.parse(media.created_at)).to.equal(15 * 60_000);
      expect(await own()).to.equal(undefined);
    });

    it('returns 422 for a wrong type or size, returns 400 for a wrong set of fields, and writes nothing', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { mime: 'image/svg+xml' },
          { mime: 'application/pdf' },
          { size_bytes: 0 },
          { size_bytes: 10 * 1_024 * 1_024 + 1 },
          { file_name: '../me.png' },
        ],
        async (body) => expectError(await reserving(uploader, portrait, body), 'invalid_request'),
      );
      await eachCase([{ size_bytes: undefined }, { title: 'Me' }, { owner_id: student.id }], async (body) =>
        expectError(await reserving(uploader, portrait, body), 'malformed_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await reserving(uploader, portrait, { size_bytes: 10 * 1_024 * 1_024 })).status).to.equal(201);
    });

    it('returns 409 too_many_images while ten upload addresses are valid, even if their files were deleted', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => reserving(uploader, portrait)));
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused).to.have.length(2);
      await eachCase(refused, (answer) => expectError(answer, 'too_many_images'));
      await deleting();
      expectError(await reserving(uploader, portrait), 'too_many_images');
      const other = { ...uploader, student: await buildStudent(club.id) };
      expect((await reserving(other, portrait)).status).to.equal(201);
      clock.advance(15 * 60_000);
      expect((await reserving(uploader, portrait)).status).to.equal(201);
    });

    it('returns 402 limit_reached if the club has no storage left, and keeps the shown avatar', async () => {
      await uploadFile(uploader, portrait);
      await buildPlan(club.id, 'trial');
      const source = await testDatabase();
      await source.query(`UPDATE club_storage SET bytes = 1000000000000 WHERE club_id = $1`, [club.id]);
      expectError(await reserving(uploader, portrait), 'limit_reached');
      expect((await opened(await own())).status).to.equal(200);
    });
  });

  describe('a ready avatar', () => {
    it('is stored as an upright, centered square of at most 512 pixels, as JPEG or PNG without metadata', async () => {
      const halves = await solid(300, 100, 'red')
        .composite([{ input: await solid(100, 100, 'blue').png().toBuffer(), left: 100, top: 0 }])
        .removeAlpha()
        .png()
        .toBuffer();
      const withPlace = await solid(900, 1_200)
        .withExif({ IFD0: { Artist: 'Ada' }, IFD3: { GPSLatitude: '53/1 33/1 0/1' } })
        .jpeg()
        .toBuffer();
      const kinds: [Buffer, string, number][] = [
        [halves, 'image/jpeg', 100],
        [withPlace, 'image/jpeg', 512],
        [await solid(3_200, 700).webp().toBuffer(), 'image/jpeg', 512],
        [await solid(7, 5, '#0000', 4).png().toBuffer(), 'image/png', 5],
        [await animation(), 'image/jpeg', 20],
      ];
      await eachCase(kinds, async ([bytes, mime, side]) => {
        const ready = await uploadFile(uploader, { ...portrait, bytes });
        expect(ready).to.include({ status: 'ready', mime, width: side, height: side });
        const { type, bytes: storedBytes } = await opened(await own());
        expect([type, storedBytes.length]).to.deep.equal([mime, ready.size_bytes]);
        const { width, height, exif } = await sharp(storedBytes).metadata();
        expect([width, height, exif]).to.deep.equal([side, side, undefined]);
        if (bytes === halves) expect(await colorOf(await own())).to.equal('blue');
      });
    });

    it('is shown with the student, the student’s posts and comments, and only at a signed address', async () => {
      await uploadFile(uploader, portrait);
      const space = await buildSpace(club.id);
      await buildSpaceMembership(space, student.id);
      const talk = talkingOf(club.id, student.token);
      const post = (await talk.publish(space.id)).body.data;
      const classroom = classroomOf(course, student);
      const lesson = course.lessons[0]?.publicId ?? '';
      const send = callsOf(club);
      const email = `?q=${encodeURIComponent(student.email)}`;
      const addresses: Record<string, string | undefined> = {
        session: await own(),
        read: (await send('GET', `/students/${student.id}`)).body.data.avatar_url,
        list: (await send('GET', '/students')).body.data[0].avatar_url,
        search: (await send('GET', `/students${email}`)).body.data[0].avatar_url,
        change: (await send('PATCH', `/students/${student.id}`, { name: 'Ada' })).body.data.avatar_url,
        post: post.author.avatar_url,
        posts: (await talk.posts(space.id)).body.data[0].author.avatar_url,
        comment: (await talk.comment(post.public_id)).body.data.author.avatar_url,
        comments: (await talk.comments(post.public_id)).body.data[0].author.avatar_url,
        lessonComment: (await classroom.comment(lesson, 'Aye')).body.data.author.avatar_url,
        lessonComments: (await classroom.comments(lesson)).body.data[0].author.avatar_url,
      };
      const paths = new Set(Object.values(addresses).map((address) => new URL(address ?? '').pathname));
      expect(paths.size).to.equal(1);
      await eachCase(Object.values(addresses), async (address) => expect((await opened(address)).status).to.equal(200));
      expect((await opened(addresses['session']?.split('?')[0])).status).to.equal(403);
    });

    it('replaces and erases the previous avatar, and only its owner can read its record', async () => {
      const before = await uploadFile(uploader, await pictureOf(64, 64, 'blue'));
      const address = await own();
      const after = await uploadFile(uploader, await pictureOf(64, 64, 'red'));
      expect([await colorOf(await own()), await readyOnes()]).to.deep.equal(['red', 1]);
      await eraseAll(clock.now());
      expect((await opened(address)).status).to.equal(404);
      expect((await keysOf(club)).filter((key) => key.startsWith(before.id))).to.deep.equal([]);
      expect(await storage()).to.deep.include({ files: 1, bytes: after.size_bytes });
      expectError(await completing(uploader, before.id), 'not_found');
      const other = { ...uploader, student: await buildStudent(club.id) };
      expectError(await completing(other, after.id), 'not_found');
      expectError(await completing({ club }, after.id), 'not_found');
      expectError(await callsOf(club)('DELETE', `/media/${after.id}`), 'not_found');
      expectError(await callsOf(club)('POST', `/media/${after.id}/publish`), 'not_found');
    });

    it('is the only ready avatar of its student, because the database allows no second one', async () => {
      const { id } = await uploadFile(uploader, portrait);
      const source = await testDatabase();
      const copy = `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, created_at, updated_at)
        SELECT gen_random_uuid(), club_id, purpose, owner_id, kind, title, provider, $2, created_at, updated_at FROM media WHERE id = $1`;
      await source.query(copy, [id, 'uploading']);
      const refused = await source.query(copy, [id, 'ready']).then(
        () => 'inserted',
        (error: { constraint?: string }) => error.constraint,
      );
      expect(refused).to.equal('media_avatar');
    });
  });

  describe('the last reservation of an avatar', () => {
    it('replaces an earlier upload that is incomplete or that a worker is processing', async () => {
      const [first, second] = [await pictureOf(64, 64, 'blue'), await pictureOf(64, 64, 'red')];
      const uncompleted = await uploadBytes(uploader, first);
      const processed = await uploadBytes(uploader, first);
      expectError(await completing(uploader, uncompleted.media.id), 'not_found');
      expect((await sayingArrived(uploader, processed.media.id)).body.data.status).to.equal('processing');
      const last = Promise.withResolvers<string>();
      const failpoint = async (name: string) => {
        if (name === 'file_rendered') last.resolve((await uploadBytes(uploader, second)).media.id);
      };
      const step = await processOnce(await processingDeps({ failpoint }), processed.media.id);
      expect(step).to.deep.equal({ done: true, outcome: 'removed' });
      expect(await own()).to.equal(undefined);
      expect((await completing(uploader, await last.promise)).body.data.status).to.equal('ready');
      expect([await colorOf(await own()), await readyOnes()]).to.deep.equal(['red', 1]);
      await eraseAll(clock.now());
      expect(new Set((await keysOf(club)).map((key) => key.split('.')[0]))).to.deep.equal(
        new Set([await last.promise]),
      );
    });
  });

  it('stay unchanged if the new file is broken, a decompression bomb or no image', async () => {
    await uploadFile(uploader, portrait);
    const keys = await keysOf(club);
    const wrong: [string, Buffer][] = [
      ['content_not_allowed', Buffer.from('%PDF-1.7\n%%EOF')],
      ['content_not_allowed', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
      ['image_broken', png().subarray(0, 40)],
      ['image_broken', png(8_000, 6_400)], // a few bytes that declare 51 million pixels
    ];
    await eachCase(wrong, async ([error, bytes]) => {
      const failed = await uploadFile(uploader, { ...portrait, bytes });
      expect(failed).to.include({ status: 'failed', error });
      expect(await keysOf(club)).to.deep.equal(keys);
    });
    expect(await storage()).to.deep.include({ files: 1 });
    expect((await opened(await own())).status).to.equal(200);
  });

  describe('DELETE /v1/clubs/{clubId}/classroom/avatar', () => {
    it('erases the avatar and a pending upload, and also succeeds if repeated', async () => {
      const address = await uploadFile(uploader, portrait).then(own);
      const onItsWay = await uploadBytes(uploader, portrait);
      const other = await buildStudent(club.id);
      expect((await deleting(other.token)).status).to.equal(204);
      expect((await opened(address)).status).to.equal(200);
      for (const _ of ['once', 'again']) {
        expect((await deleting()).status).to.equal(204);
        expect([await own(), await keysOf(club)]).to.deep.equal([undefined, []]);
      }
      expect((await opened(address)).status).to.equal(404);
      expectError(await completing(uploader, onItsWay.media.id), 'not_found');
      expect(await storage()).to.deep.include({ files: 0, bytes: 0 });
    });

    it('succeeds while the bucket is unreachable, and upkeep erases the file later', async () => {
      const { id } = await uploadFile(uploader, portrait);
      const away: Partial<ObjectStore> = { remove: () => Promise.reject(new Error('Store is unreachable')) };
      await deleteAvatar(await mediaDeps(() => away), { clubId: club.id, studentId: student.id }, clock.now());
      expect([await own(), (await keysOf(club)).length > 0]).to.deep.equal([undefined, true]);
      await eraseAll(clock.now());
      expect((await keysOf(club)).filter((key) => key.startsWith(id))).to.deep.equal([]);
    });
  });

  it('are erased when the student is removed', async () => {
    await uploadFile(uploader, portrait);
    await callsOf(club)('DELETE', `/students/${student.id}`);
    const source = await testDatabase();
    expect(await source.query('SELECT avatar_key FROM students WHERE id = $1', [student.id])).to.deep.equal([
      { avatar_key: null },
    ]);
    await eraseAll(clock.now());
    expect(await keysOf(club)).to.deep.equal([]);
  });
});
