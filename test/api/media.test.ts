/** Tests files of a club's library: reserve, upload, complete, read, list and remove. */
import { expect } from 'chai';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { plans } from '../../domain/billing/plans.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAgent, buildMaterial } from '../toolkit/builders/agents.ts';
import { buildAddOn, buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { docx, pdf, pptx } from '../toolkit/builders/documents.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { sound, video } from '../toolkit/builders/played-files.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { eraseAll } from '../toolkit/drive/erasure.ts';
import {
  completing,
  filesOf,
  libraryPath,
  put,
  reserve,
  reserving,
  type MediaRecord,
  type TestFile,
  type Uploader,
  uploadFile,
} from '../toolkit/drive/media.ts';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import { columnsHolding, rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';

const page = 'application/vnd.openxmlformats-officedocument.';
const text = (name: string, mime: string, words: string): TestFile => ({
  fileName: name,
  mime,
  bytes: Buffer.from(words),
});
const notes = text('notes.md', 'text/markdown', '# Nós\n\nUma volta redonda.\n');

/** Fields that the answers about an upload do not contain (MED-11). */
const asListed = { favorite: false, usage_count: 0 };

describe('media', () => {
  let club: TestClub;
  let uploader: Uploader;
  beforeEach(async () => {
    club = await buildClub();
    uploader = { club };
  });

  const read = async (id: string): Promise<MediaRecord> =>
    (await call('GET', libraryPath(club, id), { token: club.owner.token })).body.data;
  const remove = (id: string, token = club.owner.token) => call('DELETE', libraryPath(club, id), { token });
  const list = async (query = '') =>
    (await call('GET', `${libraryPath(club)}${query}`, { token: club.owner.token })).body;

  describe('POST /v1/clubs/{clubId}/media', () => {
    it('reserves a private file with the given title, or with its file name as the title', async () => {
      const { media, upload } = await reserve(uploader, notes, { title: '  About \n knots ' });
      expect(media).to.deep.include({
        kind: 'document',
        type: 'file',
        title: 'About knots',
        file_name: 'notes.md',
        mime: 'text/markdown',
        provider: 'objstore',
        status: 'uploading',
        visibility: 'private',
        archived: false,
      });
      expect(media).to.not.have.any.keys(
        'size_bytes',
        'preview_url',
        'download_url',
        'error',
        'external_id',
        'expires_at',
      );
      expect(upload.method).to.equal('put');
      expect(await read(media.id)).to.deep.equal({ ...media, ...asListed });
      expect((await reserve(uploader, notes)).media.title).to.equal('notes.md');
    });

    it('returns 422 for a wrong type, size or name, and 400 for a missing or an unknown field', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { mime: 'video/x-msvideo' },
          { mime: 'application/x-msdownload' },
          { mime: 'text/markdown; charset=utf-8' },
          { size_bytes: 0 },
          { size_bytes: -1 },
          { size_bytes: 500 * 1_024 * 1_024 + 1 },
          { mime: 'video/mp4', size_bytes: 10 * 1_024 ** 3 + 1 },
          { mime: 'image/png', size_bytes: 20 * 1_024 * 1_024 + 1 },
          { title: '' },
          { title: ' \n' },
          { title: 'x'.repeat(256) },
          { file_name: 'x'.repeat(256) },
        ],
        async (body) => expectError(await reserving(uploader, notes, body), 'invalid_request'),
      );
      await eachCase([{ mime: undefined }, { file_name: 3 }, { visibility: 'public' }, { id: newId() }], async (body) =>
        expectError(await reserving(uploader, notes, body), 'malformed_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect((await reserving(uploader, notes, { size_bytes: 500 * 1_024 * 1_024 })).status).to.equal(201);
    });

    it('returns 422 for a file name that is a path or blank, or has control or invisible characters', async () => {
      const names = [
        '../../etc/passwd',
        'C:\\notes.md',
        'a/b',
        '.',
        '..',
        '   ',
        'a\u0000b',
        'a\nb: c',
        'a\u0085',
        '\u007f',
        'x\u202efdp.md',
        'a\u2028b',
        '\ud800.md',
      ];
      await eachCase(names, async (name) => {
        const answer = await reserving(uploader, notes, { file_name: name });
        expectError(answer, 'invalid_request');
        expect(answer.body.error.message).to.match(/file_name/);
      });
      expect(await list()).to.deep.equal({ data: [], total: 0 });
    });
  });

  describe('the upload address', () => {
    it('accepts only the declared type and size', async () => {
      const { media, upload } = await reserve(uploader, notes);
      expect(await put(upload, notes.bytes, { 'content-type': 'text/html' })).to.equal(403);
      expect(await put(upload, Buffer.concat([notes.bytes, notes.bytes]), { 'content-length': undefined })).to.equal(
        403,
      );
      expect(await put(upload, notes.bytes.subarray(1), { 'content-length': undefined })).to.equal(403);
      expect(await put(upload, notes.bytes, { 'if-none-match': undefined })).to.equal(403);
      const elsewhere = upload.url.replace(media.id, newId());
      expect(await put({ ...upload, url: elsewhere }, notes.bytes)).to.equal(403);
      expect(await filesOf(club)).to.deep.equal([]);
      expect(await put(upload, notes.bytes)).to.equal(200);
      expect(await filesOf(club)).to.deep.equal([media.id]);
    });

    it('does not allow reads, and the download address does not allow writes', async () => {
      const { upload } = await reserve(uploader, notes);
      await put(upload, notes.bytes);
      expect((await fetch(upload.url)).status).to.equal(403);
      const ready = await uploadFile(uploader, notes);
      expect(await put({ url: ready.download_url ?? '', headers: {} }, notes.bytes)).to.equal(403);
      const bare = new URL(ready.download_url ?? '');
      bare.search = '';
      expect((await fetch(bare)).status).to.equal(403);
    });

    it('accepts one file, and refuses every later file, even after the check of the first file', async () => {
      const other = Buffer.from(notes.bytes.toString().toUpperCase());
      const { media, upload } = await reserve(uploader, notes);
      expect(await put(upload, notes.bytes)).to.equal(200);
      expect(await put(upload, other)).to.equal(412);
      await completing(uploader, media.id);
      expect(await put(upload, other)).to.equal(412);
      const stored = await fetch((await read(media.id)).download_url ?? '');
      expect(Buffer.from(await stored.arrayBuffer()).equals(notes.bytes)).to.equal(true);
    });

    it('refuses a slow upload if a later upload ends first', async () => {
      const { media, upload } = await reserve(uploader, notes);
      const slow = request(upload.url, { method: 'PUT', headers: { ...upload.headers, expect: '100-continue' } });
      const answered = once(slow, 'response').then(([response]: IncomingMessage[]) => response?.resume().statusCode);
      slow.flushHeaders();
      await once(slow, 'continue'); // the store accepts the request, and waits for its bytes
      slow.write(Buffer.alloc(5, 0x21));
      expect(await put(upload, notes.bytes)).to.equal(200);
      expect((await completing(uploader, media.id)).body.data.status).to.equal('ready');
      slow.end(Buffer.alloc(notes.bytes.length - 5, 0x21));
      expect(await answered).to.equal(412);
      const stored = await fetch((await read(media.id)).download_url ?? '');
      expect(Buffer.from(await stored.arrayBuffer()).equals(notes.bytes)).to.equal(true);
    });
  });

  it('refuses a file if the upload address has expired, but then allows a new reservation', async () => {
    const late = await withClockStopped(() => reserve(uploader, notes), Date.now() - 15 * 60_000 - 1_000);
    expect(Date.parse(late.upload.expires_at)).to.be.below(Date.now());
    expect(await put(late.upload, notes.bytes)).to.equal(403);
    expect(await filesOf(club)).to.deep.equal([]);
    expectError(await completing(uploader, late.media.id), 'upload_missing');
    expect((await read(late.media.id)).status).to.equal('uploading');
    const inTime = await withClockStopped(() => reserve(uploader, notes), Date.now() - 14 * 60_000);
    expect(await put(inTime.upload, notes.bytes)).to.equal(200);
  });

  it('signs preview_url and download_url for each answer, and never stores these addresses (MED-8)', async () => {
    const ready = await uploadFile(uploader, notes);
    const file = await read(ready.id);
    for (const url of [file.preview_url, file.download_url, ready.preview_url]) {
      const signature = new URL(url ?? '').searchParams.get('X-Amz-Signature') ?? '';
      expect(signature).to.match(/^[0-9a-f]{64}$/);
      expect(await columnsHolding(signature)).to.deep.equal([]);
    }
    expect(await columnsHolding('X-Amz-Signature')).to.deep.equal([]);
  });

  describe('POST /v1/clubs/{clubId}/media/{mediaId}/complete', () => {
    it('sets every accepted type of file to ready, with kind, preview and download', async () => {
      const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>';
      const files: [TestFile, string, string][] = [
        [{ fileName: 'a.pdf', mime: 'application/pdf', bytes: await pdf('Knots') }, 'pdf', 'application/pdf'],
        [
          { fileName: 'a.docx', mime: `${page}wordprocessingml.document`, bytes: await docx('Knots') },
          'file',
          `${page}wordprocessingml.document`,
        ],
        [
          { fileName: 'a.pptx', mime: `${page}presentationml.presentation`, bytes: await pptx('Knots') },
          'file',
          `${page}presentationml.presentation`,
        ],
        [notes, 'file', 'text/plain; charset=utf-8'],
        [text('a.html', 'text/html', '<script>alert(1)</script>'), 'file', 'text/plain; charset=utf-8'],
        [text('a.txt', 'text/plain', 'Knots'), 'file', 'text/plain; charset=utf-8'],
        [{ fileName: 'a.png', mime: 'image/png', bytes: png(3, 4) }, 'image', 'image/jpeg'],
        [{ fileName: 'a.mp4', mime: 'video/mp4', bytes: await video('mp4') }, 'video', 'video/mp4'],
        [{ fileName: 'a.wav', mime: 'audio/wav', bytes: await sound('wav') }, 'audio', 'audio/wav'],
        [text('a.svg', 'image/svg+xml', drawing), 'image', 'image/png'],
        [text('a.csv', 'text/csv', 'knot,bend'), 'file', 'text/plain; charset=utf-8'],
      ];
      await eachCase(files, async ([file, type, shownAs]) => {
        const ready = await uploadFile(uploader, file);
        expect(ready).to.include({
          status: 'ready',
          type,
          kind: type === 'file' || type === 'pdf' ? 'document' : type,
          mime: file.mime,
          size_bytes: file.bytes.length,
          file_name: file.fileName,
        });
        const preview = await fetch(ready.preview_url ?? '');
        expect(preview.headers.get('content-type'), file.fileName).to.equal(shownAs);
        expect(preview.headers.get('content-disposition')).to.match(/^inline;/);
        const isOriginal = Buffer.from(await preview.arrayBuffer()).equals(file.bytes);
        expect(isOriginal, 'images are shown as their previews').to.equal(type !== 'image');
        const download = await fetch(ready.download_url ?? '');
        expect(download.headers.get('content-disposition')).to.match(/^attachment;/);
        expect(Buffer.from(await download.arrayBuffer()).equals(file.bytes)).to.equal(true);
      });
      expect(await filesOf(club)).to.have.length(files.length);
    });

    it('keeps the record of a failed file with its error, and erases the file', async () => {
      const { media, upload } = await reserve(uploader, { ...notes, mime: 'application/pdf' });
      await put(upload, notes.bytes);
      const { body } = await completing(uploader, media.id);
      expect(body.data).to.deep.equal({
        ...media,
        status: 'failed',
        error: 'content_not_allowed',
        size_bytes: notes.bytes.length,
      });
      expect(await filesOf(club)).to.deep.equal([]);
      expect((await completing(uploader, media.id)).body.data).to.deep.equal(body.data);
      expect(await read(media.id)).to.deep.equal({ ...body.data, ...asListed });
    });

    it('returns 409 upload_missing before the file arrives, and 404 for a file that the club does not have', async () => {
      const { media } = await reserve(uploader, notes);
      expectError(await completing(uploader, media.id), 'upload_missing');
      expectError(await completing(uploader, newId()), 'not_found');
      expectError(await completing({ club: await buildClub() }, media.id), 'not_found');
      expectError(await completing({ club, student: await buildStudent(club.id) }, media.id), 'not_found');
      expect(await read(media.id)).to.deep.equal({ ...media, ...asListed });
    });

    it('downloads a file under its original name with any characters', async () => {
      const names = [
        'Nós & voltas.md',
        '漢字.md',
        'a "quoted" 100% name\'s (copy)*.md',
        `${'😀'.repeat(252)}.md`,
        `${'ñ'.repeat(252)}.md`,
        '-rf .md',
      ];
      await eachCase(names, async (fileName) => {
        const ready = await uploadFile(uploader, { ...notes, fileName });
        expect(ready.file_name).to.equal(fileName);
        const download = await fetch(ready.download_url ?? '');
        expect(download.status).to.equal(200);
        const [, plain = '', full = ''] =
          /^attachment; filename="([\x20-\x7e]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]+)$/.exec(
            download.headers.get('content-disposition') ?? '',
          ) ?? [];
        expect(decodeURIComponent(full)).to.equal(fileName);
        expect(plain).to.not.match(/["\\%]/);
        await download.arrayBuffer();
      });
    });
  });

  describe('GET /v1/clubs/{clubId}/media', () => {
    it('lists files newest first, in pages, without removed files and students’ images', async () => {
      const ids: string[] = [];
      for (let at = 0; at < 3; at++) {
        clock.advance(1_000);
        ids.unshift((await reserve(uploader, notes)).media.id);
      }
      await reserve({ club, student: await buildStudent(club.id) }, { ...notes, mime: 'image/png' });
      await reserve({ club: await buildClub() }, notes);
      const idsOf = ({ data }: { data: MediaRecord[] }) => data.map(({ id }) => id);
      expect(idsOf(await list())).to.deep.equal(ids);
      expect(idsOf(await list('?page=2&page_size=2'))).to.deep.equal(ids.slice(2));
      await remove(ids[0] ?? '');
      const rest = await list('?page_size=1');
      expect([rest.total, idsOf(rest)]).to.deep.equal([2, [ids[1]]]);
    });
  });

  describe('GET /v1/clubs/{clubId}/media/{mediaId}/usage', () => {
    const usage = (id: string, query = '', of = club) =>
      call('GET', `${libraryPath(of, id, 'usage')}${query}`, { token: of.owner.token });

    it('lists the agents that use the file as material, sorted by title and in pages', async () => {
      const { id } = await uploadFile(uploader, notes);
      expect((await usage(id)).body).to.deep.equal({ data: [], total: 0 });
      const agents = [await buildAgent(club.id), await buildAgent(club.id), await buildAgent(club.id)];
      for (const [index, agent] of agents.entries()) {
        await (
          await testDatabase()
        ).query(`UPDATE agents SET name = $2 WHERE id = $1`, [agent.id, `Agent ${3 - index}`]);
        if (index < 2) await buildMaterial(agent.id, { mediaId: id });
      }
      const [first, second] = [agents[1]?.id, agents[0]?.id];
      expect((await usage(id)).body).to.deep.equal({
        data: [
          { kind: 'agent', id: first, title: 'Agent 2' },
          { kind: 'agent', id: second, title: 'Agent 3' },
        ],
        total: 2,
      });
      const { data, total } = (await usage(id, '?page=2&page_size=1')).body;
      expect([data.map((place: { id: string }) => place.id), total]).to.deep.equal([[second], 2]);
    });

    it('returns 404 for a file that is unknown, removed or of another club, and for a student’s image', async () => {
      const removed = await uploadFile(uploader, notes);
      await remove(removed.id);
      const foreign = await uploadFile({ club: await buildClub() }, notes);
      const student = await buildStudent(club.id);
      const image = await uploadFile({ club, student }, { fileName: 'a.png', mime: 'image/png', bytes: png(2, 2) });
      await eachCase([newId(), removed.id, foreign.id, image.id], async (id) =>
        expectError(await usage(id), 'not_found'),
      );
    });
  });

  describe('DELETE /v1/clubs/{clubId}/media/{mediaId}', () => {
    it('erases the file from the library and the bucket, and its name from every table', async () => {
      const fileName = `secret ${newId()}.md`;
      const ready = await uploadFile(uploader, { ...notes, fileName }, { title: `about ${fileName}` });
      const answer = await remove(ready.id);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
      expect(await filesOf(club)).to.deep.equal([]);
      expect(await columnsHolding(fileName)).to.deep.equal([]);
      await eachCase(
        [
          await call('GET', libraryPath(club, ready.id), { token: club.owner.token }),
          await remove(ready.id),
          await completing(uploader, ready.id),
        ],
        (again) => expectError(again, 'not_found'),
      );
      expect((await fetch(ready.download_url ?? '')).status).to.equal(404);
    });

    it('returns 404 for a file of another club, and keeps the file', async () => {
      const ready = await uploadFile(uploader, notes);
      const other = await buildClub();
      expectError(await call('DELETE', libraryPath(other, ready.id), { token: other.owner.token }), 'not_found');
      expect((await read(ready.id)).status).to.equal('ready');
    });

    it('returns 409 in_use with the names of the agents that use the file, unless force=true is given', async () => {
      const { id } = await uploadFile(uploader, notes);
      const agents = await Promise.all(Array.from({ length: 5 }, () => buildAgent(club.id)));
      for (const agent of agents) await buildMaterial(agent.id, { mediaId: id });
      const before = await rowCounts();
      const refused = await remove(id);
      expectError(refused, 'in_use');
      expect(refused.body.error.message).to.match(
        /^The file is used by (agent “[^”]+”, ){2}agent “[^”]+” and 2 more\. /,
      );
      expect(await rowCounts()).to.deep.equal(before);
      const answer = await call('DELETE', `${libraryPath(club, id)}?force=true`, { token: club.owner.token });
      expect(answer.status).to.equal(204);
      const source = await testDatabase();
      expect(await source.query(`SELECT FROM media_uses WHERE media_id = $1`, [id])).to.deep.equal([]);
    });

    it('removes a file before its upload ends, and erases bytes that arrive later', async () => {
      const { media, upload } = await reserve(uploader, notes);
      expect((await remove(media.id)).status).to.equal(204);
      expect(await put(upload, notes.bytes)).to.equal(200);
      expectError(await completing(uploader, media.id), 'not_found');
      const source = await testDatabase();
      const [row] = await source.query<{ erases: number }[]>(
        `SELECT extract(epoch FROM erases_at - upload_expires_at)::int AS erases FROM media WHERE id = $1`,
        [media.id],
      );
      expect(row?.erases).to.equal(5 * 60);
    });
  });

  describe('a library file in the material of agents', () => {
    it('is indexed when it is ready, and leaves the index when it is deleted', async () => {
      const source = await testDatabase();
      const { media, upload } = await reserve(uploader, notes);
      await buildMaterial((await buildAgent(club.id)).id, { mediaId: media.id });
      const sources = () =>
        source.query<object[]>(
          `SELECT source.title, source.status, (SELECT count(*)::int FROM wakes WHERE subject_id = source.id::text) AS wakes
           FROM agent_sources source WHERE media_id = $1`,
          [media.id],
        );
      await put(upload, notes.bytes);
      expect(await sources()).to.deep.equal([]);
      await completing(uploader, media.id);
      expect(await sources()).to.deep.equal([{ title: 'notes.md', status: 'pending', wakes: 1 }]);
      expect(
        (await call('DELETE', `${libraryPath(club, media.id)}?force=true`, { token: club.owner.token })).status,
      ).to.equal(204);
      expect(await sources()).to.deep.equal([]);
    });
  });

  describe('GET /v1/clubs/{clubId}/media/storage', () => {
    const usage = async (token = club.owner.token) => call('GET', libraryPath(club, 'storage'), { token });

    it('counts a file from its completion until its erasure, and returns the size of each kind (MED-13)', async () => {
      const limit_bytes = plans.professional.allowances.storage_bytes.included;
      const { status, body } = await usage();
      expect([status, body]).to.deep.equal([200, { bytes: 0, files: 0, by_kind: [], limit_bytes }]);
      const [picture, file] = [png(), notes.bytes.length];
      await reserve(uploader, notes);
      const { id } = await uploadFile(uploader, notes);
      await uploadFile(uploader, { fileName: 'knot.png', mime: 'image/png', bytes: picture });
      const { size_bytes: storedSize = 0 } = await uploadFile(
        { club, student: await buildStudent(club.id) },
        { fileName: 'bow.png', mime: 'image/png', bytes: picture },
      );
      const images = { kind: 'image', bytes: picture.length + storedSize, files: 2 };
      expect((await usage()).body).to.deep.equal({
        bytes: images.bytes + file,
        files: 3,
        by_kind: [images, { kind: 'document', bytes: file, files: 1 }],
        limit_bytes,
      });
      await remove(id);
      expect((await usage()).body).to.deep.equal({ bytes: images.bytes, files: 2, by_kind: [images], limit_bytes });
      const plan = await call('GET', `/v1/clubs/${club.id}/plan`, { token: club.owner.token });
      expect(plan.body.data.allowances.storage_bytes.used).to.equal(images.bytes);
    });

    it('is readable for every member, and includes add-ons in the allowance', async () => {
      await buildAddOn(club.id, {
        kind: 'storage',
        adds: 7,
        status: 'active',
        payment_id: 'pi',
        settled_at: new Date(),
      });
      const { token } = await buildMember(club.id, 'support');
      const limit = plans.professional.allowances.storage_bytes.included + 7;
      expect((await usage(token)).body.limit_bytes).to.equal(limit);
    });
  });

  describe('a club without free storage', () => {
    it('gets 402 limit_reached with the resource’s name, and nothing is written', async () => {
      await buildPlan(club.id, 'trial');
      await buildMedia(club.id, { bytes: null, sizeBytes: plans.trial.allowances.storage_bytes.included - 1 });
      const before = await rowCounts();
      const answer = await reserving(uploader, notes);
      expectError(answer, 'limit_reached');
      expect(answer.text).to.match(/storage/);
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('gets storage_full for a file that is larger than declared, and the file is erased', async () => {
      await buildPlan(club.id, 'trial');
      const { media } = await reserve(uploader, notes);
      const rest = plans.trial.allowances.storage_bytes.included - notes.bytes.length;
      await buildMedia(club.id, { bytes: null, sizeBytes: rest });
      const store = await testObjectStore(); // the upload address accepts only the declared size
      await store.put(`media/${club.id}/${media.id}`, notes.mime, Readable.from([notes.bytes, notes.bytes]));
      const { body } = await completing(uploader, media.id);
      expect(body.data).to.deep.equal({ ...media, status: 'failed', error: 'storage_full' });
      expect(await filesOf(club)).to.deep.equal([]);
      const usage = await call('GET', libraryPath(club, 'storage'), { token: club.owner.token });
      expect(usage.body).to.include({ bytes: rest, files: 1 });
      expectError(await reserving(uploader, notes), 'limit_reached'); // its upload address is still valid
      await eraseAll(new Date(clock.now().getTime() + 20 * 60_000));
      await reserve(uploader, notes);
    });
  });

  describe('roles', () => {
    it('let support read the library, but not change it', async () => {
      const { token } = await buildMember(club.id, 'support');
      const ready = await uploadFile(uploader, notes);
      expect((await call('GET', libraryPath(club, ready.id), { token })).body.data.id).to.equal(ready.id);
      expectError(await reserving({ club, token }, notes), 'role_not_permitted');
      expectError(await completing({ club, token }, ready.id), 'role_not_permitted');
      expectError(await remove(ready.id, token), 'role_not_permitted');
    });
  });
});
