/**
 * Tests resumable uploads of clients that can only send POST, and headers that are refused. Every error is in the error envelope (MED-32).
 */
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { expect } from 'chai';
import * as tus from 'tus-js-client';
import { metadataFault } from '../../api/files/metadata.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { call } from '../toolkit/drive/api.ts';
import { beginUpload, keysOf, libraryPath, reserve, sendPiece, type Reserved } from '../toolkit/drive/media.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';

const video = (length: number) => ({ fileName: 'lecture.mp4', mime: 'video/mp4', bytes: randomBytes(length) });

describe('methods and headers of resumable uploads (MED-32)', () => {
  let club: TestClub;
  let reserved: Reserved;
  let location: string;
  const file = video(1_000);
  beforeEach(async () => {
    club = await buildClub();
    reserved = await reserve({ club }, file);
    location = (await beginUpload(reserved.upload, 1_000)).headers.get('location') ?? '';
  });

  const asking = (method: string, override: string, others: Record<string, string> = {}, body?: Buffer) =>
    fetch(location, {
      method,
      headers: { ...reserved.upload.headers, 'tus-resumable': '1.0.0', 'x-http-method-override': override, ...others },
      ...(body && { body: new Uint8Array(body) }),
    });
  const piece = (at: number) => ({ 'upload-offset': String(at), 'content-type': 'application/offset+octet-stream' });
  const offset = async () => (await asking('POST', 'HEAD')).headers.get('upload-offset');

  async function expectEnvelope(response: Response, status: number, code: string): Promise<void> {
    expect(response.status).to.equal(status);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    const body = (await response.json()) as { error: { code: string } };
    expect(Object.keys(body)).to.deep.equal(['error']);
    expect(Object.keys(body.error)).to.deep.equal(['code', 'message']);
    expect(body.error.code).to.equal(code);
  }

  describe('the header X-HTTP-Method-Override', () => {
    it('lets POST send pieces, read the offset and abort the upload, in any letter case', async () => {
      const first = await asking('POST', 'PATCH', piece(0), file.bytes.subarray(0, 400));
      expect([first.status, first.headers.get('upload-offset')]).to.deep.equal([204, '400']);
      const head = await asking('POST', 'head');
      expect(head.status).to.equal(200);
      expect(head.headers.get('upload-offset')).to.equal('400');
      expect(await head.text()).to.equal('');
      expect((await asking('POST', 'Patch', piece(400), file.bytes.subarray(400, 500))).status).to.equal(204);
      expect((await asking('POST', 'delete')).status).to.equal(204);
      expect(await keysOf(club)).to.deep.equal([]);
      expect(await (await testBucket()).openUploads(`media/${club.id}`)).to.deep.equal([]);
    });

    it('works with tus-js-client and overridePatchMethod', async () => {
      const large = await reserve({ club }, file);
      const methods: string[] = [];
      await new Promise<void>((resolve, reject) =>
        new tus.Upload(file.bytes, {
          endpoint: large.upload.url,
          headers: large.upload.headers,
          chunkSize: 300,
          overridePatchMethod: true,
          metadata: { filename: 'Lektion 1.mp4', title: 'é' },
          onBeforeRequest: (request) => void methods.push(request.getMethod()),
          onSuccess: () => resolve(),
          onError: reject,
        }).start(),
      );
      expect(methods).to.deep.equal(['POST', 'POST', 'POST', 'POST', 'POST']);
      const stored = await (await testObjectStore()).read(`media/${club.id}/${large.media.id}`, 0, 1_000);
      expect(stored?.equals(file.bytes)).to.equal(true);
    });

    it('is refused if it names an unsupported method or if the request is not a POST', async () => {
      await eachCase(
        [
          ['POST', 'GET'],
          ['POST', 'PUT'],
          ['POST', 'OPTIONS'],
          ['POST', 'PROPFIND'],
          ['POST', 'PATCH, DELETE'],
          ['GET', 'PATCH'],
          ['PATCH', 'DELETE'],
          ['DELETE', 'PATCH'],
          ['PUT', 'PATCH'],
        ] as const,
        async ([method, override]) =>
          expectEnvelope(await asking(method, override, piece(0)), 405, 'method_not_allowed'),
      );
      const creation = await beginUpload(reserved.upload, 1_000, { 'x-http-method-override': 'PATCH' });
      await expectEnvelope(creation, 405, 'method_not_allowed');
      expect((await beginUpload(reserved.upload, 1_000, { 'x-http-method-override': 'post' })).status).to.equal(201);
      expect(await offset()).to.equal('0');
    });

    it('has an effect only on resumable uploads', async () => {
      const headers = { 'x-http-method-override': 'DELETE', authorization: `Bearer ${club.owner.token}` };
      const path = libraryPath(club, reserved.media.id);
      const answer = await call('POST', path, { headers });
      expect(answer.status).to.equal(405);
      expect((await call('GET', path, { token: club.owner.token })).status).to.equal(200);
      const { origin } = new URL(location);
      for (const elsewhere of [`${origin}/downloads/x`, `${origin}/healthz`]) {
        const response = await fetch(elsewhere, { method: 'POST', headers: { 'x-http-method-override': 'HEAD' } });
        expect(response.status).to.be.oneOf([404, 405]);
        expect(await response.json()).to.have.nested.property('error.code');
      }
    });

    it('answers a refused POST like HEAD: with a status, no body, and an open connection', async () => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      const head = (id: string, others: Record<string, string> = {}) =>
        new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
          const url = location.replace(reserved.media.id, id);
          const headers = { ...reserved.upload.headers, 'tus-resumable': '1.0.0', 'x-http-method-override': 'HEAD' };
          const request = http.request(
            url,
            { method: 'POST', agent, headers: { ...headers, ...others } },
            (response) => {
              let body = '';
              response.setEncoding('utf8').on('data', (text: string) => (body += text));
              response.on('end', () => resolve({ status: response.statusCode, body }));
            },
          );
          request
            .on('error', reject)
            .setTimeout(3_000, () => request.destroy(new Error(`Response body is incomplete: ${id}`)));
          request.end();
        });
      try {
        expect(await head(newId()), 'unknown').to.deep.equal({ status: 404, body: '' });
        expect(await head(reserved.media.id, { 'tus-resumable': '0.2' })).to.deep.equal({ status: 412, body: '' });
        expect(await head(reserved.media.id, { authorization: 'Bearer x' })).to.deep.equal({ status: 401, body: '' });
        await asking('DELETE', '');
        expect(await head(reserved.media.id), 'refused by the tus server').to.deep.equal({ status: 404, body: '' });
      } finally {
        agent.destroy();
      }
    });
  });

  describe('headers', () => {
    it('cause 400 if Upload-Metadata is unreadable, and then nothing changes', async () => {
      const other = await reserve({ club }, file);
      const before = await rowCounts();
      await eachCase(
        [
          'filename Zm9',
          'filename @@@@',
          'a YQ==,a Yg==',
          'a YQ==,,b',
          'a YQ==,',
          'a YQ==, b Yg==',
          'a YQ== b',
          'gr\u00f6\u00dfe MQ==',
          '',
        ],
        async (metadata) =>
          expectEnvelope(
            await beginUpload(other.upload, 1_000, { 'upload-metadata': metadata }),
            400,
            'malformed_request',
          ),
      );
      expect(await rowCounts()).to.deep.equal(before);
      const metadata = { 'upload-metadata': 'filename TGVjdHVyZQ==,is_private,toString YQ==,empty ' };
      expect((await beginUpload(other.upload, 1_000, metadata)).status).to.equal(201);
    });

    it('are ignored, even if unreadable, if they have no meaning for the request', async () => {
      const others = { 'upload-metadata': 'no base64 at all', 'x-forwarded-proto': 'https, http', 'tus-version': '9' };
      const answer = await sendPiece(reserved.upload, location, file.bytes.subarray(0, 400), { others });
      expect(answer.status).to.equal(204);
      expect(await offset()).to.equal('400');
    });

    it('cause a refusal without a body if they are unreadable in a HEAD request', async () => {
      const answer = await asking('POST', 'HEAD', { 'upload-offset': '-1' });
      expect([answer.status, await answer.text()]).to.deep.equal([400, '']);
      const deletion = await asking('DELETE', '', { 'upload-length': 'x' });
      await expectEnvelope(deletion, 400, 'malformed_request');
      expect(await offset()).to.equal('0');
    });

    it('cause errors from 401 to 422 in the usual JSON form if they are wrong', async () => {
      const { upload } = reserved;
      const send = (at: number, others: Record<string, string> = {}, bytes = file.bytes.subarray(0, 10)) =>
        sendPiece(upload, location, bytes, { at, others });
      await expectEnvelope(await send(0, { authorization: 'Bearer x' }), 401, 'unauthenticated');
      await expectEnvelope(await send(5), 409, 'upload_offset');
      await expectEnvelope(await send(0, { 'tus-resumable': '0.2.2' }), 412, 'tus_version');
      await expectEnvelope(await send(0, {}, randomBytes(1_001)), 413, 'body_too_large');
      await expectEnvelope(await send(0, { 'content-type': 'text/plain' }), 415, 'unsupported_media_type');
      await expectEnvelope(await beginUpload(upload, 7), 422, 'invalid_request');
      await expectEnvelope(await asking('GET', ''), 405, 'method_not_allowed');
      await asking('DELETE', '');
      await expectEnvelope(await send(0), 404, 'not_found');
      await expectEnvelope(await asking('DELETE', ''), 404, 'not_found');
      await call('DELETE', libraryPath(club, reserved.media.id), { token: club.owner.token });
      await expectEnvelope(await send(0), 404, 'not_found');
    });
  });

  it('are refused with a description of the fault if Upload-Metadata is malformed', () => {
    expect(metadataFault('name dGVzdA==,flag')).to.equal(undefined);
    expect(metadataFault('a YQ==,a Yg==')).to.equal('Upload-Metadata names a key twice.');
    expect(metadataFault('a YQ=')).to.equal('A value of Upload-Metadata is not Base64.');
    expect(metadataFault('a YQ== Yg==')).to.match(/^A pair of Upload-Metadata is a key/);
    expect(metadataFault(',a')).to.match(/^A key of Upload-Metadata is empty/);
  });
});
