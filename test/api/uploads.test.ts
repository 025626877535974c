/** Tests resumable uploads of videos at the listener for files (MED-26). */
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import * as tus from 'tus-js-client';
import { partBytes } from '../../platform/infra/store/part-store.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { openFurtherSession } from '../toolkit/builders/sessions.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { video } from '../toolkit/builders/played-files.ts';
import { uploadWrites } from '../../api/metrics.ts';
import { startApi, type RunningApi } from '../../api/server.ts';
import { call, clock, expectError, testConfig } from '../toolkit/drive/api.ts';
import { eraseAll, leftOf, mediaState } from '../toolkit/drive/erasure.ts';
import {
  beginUpload,
  completing,
  keysOf,
  libraryPath,
  reserve,
  reserving,
  sayingArrived,
  sendPiece,
  uploadFile,
  type Reserved,
  type Uploader,
} from '../toolkit/drive/media.ts';
import { until } from '../toolkit/drive/until.ts';
import { withoutTimersOf } from '../toolkit/fakes/timers.ts';
import { useLine } from '../toolkit/stack/api-processes.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';

const hour = 3_600_000;
const soon = { timeoutMs: 10_000 };
/** Random content, which is never processed. */
const bytesOf = (length: number) => ({ fileName: 'lecture.mp4', mime: 'video/mp4', bytes: randomBytes(length) });

interface Refusal {
  status: number;
  code: string;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const { error } = (await response.json()) as { error: { code: string } };
  return { status: response.status, code: error.code };
}

