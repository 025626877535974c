/**
 * Tests files of students for assignments. Each is sent in one request to the listener for files, and its size is not declared in advance
 * (MED-29).
 */
import http from 'node:http';
import { expect } from 'chai';
import { singleUploads } from '../../api/files/upload-permits.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { plans } from '../../domain/billing/plans.policy.ts';
import { mediaRules } from '../../domain/media/media.policy.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { storageCounts } from '../toolkit/assert/storage.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { handingInOf } from '../toolkit/drive/assignments.ts';
import { eraseAll, mediaState } from '../toolkit/drive/erasure.ts';
import { completing, filesOf, libraryPath, put } from '../toolkit/drive/media.ts';
import { until } from '../toolkit/drive/until.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { testBucket } from '../toolkit/stack/storage.ts';

type Upload = RecordOf<'UploadDescriptor'>;

interface Work {
  id: Id;
  upload: Upload;
}

const essay = Buffer.from('# My knots\n');
const soon = { timeoutMs: 10_000 };

describe('a file that is sent in one request', function () {
  this.timeout(60_000);
  let club: TestClub;
  let student: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  async function reserve(of = student, mime = 'text/markdown'): Promise<Work> {
    const { body } = await handingInOf({ clubId: club.id }, of).reserve({ file_name: 'essay.md', mime });
    return { id: body.data.id, upload: body.upload };
  }
  /** @returns status and code */
  async function sending(
    { url, headers }: Upload,
    bytes: Buffer = essay,
    others: Record<string, string> = {},
  ): Promise<string> {
    const answer = await fetch(url, { method: 'PUT', headers: { ...headers, ...others }, body: new Uint8Array(bytes) });
    const text = await answer.text();
    const code = text === '' ? '' : ` ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
    return `${answer.status}${code}`;
  }
  /** Starts a file of `length` bytes, and sends the first byte. @param others the header fields that replace Content-Length */
  function begin(
    { url, headers }: Upload,
    length: number,
    others: http.OutgoingHttpHeaders = { 'content-length': length },
  ) {
    const request = http.request(url, { method: 'PUT', headers: { ...headers, ...others } });
    const { promise: answered, resolve } = Promise.withResolvers<string>();
    request.on('error', ({ message }) => resolve(message));
    request.on('response', (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () =>
        resolve(
          [answer.statusCode, text && (JSON.parse(text) as { error: { code: string } }).error.code].join(' ').trim(),
        ),
      );
    });
    request.write('x');
    return { request, answered };
  }
  const heldOf = async (): Promise<string[]> => {
    const { counted, there } = await storageCounts(club.id);
    expect(counted).to.deep.equal(there);
    return counted;
  };
  /** Waits until the service has reserved storage for the announced lengths of the running requests. */
  const untilHeld = (sums: string[]) =>
    until('the hold', soon, async () => {
      const { counted } = await storageCounts(club.id);
      return JSON.stringify(counted) === JSON.stringify(sums);
    });
  const untilLocked = ({ id }: Work) =>
    until('the lock', soon, async () => {
      const source = await testDatabase();
      return (
        (await source.query<object[]>(`SELECT FROM media_uploads WHERE id = $1 AND lease_until > now()`, [id])).length >
        0
      );
    });

  it('is stored and ready immediately, and a second file is refused with 412 file_exists', async () => {
    const { id, upload } = await reserve();
    expect(upload.method).to.equal('put');
    expect(upload.url).to.match(new RegExp(`/uploads/${id}$`));
    expect(Object.keys(upload.headers)).to.deep.equal(['authorization', 'content-type']);
    expect(await sending(upload)).to.equal('200');
    expect(await heldOf()).to.deep.equal([`document 0 0 ${essay.length}`]);
    expect(await sending(upload)).to.equal('412 file_exists');
    const { body } = await completing({ club, student }, id);
    expect(body.data).to.include({ status: 'ready', size_bytes: essay.length });
    expect(await heldOf()).to.deep.equal([`document ${essay.length} 1 0`]);
    expect(await sending(upload)).to.equal('412 file_exists');
  });

  it('is refused if its length or type is not allowed, and then nothing is written', async () => {
    const { id, upload } = await reserve();
    const before = await rowCounts();
    const most = 100 * 1_024 * 1_024;
    expect(await sending(upload, essay, { 'content-type': 'text/html' })).to.equal('415 unsupported_media_type');
    expect(await sending(upload, Buffer.alloc(0))).to.equal('422 invalid_request');
    const chunked = begin(upload, 1, { 'transfer-encoding': 'chunked' });
    expect(await chunked.answered).to.equal('400 malformed_request');
    expect(await begin(upload, most + 1).answered).to.equal('413 body_too_large');
    expect(await rowCounts()).to.deep.equal(before);
    expect([await filesOf(club), await heldOf(), await mediaState(id)]).to.deep.equal([[], [], 'uploading key due']);
  });

  it('is refused if the token is wrong or of another file, or if the file needs a different upload method', async () => {
    const [one, other] = [await reserve(), await reserve()];
    const to = ({ id }: { id: Id }) => ({ ...one.upload, url: one.upload.url.replace(one.id, id) });
    expect(await sending(one.upload, essay, { authorization: 'Bearer none' })).to.equal('401 unauthenticated');
    await eachCase([to(other), to({ id: newId() })], async (upload) =>
      expect(await sending(upload)).to.equal('404 not_found'),
    );
    const film = await reserve(student, 'video/mp4');
    expect(film.upload.method).to.equal('tus');
    const byPut = { ...film.upload, url: `${film.upload.url}/${film.id}` };
    expect(await sending(byPut, essay, { 'content-type': 'video/mp4' })).to.equal('404 not_found');
    const byTus = await fetch(one.upload.url, {
      method: 'HEAD',
      headers: { ...one.upload.headers, 'tus-resumable': '1.0.0' },
    });
    expect(byTus.status).to.equal(404);
    clock.advance(15 * 60_000 + 1_000);
    expect(await sending(one.upload)).to.equal('401 unauthenticated');
    const renewed = await call('POST', libraryPath(club, one.id, 'upload'), { token: student.token });
    expect(await sending(renewed.body.upload)).to.equal('200');
  });

  it('reserves storage from its first byte on, and gets 402 limit_reached if too little is free', async () => {
    await buildPlan(club.id, 'trial');
    const room = 100;
    await buildMedia(club.id, { bytes: null, sizeBytes: plans.trial.allowances.storage_bytes.included - room });
    const [large, slow, next] = [await reserve(), await reserve(), await reserve()];
    expect(await sending(large.upload, Buffer.alloc(room + 1))).to.equal('402 limit_reached');
    const { request, answered } = begin(slow.upload, 60);
    await untilLocked(slow);
    await untilHeld([`document ${plans.trial.allowances.storage_bytes.included - room} 1 60`]);
    expect(await sending(next.upload, Buffer.alloc(41))).to.equal('402 limit_reached');
    expect(await sending(next.upload, Buffer.alloc(40))).to.equal('200');
    expect(await sending(next.upload, Buffer.alloc(39))).to.equal('412 file_exists');
    request.end(Buffer.alloc(59));
    expect(await answered).to.equal('200');
  });

  it('is refused with 404 if its record is deleted during the request, and leaves no bytes', async () => {
    const work = await reserve();
    const { request, answered } = begin(work.upload, 1_000_000);
    request.write(Buffer.alloc(500_000));
    await untilHeld(['document 0 0 1000000']);
    expect((await handingInOf({ clubId: club.id }, student).drop(work.id)).status).to.equal(204);
    expect(await answered).to.equal('404 not_found');
    expect([await filesOf(club), await heldOf()]).to.deep.equal([[], []]);
    expect(await sending(work.upload)).to.equal('404 not_found');
    await eraseAll(new Date(clock.now().getTime() + mediaRules.lateMs));
    expect(await mediaState(work.id)).to.match(/removed/);
  });

  it('replaces an interrupted earlier request only if both requests announce the same length', async () => {
    const work = await reserve();
    const dead = begin(work.upload, essay.length);
    await untilHeld([`document 0 0 ${essay.length}`]);
    expect(await sending(work.upload, Buffer.alloc(3))).to.equal('422 invalid_request');
    expect(await dead.answered).to.equal('423 upload_locked');
    expect(await sending(work.upload)).to.equal('200');
    expect((await completing({ club, student }, work.id)).body.data.status).to.equal('ready');
  });

  it('leaves nothing in the object store if its sender disconnects, and can be sent again', async () => {
    const work = await reserve();
    const { request, answered } = begin(work.upload, essay.length);
    await untilLocked(work);
    request.destroy();
    await answered;
    expect(await sending(work.upload)).to.equal('200');
    expect(await filesOf(club)).to.deep.equal([work.id]);
  });

  it('replaces the partial object of a crashed process', async () => {
    const work = await reserve();
    const first = begin(work.upload, essay.length);
    await untilHeld([`document 0 0 ${essay.length}`]);
    first.request.destroy();
    await first.answered;
    await (await testBucket()).store(`media/${club.id}/${work.id}`, essay.subarray(0, 4));
    expectError(await completing({ club, student }, work.id), 'upload_missing');
    expect(await sending(work.upload)).to.equal('200');
    expect((await completing({ club, student }, work.id)).body.data).to.include({
      status: 'ready',
      size_bytes: essay.length,
    });
  });

  it('is refused with 503 busy if the same student is already sending four files', async () => {
    const four = await Promise.all(Array.from({ length: singleUploads.bounds.student }, () => reserve()));
    const uploads = four.map(({ upload }) => begin(upload, essay.length));
    await untilHeld([`document 0 0 ${4 * essay.length}`]);
    const fifth = await reserve();
    expect(await sending(fifth.upload)).to.equal('503 busy');
    for (const { request } of uploads) request.end(essay.subarray(1));
    expect(await Promise.all(uploads.map(({ answered }) => answered))).to.deep.equal(['200', '200', '200', '200']);
    expect(await sending(fifth.upload)).to.equal('200');
  });

  it('does not count against the limit of 20 files after its deletion', async () => {
    const { reserve: ask, drop } = handingInOf({ clubId: club.id }, student);
    const body = { file_name: 'essay.md', mime: 'text/markdown' };
    const answers = await Promise.all(Array.from({ length: mediaRules.maxUnsentFiles }, () => ask(body)));
    expectError(await ask(body), 'too_many_files');
    await drop(answers[0]?.body.data.id);
    expect((await ask(body)).status).to.equal(201);
    expect(await put(answers[0]?.body.upload, essay)).to.equal(404);
  });
});
