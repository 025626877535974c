/** Tests resumable uploads with a real client: over connections that are cut, to processes that crash, and from a browser (MED-26). */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { CreateBucketCommand, GetBucketCorsCommand, S3Client } from '@aws-sdk/client-s3';
import { expect } from 'chai';
import * as tus from 'tus-js-client';
import { readConfig } from '../../config.ts';
import { projectDirectory } from '../../dev/project.ts';
import { createUploadLocks, UploadLocked, type UploadLocks } from '../../domain/media/uploads/locks.ts';
import { recordMultipart } from '../../domain/media/uploads/open-uploads.ts';
import { newId } from '../../platform/core/ids.ts';
import { clientConfig, createObjectStore, type ObjectStore } from '../../platform/infra/store/object-store.ts';
import { partBytes } from '../../platform/infra/store/part-store.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { video } from '../toolkit/builders/played-files.ts';
import { startApi, type RunningApi } from '../../api/server.ts';
import { call, testConfig } from '../toolkit/drive/api.ts';
import { libraryPath, mediaDeps, reserve, sayingArrived, type Reserved } from '../toolkit/drive/media.ts';
import { processedFile } from '../toolkit/drive/processing.ts';
import { until } from '../toolkit/drive/until.ts';
import { useApiProcesses, useLine } from '../toolkit/stack/api-processes.ts';
import { overhang, useBrowser, widths } from '../toolkit/stack/browser.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';