describe('uploads of videos', () => {
  let club: TestClub;
  let uploader: Uploader;
  let student: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    uploader = { club };
    student = await buildStudent(club.id);
  });

  const started = async ({ upload }: Reserved, length: number): Promise<string> => {
    const answer = await beginUpload(upload, length);
    expect(answer.status).to.equal(201);
    return answer.headers.get('location') ?? '';
  };
  const request = (method: string, location: string, headers: Record<string, string>) =>
    fetch(location, { method, headers: { 'tus-resumable': '1.0.0', ...headers } });
  const offsetAt = async ({ upload }: Reserved, location: string) =>
    Number((await request('HEAD', location, upload.headers)).headers.get('upload-offset'));
  const renewing = (id: string, token = club.owner.token) => call('POST', libraryPath(club, id, 'upload'), { token });
  /** Renews the upload in a new session, because the first session has ended before the upload ends. */
  const renewingLater = async (id: string) =>
    renewing(id, await openFurtherSession('admin', club.owner.id, clock.now()));
  const heldBytes = async (): Promise<number> => {
    const [row] = await (
      await testDatabase()
    ).query<{ reserved: string }[]>(
      `SELECT (SELECT coalesce(sum(held), 0) FROM club_storage WHERE club_id = $1)
            + (SELECT coalesce(sum(held), 0) FROM club_storage_changes WHERE club_id = $1) AS reserved`,
      [club.id],
    );
    return Number(row?.reserved);
  };
  const storedOf = async (id: string) => {
    const store = await testObjectStore();
    const size = (await store.size(`media/${club.id}/${id}`)) ?? 0;
    return store.read(`media/${club.id}/${id}`, 0, size);
  };
  /** Stores a part like a process that crashes before it joins the parts. */
  const storePart = async (id: string, part: number, bytes: Buffer): Promise<void> => {
    const [row] = await (
      await testDatabase()
    ).query<{ multipart: string }[]>('SELECT multipart_id AS multipart FROM media_uploads WHERE id = $1', [id]);
    await (await testBucket()).storePart(`media/${club.id}/${id}`, row?.multipart ?? '', part, bytes);
  };
  const reserveWork = async (): Promise<Reserved> => {
    const path = `/v1/clubs/${club.id}/classroom/assignment-files`;
    const { body } = await call('POST', path, {
      token: student.token,
      body: { file_name: 'talk.mp4', mime: 'video/mp4' },
    });
    return { media: body.data, upload: body.upload };
  };

  /** Starts to upload a video of a student's work, and sends only the first bytes. */
  async function sendSlowly(filesUrl: string, bytes: number): Promise<http.ClientRequest> {
    const reserved = await reserveWork();
    await started(reserved, partBytes + 1_000);
    const sending = http.request(`${filesUrl}/uploads/${reserved.media.id}`, {
      method: 'PATCH',
      headers: {
        ...reserved.upload.headers,
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-length': String(partBytes + 1_000),
        'content-type': 'application/offset+octet-stream',
      },
    });
    sending.on('error', () => {}).write(Buffer.alloc(bytes));
    return sending;
  }
  const writesUnderWay = async () => (await uploadWrites.get()).values[0]?.value;

  it('arrive in pieces, end with the last piece, and become ready with unchanged bytes', async () => {
    const file = bytesOf(partBytes * 2 + 1_000);
    const reserved = await reserve(uploader, file);
    expect(reserved.upload.method).to.equal('tus');
    expect(reserved.media.provider).to.equal('hostedvideo_stream');
    const location = await started(reserved, file.bytes.length);
    // One piece is smaller than a part, one piece crosses the end of a part, and one piece is the rest of the file.
    for (const [from, to] of [
      [0, 3_000_000],
      [3_000_000, partBytes + 5],
      [partBytes + 5, file.bytes.length],
    ] as const) {
      expect(await offsetAt(reserved, location)).to.equal(from);
      const answer = await sendPiece(reserved.upload, location, file.bytes.subarray(from, to), { at: from });
      expect([answer.status, answer.headers.get('upload-offset')]).to.deep.equal([204, String(to)]);
    }
    expect(await mediaState(reserved.media.id)).to.equal('processing key');
    expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
    expect(await keysOf(club)).to.deep.equal([reserved.media.id]);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
    expect(await heldBytes()).to.equal(0);

    const bytes = await video('mp4');
    const ready = await uploadFile(uploader, { fileName: 'short.mp4', mime: 'video/mp4', bytes });
    expect([ready.status, ready.size_bytes]).to.deep.equal(['ready', bytes.length]);
    const delivered = await fetch(ready.download_url ?? '');
    const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');
    expect(sha(Buffer.from(await delivered.arrayBuffer()))).to.equal(sha(bytes));
  });

  it('return the first Location to a repeated creation, and the offset after a lost answer', async () => {
    const file = bytesOf(1_000);
    const reserved = await reserve(uploader, file);
    const both = await Promise.all([1, 2].map(() => beginUpload(reserved.upload, 1_000)));
    expect(both.map(({ status }) => status)).to.deep.equal([201, 201]);
    const locations = both.map(({ headers }) => headers.get('location') ?? '');
    expect(new Set(locations).size).to.equal(1);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.have.length(1);
    const [location = ''] = locations;
    await sendPiece(reserved.upload, location, file.bytes);
    expect(await started(reserved, 1_000)).to.equal(location);
    expect(await offsetAt(reserved, location)).to.equal(1_000);
    expect(await refusalOf(await sendPiece(reserved.upload, location, file.bytes))).to.deep.equal({
      status: 409,
      code: 'upload_ended',
    });
    const again = await request('DELETE', location, reserved.upload.headers);
    expect(await refusalOf(again)).to.deep.equal({ status: 409, code: 'upload_ended' });
    expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
  });

  it('refuse creations with a body or without the declared length, and leave nothing', async () => {
    const reserved = await reserve(uploader, bytesOf(1_000));
    const before = await rowCounts();
    await eachCase(
      [
        [{ 'upload-length': '1001' }, 422, 'invalid_request'],
        [{ 'upload-length': '0' }, 422, 'invalid_request'],
        [{ 'upload-length': '-1' }, 422, 'invalid_request'],
        [{ 'upload-length': '99999999999999999999' }, 422, 'invalid_request'],
        [{ 'upload-length': '', 'upload-defer-length': '1' }, 422, 'invalid_request'],
        [{ 'upload-concat': 'partial' }, 422, 'invalid_request'],
        [{ 'content-type': 'application/offset+octet-stream' }, 415, 'unsupported_media_type'],
        [{ 'tus-resumable': '0.2.2' }, 412, 'tus_version'],
        [{ authorization: 'Bearer x' }, 401, 'unauthenticated'],
      ] as const,
      async ([others, status, code]) =>
        expect(await refusalOf(await beginUpload(reserved.upload, 1_000, others))).to.deep.equal({ status, code }),
    );
    expect(await rowCounts()).to.deep.equal(before);
    expect(await keysOf(club)).to.deep.equal([]);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
  });

  it('refuse wrong offsets, wrong bodies and every GET, and keep the offset', async () => {
    const file = bytesOf(1_000);
    const reserved = await reserve(uploader, file);
    const location = await started(reserved, 1_000);
    const { upload } = reserved;
    await sendPiece(upload, location, file.bytes.subarray(0, 400));
    const piece = file.bytes.subarray(400, 500);
    await eachCase(
      [
        [0, {}, 409, 'upload_offset'],
        [500, {}, 409, 'upload_offset'],
        [400, { 'upload-offset': '-1' }, 400, 'malformed_request'],
        [400, { 'upload-offset': '1e3' }, 400, 'malformed_request'],
        [400, { 'upload-offset': '99999999999999999999' }, 400, 'malformed_request'],
        [400, { 'content-type': 'video/mp4' }, 415, 'unsupported_media_type'],
        [400, { 'upload-length': '2000' }, 400, 'malformed_request'],
      ] as const,
      async ([at, others, status, code]) =>
        expect(await refusalOf(await sendPiece(upload, location, piece, { at, others }))).to.deep.equal({
          status,
          code,
        }),
    );
    const tooMuch = await sendPiece(upload, location, randomBytes(601), { at: 400 });
    expect(await refusalOf(tooMuch)).to.deep.equal({ status: 413, code: 'body_too_large' });
    const refused = async (method: string) => refusalOf(await request(method, location, upload.headers));
    expect(await refused('GET')).to.deep.equal({ status: 405, code: 'method_not_allowed' });
    expect(await refused('PUT')).to.deep.equal({ status: 404, code: 'not_found' }); // only other files use PUT
    expect(await offsetAt(reserved, location)).to.equal(400);
  });

  it('refuse every token that does not belong to the file, and reveal nothing about the file', async () => {
    const reserved = await reserve(uploader, bytesOf(1_000));
    const location = await started(reserved, 1_000);
    const other = await reserve(uploader, bytesOf(1_000));
    const foreign = await reserve({ club: await buildClub() }, bytesOf(1_000));
    for (const { upload } of [other, foreign]) {
      const answer = await sendPiece(upload, location, randomBytes(1_000));
      expect(await refusalOf(answer)).to.deep.equal({ status: 404, code: 'not_found' });
      expect((await request('HEAD', location, upload.headers)).status).to.equal(404);
      expect((await request('DELETE', location, upload.headers)).status).to.equal(404);
    }
    const token = reserved.upload.headers['authorization'] ?? '';
    for (const authorization of ['', 'Bearer', token.slice(0, -1), `${token}A`, `Bearer ${club.owner.token}`]) {
      const answer = await sendPiece({ headers: { authorization } }, location, randomBytes(1_000));
      expect(await refusalOf(answer), authorization).to.deep.equal({ status: 401, code: 'unauthenticated' });
    }
    const nowhere = location.replace(reserved.media.id, newId());
    expect((await request('HEAD', nowhere, reserved.upload.headers)).status).to.equal(404);
    expect(await offsetAt(reserved, location)).to.equal(0);
  });

  it('are aborted and erased by DELETE, and can then be started again', async () => {
    const file = bytesOf(partBytes + 700);
    const reserved = await reserve(uploader, file);
    const location = await started(reserved, file.bytes.length);
    await sendPiece(reserved.upload, location, file.bytes.subarray(0, partBytes + 300));
    expect(await keysOf(club)).to.deep.equal([`${reserved.media.id}.part-1`]);
    expect((await request('DELETE', location, reserved.upload.headers)).status).to.equal(204);
    expect((await request('HEAD', location, reserved.upload.headers)).status).to.equal(404);
    expect(await keysOf(club)).to.deep.equal([]);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
    expect(await started(reserved, file.bytes.length)).to.equal(location);
    await sendPiece(reserved.upload, location, file.bytes);
    expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
  });

  describe('POST /v1/clubs/{clubId}/media/{mediaId}/upload', () => {
    it('returns new tokens, each valid for 24 hours, for up to seven days', async () => {
      const file = bytesOf(1_000);
      const reserved = await reserve(uploader, file);
      const location = await started(reserved, 1_000);
      await sendPiece(reserved.upload, location, file.bytes.subarray(0, 600));
      clock.advance(23 * hour);
      expect(await offsetAt(reserved, location)).to.equal(600);
      clock.advance(hour);
      const late = await sendPiece(reserved.upload, location, file.bytes.subarray(600), { at: 600 });
      expect(await refusalOf(late)).to.deep.equal({ status: 401, code: 'unauthenticated' });
      const { body } = await renewingLater(reserved.media.id);
      expect(body.upload.url).to.equal(reserved.upload.url);
      expect(body.data).to.deep.equal(reserved.media);
      clock.advance(23 * hour);
      await eraseAll(clock.now()); // the upload remains, because the renewal also moved its deadline
      const answer = await sendPiece(body.upload, location, file.bytes.subarray(600), { at: 600 });
      expect(answer.status).to.equal(204);
      expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
      expectError(await renewingLater(reserved.media.id), 'upload_ended');

      const token = await openFurtherSession('admin', club.owner.id, clock.now());
      const slow = await reserve({ club, token }, file);
      for (let day = 1; day <= 6; day++) {
        clock.advance(24 * hour);
        expect((await renewingLater(slow.media.id)).status).to.equal(200);
      }
      clock.advance(24 * hour);
      expectError(await renewingLater(slow.media.id), 'upload_ended');
    });

    it('also renews the address of a simple upload, and returns 409 once the upload has ended', async () => {
      const notes = { fileName: 'notes.md', mime: 'text/markdown', bytes: Buffer.from('# Knots\n') };
      const { media, upload } = await reserve(uploader, notes);
      clock.advance(10 * 60_000);
      const { body } = await renewing(media.id);
      expect(body.upload.method).to.equal('put');
      expect(Date.parse(body.upload.expires_at) - Date.parse(upload.expires_at)).to.be.closeTo(10 * 60_000, 5_000);
      expectError(await renewing(media.id, student.token), 'not_found');
      const other = await buildClub();
      expectError(
        await call('POST', libraryPath(other, media.id, 'upload'), { token: other.owner.token }),
        'not_found',
      );
      clock.advance(3 * hour);
      await eraseAll(clock.now());
      expectError(await renewing(media.id), 'upload_ended');
    });
  });

  it('return 409 for a completion before all parts have arrived, and join the parts even after a crash', async () => {
    const file = bytesOf(partBytes + 1_000);
    const reserved = await reserve(uploader, file);
    expectError(await sayingArrived(uploader, reserved.media.id), 'upload_missing');
    const location = await started(reserved, file.bytes.length);
    await sendPiece(reserved.upload, location, file.bytes.subarray(0, partBytes + 10));
    expectError(await sayingArrived(uploader, reserved.media.id), 'upload_missing');
    await storePart(reserved.media.id, 2, file.bytes.subarray(partBytes));
    const both = await Promise.all([1, 2].map(() => sayingArrived(uploader, reserved.media.id)));
    expect(both.map(({ status }) => status)).to.deep.equal([200, 200]);
    expect(await mediaState(reserved.media.id)).to.equal('processing key');
    expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
    expect((await completing(uploader, reserved.media.id)).body.data.error).to.equal('content_not_allowed');
    await eraseAll(new Date(clock.now().getTime() + 72 * hour));
    expect(await keysOf(club)).to.deep.equal([]);
  });

  it('are completed at the deadline if all parts have arrived, and otherwise erased', async () => {
    const whole = bytesOf(partBytes + 1_000);
    const first = await reserve(uploader, whole);
    const location = await started(first, whole.bytes.length);
    await sendPiece(first.upload, location, whole.bytes.subarray(0, partBytes + 10));
    await storePart(first.media.id, 2, whole.bytes.subarray(partBytes));
    const second = await reserve(uploader, whole);
    const other = await started(second, whole.bytes.length);
    await sendPiece(second.upload, other, whole.bytes.subarray(0, partBytes + 10));
    expect(await heldBytes()).to.equal(2 * whole.bytes.length);
    const deadline = new Date(clock.now().getTime() + 25 * hour + 60_000);
    await eraseAll(deadline);
    expect(await mediaState(first.media.id)).to.equal('processing key');
    expect(await mediaState(second.media.id)).to.equal('failed upload_expired key due');
    expect(await keysOf(club)).to.deep.equal([first.media.id, `${first.media.id}.part-1`]);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
    expect(await heldBytes()).to.equal(0);
    expect((await request('HEAD', other, second.upload.headers)).status).to.equal(404);
  });

  it('ignore parts after a missing part, and the partial object of a late request', async () => {
    const file = bytesOf(2 * partBytes + 700);
    const reserved = await reserve(uploader, file);
    const location = await started(reserved, file.bytes.length);
    await storePart(reserved.media.id, 2, randomBytes(partBytes));
    const store = await testObjectStore();
    const key = `media/${club.id}/${reserved.media.id}`;
    await store.put(`${key}.part-1`, 'video/mp4', Readable.from([randomBytes(500)]));
    expect(await offsetAt(reserved, location)).to.equal(0);
    await sendPiece(reserved.upload, location, file.bytes.subarray(0, 300));
    expect(await offsetAt(reserved, location)).to.equal(300);
    const answer = await sendPiece(reserved.upload, location, file.bytes.subarray(300), { at: 300 });
    expect(answer.status).to.equal(204);
    expect((await storedOf(reserved.media.id))?.equals(file.bytes)).to.equal(true);
  });

  it('have a separate listener that stores the received bytes when it stops', async () => {
    const api = await startApi(await testConfig(), { clock: clock.now, readinessGraceMs: 0 });
    const paths = ['/healthz', '/readyz', '/metrics', '/v1/clubs', '/uploads/a/b'];
    const answers = await Promise.all(paths.map((path) => fetch(api.filesUrl + path)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 404, 404, 404]);
    const file = bytesOf(partBytes + 1_000);
    const reserved = await reserve(uploader, file);
    const location = await started(reserved, file.bytes.length);
    const sending = http.request(`${api.filesUrl}/uploads/${reserved.media.id}`, {
      method: 'PATCH',
      headers: {
        ...reserved.upload.headers,
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-length': String(file.bytes.length),
        'content-type': 'application/offset+octet-stream',
      },
    });
    sending.on('error', () => {}).write(file.bytes.subarray(0, partBytes + 400));
    const bucket = await testBucket();
    await until(
      'a whole part',
      { timeoutMs: 10_000 },
      async () => (await bucket.storedParts(`media/${club.id}`)) === 1,
    );
    await withoutTimersOf(15_000, () => api.stop()); // no request waits until its lock times out
    expect(await offsetAt(reserved, location)).to.be.within(partBytes, partBytes + 400);
  });

  it('end when the file is removed, and lose their parts', async () => {
    const file = bytesOf(partBytes + 700);
    const reserved = await reserve(uploader, file);
    const location = await started(reserved, file.bytes.length);
    await sendPiece(reserved.upload, location, file.bytes.subarray(0, partBytes + 300));
    await call('DELETE', libraryPath(club, reserved.media.id), { token: club.owner.token });
    expect(await leftOf(club, reserved.media.id)).to.deep.equal(['failed upload_expired removed key due', []]);
    expect(await keysOf(club)).to.deep.equal([]);
    expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
    const answer = await sendPiece(reserved.upload, location, file.bytes.subarray(partBytes), { at: partBytes });
    expect(await refusalOf(answer)).to.deep.equal({ status: 404, code: 'not_found' });
  });

  describe("a student's video", () => {
    it('returns its permit when its connection is cut', async () => {
      const api = await startApi(await testConfig(), { clock: clock.now, readinessGraceMs: 0 });
      const sending = await sendSlowly(api.filesUrl, 1_000);
      await until('a request that writes', soon, async () => (await writesUnderWay()) === 1);
      sending.destroy();
      await until('its end', soon, async () => (await writesUnderWay()) === 0);
      await api.stop();
    });

    describe('over a slow connection', () => {
      const line = useLine();
      let api: RunningApi;
      before(async () => {
        api = await startApi(await testConfig(), { clock: clock.now, readinessGraceMs: 0 });
      });
      after(() => api.stop());

      it('is aborted after a minute if the student starts a fifth upload, and can resume at its offset', async () => {
        const others = await Promise.all([1, 2, 3].map(() => sendSlowly(api.filesUrl, 5_000_000)));
        const port = Number(new URL(api.filesUrl).port);
        line().leadTo(port, 1_000_000);
        const slow = await reserveWork();
        const bytes = randomBytes(partBytes + 1_000);
        await started(slow, bytes.length);
        const offsets: number[] = [];
        const whole = new Promise<void>((resolve, reject) =>
          new tus.Upload(bytes, {
            uploadUrl: `${line().url}/uploads/${slow.media.id}`,
            headers: slow.upload.headers,
            retryDelays: [20, 100, 500, 5_000],
            onBeforeRequest(tusRequest) {
              if (tusRequest.getMethod() === 'PATCH') offsets.push(Number(tusRequest.getHeader('Upload-Offset')));
            },
            onSuccess: () => resolve(),
            onError: reject,
          }).start(),
        );
        await until('four requests that write', soon, async () => (await writesUnderWay()) === 4);
        const last = await reserveWork();
        await started(last, 1_000);
        const send = () => sendPiece(last.upload, `${api.filesUrl}/uploads/${last.media.id}`, Buffer.alloc(1_000));
        expect(await refusalOf(await send())).to.deep.equal({ status: 503, code: 'busy' });

        line().leadTo(port);
        clock.advance(61_000);
        expect((await send()).status).to.equal(204);
        await whole;
        expect((await storedOf(slow.media.id))?.equals(bytes)).to.equal(true);
        expect(offsets).to.have.lengthOf(2);
        expect(offsets[1]).to.be.within(900_000, 1_100_000); // the connection forwards the last piece even beyond its limit
        for (const sending of others) sending.destroy();
        await until('the end of the other requests', soon, async () => (await writesUnderWay()) === 0);
      });
    });

    it('is stored even if processes crash during its upload, and leaves no partial objects', async () => {
      const bytes = await video('mp4', { seconds: 1 });
      const reserved = await reserveWork();
      const { id } = reserved.media;
      await started(reserved, bytes.length);
      // The process crashed after it started the upload and before it recorded the upload.
      await (await testDatabase()).query('UPDATE media_uploads SET multipart_id = NULL WHERE id = $1', [id]);
      const location = await started(reserved, bytes.length);
      const bucket = await testBucket();
      const prefix = `media/${club.id}/`;
      expect(await bucket.openUploads(prefix)).to.have.length(2);
      expect((await sendPiece(reserved.upload, location, bytes)).status).to.equal(204);
      // The process crashed after it stored a whole part and before it deleted the partial object.
      await (await testObjectStore()).put(`${prefix}${id}.part-0`, 'video/mp4', Readable.from([bytes.subarray(0, 9)]));
      const ready = await completing({ club, student }, id);
      expect(ready.body.data.status).to.equal('ready');
      expect([await keysOf(club), await bucket.openUploads(prefix)]).to.deep.equal([[id], []]);
    });

    it('reserves storage for its Upload-Length of at most 2 GB and at most the free storage', async () => {
      const reserved = await reserveWork();
      expect(reserved.upload.method).to.equal('tus');
      expect(await heldBytes()).to.equal(0);
      const tooLarge = await beginUpload(reserved.upload, 2 * 1_024 ** 3 + 1);
      expect(await refusalOf(tooLarge)).to.deep.equal({ status: 422, code: 'invalid_request' });
      await started(reserved, 2 * 1_024 ** 3);
      expect(await heldBytes()).to.equal(2 * 1_024 ** 3);
      await started(reserved, 2 * 1_024 ** 3);
      expect((await beginUpload(reserved.upload, 5)).status).to.equal(422);
      expect(await heldBytes()).to.equal(2 * 1_024 ** 3);

      club = await buildClub();
      await buildPlan(club.id, 'trial');
      student = await buildStudent(club.id);
      const more = await reserveWork();
      expect(await refusalOf(await beginUpload(more.upload, 1.5 * 1_024 ** 3))).to.deep.equal({
        status: 402,
        code: 'limit_reached',
      });
    });

    it('is erased when the student is removed, even if the video was never submitted', async () => {
      const reserved = await reserveWork();
      const bytes = randomBytes(partBytes + 700);
      const location = await started(reserved, bytes.length);
      await sendPiece(reserved.upload, location, bytes.subarray(0, partBytes + 300));
      const path = `/v1/clubs/${club.id}/students/${student.id}`;
      expect((await call('DELETE', path, { token: club.owner.token })).status).to.equal(204);
      await eraseAll(clock.now());
      expect(await keysOf(club)).to.deep.equal([]);
      expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
      expect((await request('HEAD', location, reserved.upload.headers)).status).to.equal(404);
      expect(await heldBytes()).to.equal(0);
      const open = await (await testDatabase()).query('SELECT FROM media_uploads WHERE club_id = $1', [club.id]);
      expect(open).to.deep.equal([]);
    });
  });

  it('are refused if the library has 100 open uploads, or if the plan has no hosting', async () => {
    const { media } = await reserve(uploader, bytesOf(1_000));
    const source = await testDatabase();
    await source.query(
      `WITH file AS (INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
         SELECT gen_random_uuid(), club_id, purpose, kind, title, provider, status, created_at, updated_at
           FROM media, generate_series(2, 100) WHERE id = $1 RETURNING id, club_id)
       INSERT INTO media_uploads (id, club_id) SELECT id, club_id FROM file`,
      [media.id],
    );
    expectError(await reserving(uploader, bytesOf(1_000)), 'too_many_uploads');
    const small = await buildClub();
    await buildPlan(small.id, 'trial');
    expectError(await reserving({ club: small }, bytesOf(1_000)), 'feature_not_in_plan');
  });
});
