import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import yauzl from 'yauzl';
import { archiveDownloads } from '../../api/metrics.ts';
import { openDownload, readArchive } from '../../domain/repositories/archive.ts';
import { downloadToken, readDownloadToken } from '../../domain/repositories/tokens.ts';
import { showOne } from '../../domain/repositories/showing.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { buildFiles, buildHostedFile, buildRepository, type TestRepository } from '../toolkit/builders/repositories.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import { callsOf, type ClubCalls } from '../toolkit/drive/club-calls.ts';
import { until } from '../toolkit/drive/until.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';

const minute = 60_000;

const storeObject = async (key: string, bytes: Buffer) =>
  (await testObjectStore()).put(key, 'application/octet-stream', Readable.from([bytes]));

describe('repositories', () => {
  let club: TestClub;
  let send: ClubCalls;
  beforeEach(async () => {
    club = await buildClub();
    send = callsOf(club);
  });
  const create = (body: object) => send('POST', '/repositories', body);
  const change = (id: Id, body: object) => send('PATCH', `/repositories/${id}`, body);
  const setItems = (id: Id, mediaIds: readonly Id[]) =>
    send('PUT', `/repositories/${id}/items`, { media_ids: mediaIds });
  const itemsOf = ({ body }: Answer): Id[] => body.data.items.map(({ media }: { media: { id: Id } }) => media.id);
  const usesOf = async (mediaId: Id): Promise<unknown> => (await send('GET', `/media/${mediaId}/usage`)).body.data;
  const image = () => buildMedia(club.id, { mime: 'image/png', bytes: 'png' });
  /** Creates a student whose access began a minute ago. */
  async function readerOf({ id }: TestRepository): Promise<TestStudent & { enrollmentId: Id }> {
    const student = await buildStudent(club.id);
    const delivery = await buildAccessDelivery(club.id, { repositoryId: id });
    const startsAt = new Date(clock.now().getTime() - minute);
    const enrollment = await buildEnrollment(club.id, { studentId: student.id, deliveryId: delivery.id, startsAt });
    return { ...student, enrollmentId: enrollment.id };
  }
  const own = (student: TestStudent, path = '', method = 'GET') =>
    call(method, `/v1/clubs/${club.id}/classroom/repositories${path}`, { token: student.token });

  it('let other requests run while one read processes 500 files (REPO-4)', async () => {
    const { id } = await buildRepository(club.id, { mediaIds: await buildFiles(club.id, 500) });
    let turn = 0;
    let turning = setImmediate(function next() {
      turn += 1;
      turning = setImmediate(next);
    });
    const signedIn: number[] = [];
    const storage = {
      signGet: async (key: string) => (signedIn.push(turn), key),
    } as Partial<ObjectStore> as ObjectStore;
    const { db } = await testDeps();
    const { items } = await showOne({ db, storage }, sql`repository.id = ${id}`, 'administrator');
    clearImmediate(turning);
    expect([items.length, signedIn.length]).to.deep.equal([500, 1_000]);
    expect([...Map.groupBy(signedIn, (at) => at).values()].map(({ length }) => length)).to.deep.equal(
      Array(10).fill(100),
    );
  });

  describe('POST /v1/clubs/{clubId}/repositories', () => {
    it('creates a draft without files, and returns the record that later reads return', async () => {
      const { status, body } = await create({ title: '  Knot   cards ' });
      expect(status).to.equal(201);
      const { id, created_at: createdAt } = body.data;
      expect(body.data).to.deep.equal({
        id,
        public_id: 'knot-cards',
        title: 'Knot cards',
        status: 'draft',
        file_count: 0,
        total_bytes: 0,
        created_at: createdAt,
        items: [],
      });
      expect((await send('GET', `/repositories/${id}`)).body).to.deep.equal(body);
    });

    it('returns 402 if the plan has no repositories and 409 if the public id is used, and writes nothing', async () => {
      await create({ title: 'Cards', public_id: 'cards' });
      const before = await rowCounts();
      expectError(await create({ title: 'Others', public_id: 'cards' }), 'public_id_taken');
      await buildPlan(club.id, 'starter');
      const withPlan = await rowCounts();
      expectError(await create({ title: 'Cards' }), 'feature_not_in_plan');
      expect({ ...withPlan, club_plans: 0 }).to.deep.equal({ ...before, club_plans: 0 });
      expect(await rowCounts()).to.deep.equal(withPlan);
    });
  });

  describe('GET /v1/clubs/{clubId}/repositories', () => {
    it('lists repositories newest first, with counts and covers, but without their files', async () => {
      const reference = await buildMedia(club.id);
      const file = await buildHostedFile(club.id, 'cards.txt', 'A bowline');
      const old = await buildRepository(club.id, { status: 'draft', createdAt: new Date('2026-01-01T00:00:00Z') });
      const recent = await buildRepository(club.id, { mediaIds: [file.id, reference.id] });
      const { body } = await send('GET', '/repositories');
      expect(body.total).to.equal(2);
      expect(body.data.map(({ id }: { id: Id }) => id)).to.deep.equal([recent.id, old.id]);
      expect(body.data[0]).to.deep.include({ file_count: 2, total_bytes: 9 }).and.not.have.property('items');
      expect((await send('GET', '/repositories?status=draft')).body.data).to.have.length(1);
      expectError(await send('GET', '/repositories?status=gone'), 'invalid_request');
    });
  });

  describe('PATCH /v1/clubs/{clubId}/repositories/{repositoryId}', () => {
    it('changes the given fields, and sets published_at to the new time at each publication', async () => {
      const { id } = (await create({ title: 'Cards' })).body.data;
      const words = { title: 'Knot cards', description: 'One each.', instructor_name: 'Ada', public_id: 'knots' };
      expect((await change(id, words)).body.data).to.include(words);
      const first = (await change(id, { status: 'published' })).body.data;
      clock.advance(minute);
      expect((await change(id, { status: 'published' })).body.data.published_at).to.equal(first.published_at);
      await change(id, { status: 'archived' });
      const again = (await change(id, { status: 'published' })).body.data;
      expect(Date.parse(again.published_at) - Date.parse(first.published_at)).to.be.at.least(minute);
      expect(again.title).to.equal('Knot cards');
    });

    it('returns 402 only for a publication, and only if the plan has no repositories', async () => {
      const { id } = (await create({ title: 'Cards' })).body.data;
      await buildPlan(club.id, 'starter');
      expectError(await change(id, { status: 'published' }), 'feature_not_in_plan');
      expect((await change(id, { title: 'Others' })).status).to.equal(200);
    });

    it('records one use of a file, even if the file is both the cover and an item', async () => {
      const [{ id }, cover, file] = [(await create({ title: 'Cards' })).body.data, await image(), await image()];
      const use = [{ kind: 'repository', id, title: 'Cards' }];
      expect((await change(id, { cover_media_id: cover.id })).body.data.cover.id).to.equal(cover.id);
      await setItems(id, [file.id]);
      expect([await usesOf(cover.id), await usesOf(file.id)]).to.deep.equal([use, use]);
      await change(id, { cover_media_id: file.id });
      expect([await usesOf(cover.id), await usesOf(file.id)]).to.deep.equal([[], use]);
      await setItems(id, []);
      expect(await usesOf(file.id)).to.deep.equal(use);
      expect((await change(id, { cover_media_id: 'none' })).body.data).not.to.have.property('cover');
      expect(await usesOf(file.id)).to.deep.equal([]);
      expectError(await change(id, { cover_media_id: (await buildMedia(club.id)).id }), 'invalid_request');
      expectError(await change(id, { cover_media_id: newId() }), 'not_found');
    });
  });

  describe('PUT /v1/clubs/{clubId}/repositories/{repositoryId}/items', () => {
    it('stores the files in the given order, and keeps added_at of files that remain', async () => {
      const { id } = (await create({ title: 'Cards' })).body.data;
      const files = [await buildMedia(club.id), await buildMedia(club.id), await buildMedia(club.id)].map(
        (file) => file.id,
      );
      const [a = '', b = '', c = ''] = files;
      const first = await setItems(id, [a, b]);
      expect(itemsOf(first)).to.deep.equal([a, b]);
      clock.advance(minute);
      const second = await setItems(id, [c, b.toUpperCase()]);
      expect(itemsOf(second)).to.deep.equal([c, b]);
      expect(second.body.data.items[1].added_at).to.equal(first.body.data.items[1].added_at);
      const added = ({ body }: Answer, place: number) => Date.parse(body.data.items[place].added_at);
      expect(added(second, 0) - added(first, 0)).to.be.at.least(minute);
      expect([await usesOf(a), await usesOf(c)]).to.deep.equal([[], [{ kind: 'repository', id, title: 'Cards' }]]);
    });

    it('refuses repeated or archived files, files of other clubs and more than 500 files', async () => {
      const file = await buildMedia(club.id);
      const { id } = await buildRepository(club.id, { mediaIds: [file.id] });
      const archived = await buildMedia(club.id);
      await (await testDatabase()).query('UPDATE media SET archived = true WHERE id = $1', [archived.id]);
      const foreign = await buildMedia((await buildClub()).id);
      const before = await send('GET', `/repositories/${id}`);
      expectError(await setItems(id, [file.id, file.id]), 'invalid_request');
      expectError(await setItems(id, [file.id, file.id.toUpperCase()]), 'invalid_request');
      expectError(await setItems(id, [file.id, foreign.id]), 'not_found');
      expectError(await setItems(id, [archived.id]), 'media_archived');
      expectError(
        await setItems(
          id,
          Array.from({ length: 501 }, () => newId()),
        ),
        'invalid_request',
      );
      expect((await send('GET', `/repositories/${id}`)).body).to.deep.equal(before.body);
    });

    it('prevents the deletion of an item’s file, unless the deletion has force=true', async () => {
      const [file, other] = [await buildMedia(club.id), await buildMedia(club.id)];
      const { id, title } = await buildRepository(club.id, { mediaIds: [file.id, other.id] });
      const refused = await send('DELETE', `/media/${file.id}`);
      expectError(refused, 'in_use');
      expect(refused.body.error.message).to.contain(`repository “${title}”`);
      expect((await send('DELETE', `/media/${file.id}?force=true`)).status).to.be.below(300);
      const remaining = await send('GET', `/repositories/${id}`);
      expect([itemsOf(remaining), remaining.body.data.file_count]).to.deep.equal([[other.id], 1]);
      expect((await change(id, { cover_media_id: (await image()).id })).status).to.equal(200);
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/repositories', () => {
    it('shows only ready files to students, but shows all files to administrators', async () => {
      const [ready, waiting] = [
        await buildHostedFile(club.id, 'a.txt', 'abc'),
        await buildMedia(club.id, { status: 'processing' }),
      ];
      const repository = await buildRepository(club.id, { mediaIds: [waiting.id, ready.id] });
      const student = await readerOf(repository);
      await buildPlan(club.id, 'starter');
      const opened = await own(student, `/${repository.publicId}`);
      expect([itemsOf(opened), opened.body.data.file_count, opened.body.data.total_bytes]).to.deep.equal([
        [ready.id],
        1,
        3,
      ]);
      expect(opened.body.data.items[0].media).not.to.have.any.keys('favorite', 'usage_count');
      const { items: _, ...summary } = opened.body.data;
      expect((await own(student)).body).to.deep.equal({ data: [summary], total: 1 });
      expect(itemsOf(await send('GET', `/repositories/${repository.id}`))).to.deep.equal([waiting.id, ready.id]);
    });

    it('returns the same 404 answer for repositories that are unpublished, inaccessible or unknown', async () => {
      const file = await buildHostedFile(club.id, 'a.txt', 'abc');
      const repository = await buildRepository(club.id, { mediaIds: [file.id] });
      const { publicId } = repository;
      const [student, stranger] = [await readerOf(repository), await buildStudent(club.id)];
      const answers: string[] = [];
      const expectUnseen = async (who: TestStudent, name = publicId) => {
        for (const [path, method] of [
          [`/${name}`, 'GET'],
          [`/${name}/download`, 'POST'],
        ] as const) {
          const answer = await own(who, path, method);
          expectError(answer, 'not_found');
          answers.push(JSON.stringify(answer.body));
        }
        expect((await own(who)).body).to.deep.equal({ data: [], total: 0 });
      };
      await expectUnseen(stranger);
      await expectUnseen(stranger, 'unknown');
      for (const status of ['draft', 'archived']) {
        await change(repository.id, { status });
        await expectUnseen(student);
      }
      await change(repository.id, { status: 'published' });
      expect((await own(student, `/${publicId}`)).status).to.equal(200);
      await (
        await testDatabase()
      ).query('UPDATE enrollments SET ends_at = $2 WHERE id = $1', [student.enrollmentId, clock.now()]);
      await expectUnseen(student);
      expect(new Set(answers).size).to.equal(1);
    });
  });

  describe('downloads of a repository', () => {
    const contents = [randomBytes(200_000), Buffer.from('A bowline\n'), randomBytes(70_001)];
    let repository: TestRepository;
    let student: TestStudent & { enrollmentId: Id };
    let files: Id[];
    beforeEach(async () => {
      files = [];
      for (const [place, bytes] of contents.entries())
        files.push((await buildHostedFile(club.id, place === 1 ? 'cards.txt' : 'Karte.bin', bytes)).id);
      repository = await buildRepository(club.id, { title: 'Knot cards', mediaIds: files });
      student = await readerOf(repository);
    });
    const offer = async () => (await own(student, `/${repository.publicId}/download`, 'POST')).body.data;
    const bytesAt = async (url: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(url, { headers });
      return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const refusalAt = async (url: string) => {
      const answer = await fetch(url);
      const { error } = (await answer.json()) as { error: { code: string } };
      return [answer.status, error.code];
    };
    /** @returns the number of bytes that arrived before the connection broke */
    async function brokenAt(url: string): Promise<number> {
      let came = 0;
      const { body } = await fetch(url);
      const failure = await (async () => {
        for await (const piece of body ?? []) came += piece.length;
      })().catch((error: unknown) => error);
      expect(failure).to.be.an('error');
      return came;
    }

    it('have the announced length, and give each file a different name', async () => {
      const { url, size_bytes: size, file_name: name, expires_at: expiresAt } = await offer();
      expect(name).to.equal('Knot cards.zip');
      expect(Date.parse(expiresAt) - clock.now().getTime()).to.be.within(14 * minute, 15 * minute);
      const { answer, bytes } = await bytesAt(url);
      expect(answer.status).to.equal(200);
      expect([Number(answer.headers.get('content-length')), bytes.length]).to.deep.equal([size, size]);
      expect(answer.headers.get('content-disposition')).to.contain('filename="Knot cards.zip"');
      expect(answer.headers.get('content-type')).to.equal('application/zip');
      const zip = await yauzl.fromBufferPromise(bytes, { strictFileNames: true });
      const entries = [];
      for await (const entry of zip.eachEntry()) {
        const content = (await (await zip.openReadStreamPromise(entry)).toArray()) as Buffer[];
        entries.push([entry.fileName, Buffer.concat(content)]);
      }
      expect(entries).to.deep.equal([
        ['Karte.bin', contents[0]],
        ['cards.txt', contents[1]],
        ['Karte (2).bin', contents[2]],
      ]);
      const head = await fetch(url, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).to.deep.equal([
        200,
        String(size),
        answer.headers.get('etag'),
      ]);
    });

    it('have the same bytes if they are interrupted anywhere and resumed at a renewed address', async () => {
      const { url } = await offer();
      const { answer, bytes } = await bytesAt(url);
      const etag = answer.headers.get('etag') ?? '';
      clock.advance(minute);
      const renewed = (await offer()).url;
      expect(renewed).not.to.equal(url);
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (cut) => {
          const rest = await bytesAt(renewed, { range: `bytes=${cut}-`, 'if-range': etag });
          expect(rest.answer.status).to.equal(206);
          expect(rest.answer.headers.get('content-range')).to.equal(`bytes ${cut}-${bytes.length - 1}/${bytes.length}`);
          expect(rest.bytes.equals(bytes.subarray(cut))).to.equal(true);
        }),
        { numRuns: 15 },
      );
      const beyond = await bytesAt(renewed, { range: `bytes=${bytes.length}-` });
      expect([beyond.answer.status, beyond.answer.headers.get('content-range'), beyond.bytes.length]).to.deep.equal([
        416,
        `bytes */${bytes.length}`,
        0,
      ]);
    });

    it('start again from the beginning if the repository has changed', async () => {
      const { url } = await offer();
      const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';
      await setItems(repository.id, files.slice(0, 2));
      const { answer, bytes } = await bytesAt(url, { range: 'bytes=10-', 'if-range': etag });
      expect([answer.status, answer.headers.get('etag') === etag]).to.deep.equal([200, false]);
      expect(bytes.length).to.equal((await offer()).size_bytes);
    });

    it('are refused after 15 minutes, and immediately after access ends', async () => {
      const { url } = await offer();
      clock.advance(14 * minute);
      expect((await bytesAt(url)).answer.status).to.equal(200);
      await change(repository.id, { status: 'draft' });
      expect(await refusalAt(url)).to.deep.equal([404, 'not_found']);
      await change(repository.id, { status: 'published' });
      await send('POST', `/enrollments/${student.enrollmentId}/revoke`);
      expect(await refusalAt(url)).to.deep.equal([404, 'not_found']);
      clock.advance(minute);
      expect(await refusalAt(url)).to.deep.equal([401, 'unauthenticated']);
    });

    it('are refused for a wrong token and for a wrong HTTP method', async () => {
      const { url } = await offer();
      const { vault } = await testDeps();
      const token = { repositoryId: repository.id, expiresAt: new Date(clock.now().getTime() + minute) };
      const at = (studentId: Id) => url.replace(/[^/]+$/, downloadToken(vault, { ...token, studentId }));
      const [stranger, ours] = [await buildStudent(club.id), url.split('/').at(-1) ?? ''];
      expect(await refusalAt(at(stranger.id))).to.deep.equal([404, 'not_found']);
      const swapped = `${ours.slice(0, 30)}${ours[30] === 'A' ? 'B' : 'A'}${ours.slice(31)}`;
      await eachCase([swapped, `${ours}A`, 'x'], async (other) =>
        expect(await refusalAt(url.replace(/[^/]+$/, other))).to.deep.equal([401, 'unauthenticated']),
      );
      const posted = await fetch(url, { method: 'POST' });
      expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS']);
    });

    it('end with an error if a file is missing or changed', async () => {
      const { url, size_bytes: size } = await offer();
      const store = await testObjectStore();
      const key = `media/${club.id}/${files[2]}`;
      await store.remove(key);
      expect(await brokenAt(url)).to.be.within(200_000, size - 70_001);
      const other = Buffer.from(contents[2] ?? '');
      other.writeUInt8(other.readUInt8(70_000) ^ 1, 70_000);
      await storeObject(key, other);
      expect(await brokenAt(url)).to.be.within(200_000, size - 1);
      await store.remove(key);
      await storeObject(key, other.subarray(1));
      expect(await brokenAt(url)).to.be.within(200_000, size - 1);
    });

    it('contain a file that was moved to the other bucket', async () => {
      const key = `public/${club.id}/${files[1]}`;
      const { url } = await offer();
      const { bytes } = await bytesAt(url);
      await storeObject(key, contents[1] ?? Buffer.alloc(0));
      await (
        await testDatabase()
      ).query(`UPDATE media SET visibility = 'public', object_key = $2 WHERE id = $1`, [files[1], key]);
      await (await testObjectStore()).remove(`media/${club.id}/${files[1]}`);
      expect((await bytesAt(url)).bytes.equals(bytes)).to.equal(true);
    });

    it('contain a file that moves during the download, but fail if its content changes', async () => {
      const [{ vault, db }, storage] = [await testDeps(), await testObjectStore()];
      const [, text = ''] = /\/downloads\/(.+)$/.exec((await offer()).url) ?? [];
      const token = readDownloadToken(vault, text, clock.now());
      if (!token) throw new Error('The address contains no valid token');
      const archive = await openDownload(db, token, clock.now());
      const { bytes } = await bytesAt((await offer()).url);
      const whole = { from: 0, length: archive.layout.size };
      const read = async () => {
        const pieces: Buffer[] = [];
        for await (const piece of readArchive({ db, storage }, archive, whole, new AbortController().signal))
          pieces.push(piece);
        return Buffer.concat(pieces);
      };
      const key = `public/${club.id}/${files[1]}`;
      await storeObject(key, contents[1] ?? Buffer.alloc(0));
      await storage.remove(`media/${club.id}/${files[1]}`);
      await alter('media', files[1] ?? '', { visibility: 'public', object_key: key });
      expect((await read()).equals(bytes)).to.equal(true);
      await alter('media', files[1] ?? '', { crc32: 7 }); // replaced by another file of equal length
      expect(await read().catch((error: Error) => error.message)).to.equal(
        `File ${files[1]} of an archive does not exist any more`,
      );
    });

    it('return 429 rate_limited for a student’s 61st request of any kind in a minute (LIM-23)', async () => {
      const { url } = await offer();
      const heads = await Promise.all(Array.from({ length: 60 }, () => fetch(url, { method: 'HEAD' })));
      expect(new Set(heads.map(({ status }) => status))).to.deep.equal(new Set([200]));
      expect(await refusalAt(url)).to.deep.equal([429, 'rate_limited']);
      const other = await readerOf(repository);
      const { url: theirs } = (await own(other, `/${repository.publicId}/download`, 'POST')).body.data;
      expect((await fetch(theirs, { method: 'HEAD' })).status).to.equal(200);
    });

    it('return 404 without a stored file, and 409 while a file is being processed', async () => {
      const download = () => own(student, `/${repository.publicId}/download`, 'POST');
      await (await testDatabase()).query('UPDATE media SET crc32 = NULL WHERE id = $1', [files[1]]);
      expectError(await download(), 'media_not_ready');
      await setItems(repository.id, [(await buildMedia(club.id)).id]);
      expectError(await download(), 'not_found');
    });

    it('are limited to three simultaneous downloads per student', async () => {
      const large = await buildHostedFile(club.id, 'large.bin', randomBytes(30_000_000));
      await setItems(repository.id, [large.id]);
      const { url } = await offer();
      const leaving = new AbortController();
      await Promise.all([1, 2, 3].map(() => fetch(url, { signal: leaving.signal })));
      const refused = await fetch(url);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '30']);
      expect(((await refused.json()) as { error: { code: string } }).error.code).to.equal('busy');
      leaving.abort();
      const underWay = async () => (await archiveDownloads.get()).values[0]?.value;
      await until('the end of the downloads', { timeoutMs: 10_000 }, async () => (await underWay()) === 0);
      const { bytes } = await bytesAt(url, { range: 'bytes=0-9' });
      expect(bytes).to.have.length(10);
    });

    it('have an ETag that changes only with the contents', async () => {
      const { url } = await offer();
      const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag');
      expect(etag).to.match(/^"zip1-[\w-]{43}"$/);
      await change(repository.id, { title: 'Others' });
      expect((await fetch(url, { method: 'HEAD' })).headers.get('etag')).to.equal(etag);
      const source = await testDatabase();
      await source.query('UPDATE media SET sha256 = $2 WHERE id = $1', [files[0], createHash('sha256').digest()]);
      expect((await fetch(url, { method: 'HEAD' })).headers.get('etag')).not.to.equal(etag);
    });
  });
});