const soon = { timeoutMs: 30_000 };
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('uploads of videos by a real client', function () {
  this.timeout(90_000);
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const storedOf = async (id: string): Promise<Buffer> => {
    const store = await testObjectStore();
    const key = `media/${club.id}/${id}`;
    return (await store.read(key, 0, (await store.size(key)) ?? 0)) ?? Buffer.alloc(0);
  };
  const endLease = async (id: string) =>
    (await testDatabase()).query(
      `UPDATE media_uploads SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
      [id],
    );

  describe('over an unreliable connection', () => {
    const startProcess = useApiProcesses();
    const line = useLine();
    let processes: Awaited<ReturnType<typeof startProcess>>[];
    before('start two processes behind one address', async function () {
      this.timeout(120_000);
      processes = await Promise.all([1, 2].map(() => startProcess({ FILES_URL: line().url })));
    });

    /** @returns the offsets at which the client resumed, once the whole file has arrived */
    function startUpload(
      { media, upload }: Reserved,
      bytes: Buffer,
    ): { resumptions: Promise<number[]>; resumedAt: number[] } {
      const resumedAt: number[] = [];
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      new tus.Upload(bytes, {
        endpoint: `${line().url}/uploads`,
        headers: upload.headers,
        retryDelays: [20, 20, 100, 500, 1_000, 5_000],
        onAfterResponse(request, response) {
          if (request.getMethod() === 'HEAD') resumedAt.push(Number(response.getHeader('upload-offset')));
        },
        onSuccess: () => resolve(resumedAt),
        onError: (error) => reject(new Error(`${media.id}: ${error.message}`)),
      }).start();
      return { resumptions: promise, resumedAt };
    }
    const filesPort = (which: number) => processes[which]?.filesPort ?? 0;

    it('continue in another process after the last received byte if the connection is cut', async () => {
      const bytes = randomBytes(2 * partBytes + 4_321);
      const reserved = await reserve({ club }, { fileName: 'cut.mp4', mime: 'video/mp4', bytes });
      line().leadTo(filesPort(0), partBytes + 1_000_000);
      const { resumptions } = startUpload(reserved, bytes);
      await until('the first part of the file', soon, async () => line().passed() >= partBytes + 1_000_000);
      line().leadTo(filesPort(1));
      line().cut(); // The first process does not notice that the line is cut, and still holds the lock.
      const [resumedAt = 0] = await resumptions;
      expect(resumedAt).to.be.greaterThan(partBytes + 900_000);
      expect(sha(await storedOf(reserved.media.id))).to.equal(sha(bytes));
      line().hangUp();
    });

    it('continue in another process after the last whole part if the first process is killed', async () => {
      const bytes = randomBytes(2 * partBytes + 4_321);
      const reserved = await reserve({ club }, { fileName: 'killed.mp4', mime: 'video/mp4', bytes });
      const prefix = `media/${club.id}/`;
      line().leadTo(filesPort(1), partBytes + 1_000_000);
      const { resumptions } = startUpload(reserved, bytes);
      const bucket = await testBucket();
      await until('a whole part', soon, async () => (await bucket.storedParts(prefix)) === 1);
      await processes[1]?.kill();
      line().leadTo(filesPort(0));
      await endLease(reserved.media.id);
      line().cut();
      line().hangUp();
      expect(await resumptions).to.deep.equal([partBytes]);
      expect(sha(await storedOf(reserved.media.id))).to.equal(sha(bytes));
      expect((await sayingArrived({ club }, reserved.media.id)).body.data.status).to.equal('processing');
      expect(await bucket.objects(prefix)).to.deep.equal([`${prefix}${reserved.media.id}`]);
    });
  });

  describe('the lock of an upload', () => {
    const times = { leaseMs: 400, renewalMs: 100, lockWaitMs: 5_000 };
    const opened: UploadLocks[] = [];
    afterEach(() => Promise.all(opened.splice(0).map((locks) => locks.stop())));
    const aProcess = async (own = times): Promise<UploadLocks> => {
      const { db } = await mediaDeps();
      const databaseUrl = readConfig().database.url.reveal();
      const locks = createUploadLocks({ db, databaseUrl, onFailure() {} }, own);
      opened.push(locks);
      return locks;
    };
    const uploadId = async () =>
      (await reserve({ club }, { fileName: 'a.mp4', mime: 'video/mp4', bytes: Buffer.alloc(10) })).media.id;
    const patient = new AbortController().signal;

    it('belongs to one process until another process asks for it', async () => {
      const id = await uploadId();
      const releaseRequest = Promise.withResolvers<void>();
      const first = await (await aProcess()).acquire(id, releaseRequest.resolve, patient);
      const second = (await aProcess()).acquire(id, () => {}, patient);
      await releaseRequest.promise;
      await first.release();
      expect((await second).fence).to.equal(first.fence + 1);
      await first.release(); // This call does not release the lock of the second process.
      const hasty = (await aProcess({ ...times, lockWaitMs: 0 })).acquire(id, () => {}, patient);
      expect(await hasty.catch((error: unknown) => error)).to.be.instanceOf(UploadLocked);
      await (await second).release();
    });

    it('becomes free when the lease of a crashed process ends', async () => {
      const id = await uploadId();
      const releaseRequest = Promise.withResolvers<void>();
      const first = await (await aProcess({ ...times, renewalMs: 60_000 })).acquire(id, () => {}, patient);
      const second = await (await aProcess()).acquire(id, releaseRequest.resolve, patient);
      const { db } = await mediaDeps();
      expect(await recordMultipart(db, first, 'of the crashed holder')).to.equal(false);
      expect(await recordMultipart(db, second, 'of the next holder')).to.equal(true);
      await call('DELETE', libraryPath(club, id), { token: club.owner.token });
      await releaseRequest.promise; // a removed file cannot be uploaded
      await second.release();
      await first.release();
    });
  });

  describe('the example page of the documentation', () => {
    const openPage = useBrowser();
    let pages: Server;
    let api: RunningApi;
    let origin: string;
    let storage: ObjectStore;
    before('serve the page of the example from a separate origin', async () => {
      const files: Record<string, [string, string]> = {
        '/page.html': ['text/html', 'docs/examples/uploads/page.html'],
        '/upload.mjs': ['text/javascript', 'docs/examples/uploads/upload.mjs'],
        '/tus.min.js': ['text/javascript', 'node_modules/tus-js-client/dist/tus.min.js'],
      };
      pages = createServer((request, response) => {
        const [type, file] = files[request.url ?? ''] ?? [];
        if (!file) return void response.writeHead(404).end();
        response.setHeader('content-type', type ?? '');
        void readFile(path.join(projectDirectory, file)).then((text) => response.end(text));
      });
      pages.listen(0, '127.0.0.1');
      await once(pages, 'listening');
      origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
      const bucket = `pages-${newId()}`; // a separate bucket, because other test files use other origins
      const config = await testConfig({ CORS_ORIGINS: origin, S3_PRIVATE_BUCKET: bucket });
      const s3 = new S3Client(clientConfig(config.storage));
      await s3.send(new CreateBucketCommand({ Bucket: bucket }));
      storage = createObjectStore(config.storage);
      api = await startApi(config, { readinessGraceMs: 0 });
      await until('the CORS rules of the bucket', soon, () =>
        s3.send(new GetBucketCorsCommand({ Bucket: bucket })).catch(() => undefined),
      );
      s3.destroy();
    });
    after(async () => {
      pages.close();
      await api.stop();
      storage.close();
    });

    async function processNext(): Promise<void> {
      const source = await testDatabase();
      const [file] = await until('an uploaded file', soon, async () => {
        const rows = await source.query<{ id: string }[]>(
          `SELECT id FROM media WHERE club_id = $1 AND status = 'processing'`,
          [club.id],
        );
        return rows.length > 0 && rows;
      });
      await processedFile(file?.id ?? '', { deps: { storage } });
    }
    const reserveThere = async (bytes: Buffer): Promise<Pick<Reserved, 'upload'>> => {
      const announced = { file_name: 'a.png', mime: 'image/png', size_bytes: bytes.length };
      const headers = { authorization: `Bearer ${club.owner.token}`, 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${api.port}${libraryPath(club)}`;
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(announced) });
      return (await answer.json()) as Pick<Reserved, 'upload'>;
    };
    const service = () => ({
      base: `http://127.0.0.1:${api.port}`,
      clubId: club.id,
      token: club.owner.token,
    });

    it('uploads a document in one request', async () => {
      const example = path.join(projectDirectory, 'docs/examples/uploads/upload.mjs');
      const { upload } = (await import(example)) as {
        upload: (service: object, file: File) => Promise<{ status: string; type: string }>;
      };
      const document = upload(service(), new File(['# Knots'], 'knots.md', { type: 'text/markdown' }));
      await processNext();
      expect(await document).to.include({ status: 'ready', type: 'file' });
    });

    it('uploads an image directly into the bucket, if the page is on an allowed origin', async () => {
      const page = await openPage(widths.phone);
      const messages: string[] = [];
      page.on('console', (message) => message.type() === 'error' && messages.push(message.text()));
      const puts: string[] = [];
      page.on('request', (request) => request.method() === 'PUT' && puts.push(new URL(request.url()).origin));
      const { base, clubId, token } = service();
      const hash = new URLSearchParams({ base, clubId, token }).toString();
      await page.goto(`${origin}/page.html#${hash}`);
      const picture = { name: 'a knot.png', mimeType: 'image/png', buffer: png(64, 48) };
      await page.getByLabel('A document').setInputFiles(picture);
      await processNext();
      await page.getByText('a knot.png is in the library.').waitFor();
      expect(messages).to.deep.equal([]);
      const { endpoint } = readConfig().storage;
      expect(puts).to.deep.equal([endpoint]);
      expect(origin).not.to.equal(endpoint);

      const { upload } = await reserveThere(picture.buffer);
      const elsewhere = await openPage(widths.phone);
      await elsewhere.goto(`${origin.replace('127.0.0.1', 'localhost')}/page.html`);
      const sending = ([url, type]: string[]) =>
        fetch(url ?? '', {
          method: 'PUT',
          headers: { 'content-type': type ?? '', 'if-none-match': '*' },
          body: 'a',
        }).then(
          ({ status }) => `answered ${status}`,
          (error: Error) => error.message,
        );
      expect(await elsewhere.evaluate(sending, [upload.url, 'image/png'])).to.equal('Failed to fetch');
    });

    it('fits into the screen of a phone, and resumes the upload of a video after a pause', async () => {
      const page = await openPage(widths.phone);
      const messages: string[] = [];
      page.on('console', (message) => message.type() === 'error' && messages.push(message.text()));
      const { base, clubId, token } = service();
      await page.goto(`${origin}/page.html#${new URLSearchParams({ base, clubId, token }).toString()}`);
      expect(await overhang(page)).to.equal(0);
      const pieces = `${api.filesUrl}/uploads/**`;
      let blockedPieces = 0;
      await page.route(pieces, (route) => {
        if (route.request().method() === 'PATCH') blockedPieces += 1;
        else void route.continue();
      });
      const buffer = await video('mp4', { seconds: 3 });
      await page.getByLabel('A document').setInputFiles({ name: 'a lecture.mp4', mimeType: 'video/mp4', buffer });
      await until('the first piece', soon, async () => blockedPieces > 0);
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Paused.').waitFor();
      await page.unroute(pieces);
      await page.getByRole('button', { name: 'Continue' }).click();
      await processNext();
      await page.getByText('a lecture.mp4 is in the library.').waitFor();
      expect(await overhang(page)).to.equal(0);
      expect(messages).to.deep.equal([]);
    });

    it('refuses an origin that is not in CORS_ORIGINS', async () => {
      const { upload } = await reserve({ club }, { fileName: 'a.mp4', mime: 'video/mp4', bytes: Buffer.alloc(10) });
      const asking = (from: string) =>
        fetch(`${api.filesUrl}/uploads`, {
          method: 'OPTIONS',
          headers: {
            origin: from,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization',
          },
        });
      expect((await asking(origin)).headers.get('access-control-allow-origin')).to.equal(origin);
      expect((await asking('https://evil.example.com')).headers.get('access-control-allow-origin')).to.equal(null);
      const answer = await fetch(`${api.filesUrl}/uploads`, {
        method: 'POST',
        headers: {
          ...upload.headers,
          origin: 'https://evil.example.com',
          'tus-resumable': '1.0.0',
          'upload-length': '10',
        },
      });
      expect(answer.headers.get('access-control-allow-origin')).to.equal(null);
    });
  });
});
