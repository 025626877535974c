/** Tests that a worker processes each completed upload once (MED-16). */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { purgeStudentFromMedia, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { completeMedia } from '../../../../domain/media/uploads/completion.ts';
import { maxBytes } from '../../../../domain/media/media.policy.ts';
import { pageRules, processingRules, waitAfterFault } from '../../../../domain/media/processing.policy.ts';
import { findMedia } from '../../../../domain/media/library/library.ts';
import { findPublicFile, moveMedia } from '../../../../domain/media/library/publishing.ts';
import { processOldFiles } from '../../../../domain/media/processing/old-files.ts';
import type { FileClaim } from '../../../../domain/media/processing/claims.ts';
import { StoreAway } from '../../../../domain/media/processing/contents.ts';
import { makePage } from '../../../../domain/media/processing/renditions.ts';
import { processFile, type ProcessingStep } from '../../../../domain/media/processing/step.ts';
import type { MediaDeps } from '../../../../domain/media/media.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { pdf } from '../../../toolkit/builders/documents.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { archiveOfManyEntries, jpegOfManySegments, png } from '../../../toolkit/builders/pictures.ts';
import { storageCounts } from '../../../toolkit/assert/storage.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { completed, eraseAll, leftOf, mediaState, uploadBytes } from '../../../toolkit/drive/erasure.ts';
import {
  filesOf,
  keysOf,
  mediaDeps,
  put,
  reserve,
  sayingArrived,
  type TestFile,
  uploadFile,
} from '../../../toolkit/drive/media.ts';
import { movedFile, movingDeps } from '../../../toolkit/drive/moving.ts';
import { processedFile, processingDeps, processOnce } from '../../../toolkit/drive/processing.ts';
import { until } from '../../../toolkit/drive/until.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';

const hour = 3_600_000;
const image: TestFile = { fileName: 'knot.png', mime: 'image/png', bytes: png() };

async function* toStream(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

describe('an upload that has arrived (MED-16)', () => {
  let club: TestClub;
  let student: TestStudent;
  let owner: { clubId: string; studentId: string };
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    owner = { clubId: club.id, studentId: student.id };
  });

  const uploader = () => ({ club, student });
  const upload = async (file: TestFile = image) => (await uploadBytes(uploader(), file)).media.id;
  async function arrived(file?: TestFile): Promise<string> {
    const id = await upload(file);
    expect((await sayingArrived(uploader(), id)).body.data.status).to.equal('processing');
    return id;
  }
  async function rowOf(id: string, columns: string): Promise<Record<string, unknown> | undefined> {
    const [row] = await (
      await testDatabase()
    ).query<Record<string, unknown>[]>(`SELECT ${columns} FROM media WHERE id = $1`, [id]);
    return row;
  }
  const claimOf = (id: string) => rowOf(id, 'fence, fault_count AS faults, lease_until IS NOT NULL AS leased');
  const endLease = async (id: string) =>
    (await testDatabase()).query(
      `UPDATE media SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
      [id],
    );
  const wakesOf = async (id: string) =>
    (await testDatabase()).query<object[]>(`SELECT workflow_id, raised FROM wakes WHERE subject_id = $1`, [id]);
  /** The claim with this fence makes these renditions. */
  const picturesBy = (id: string, fence: number) =>
    ['mail', 'preview', 'thumbnail'].map((role) => `${id}.${fence}-${role}-1`);
  async function dieOnce(id: string): Promise<void> {
    const dead = Promise.withResolvers<never>();
    const claimed = Promise.withResolvers<void>();
    const failpoint = () => {
      claimed.resolve();
      return dead.promise;
    };
    processOnce(await processingDeps({ failpoint }), id).catch(() => {});
    await claimed.promise;
    await endLease(id);
  }

  describe('on `complete`', () => {
    it('moves the file once for fifty simultaneous calls', async () => {
      const id = await upload();
      const deps = { ...(await mediaDeps()), watchMs: 0 };
      let charges = 0;
      const charge = async () => void charges++;
      const calls = Array.from({ length: 50 }, () => completeMedia(deps, owner, id, new Date(), charge));
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      expect(statuses.filter((status) => status !== 'processing' && status !== 'uploading')).to.deep.equal([]);
      expect([charges, await mediaState(id)]).to.deep.equal([1, 'processing key']);
      expect(await wakesOf(id)).to.deep.equal([{ workflow_id: `media-processing/${id}`, raised: false }]);
      expect(await rowOf(id, 'size_bytes, looks_at IS NOT NULL AS due, erases_at')).to.deep.equal({
        size_bytes: String(image.bytes.length),
        due: true,
        erases_at: null,
      });
    });

    it('requests only the size from the store', async () => {
      const id = await upload();
      const unread = () => Promise.reject(new Error('The file was read'));
      const deps = await mediaDeps(() => ({ read: unread, stream: unread }));
      const record = await completeMedia({ ...deps, watchMs: 0 }, owner, id, new Date());
      expect([record.status, record.size_bytes]).to.deep.equal(['processing', image.bytes.length]);
    });

    it('waits up to two seconds, and returns when the file is ready', async () => {
      expect(processingRules.watchMs).to.equal(2_000);
      const id = await upload();
      const answer = completeMedia({ ...(await mediaDeps()), watchMs: 20_000 }, owner, id, new Date());
      await until('its arrival', { timeoutMs: 5_000 }, async () => (await mediaState(id)).startsWith('processing'));
      await processedFile(id);
      expect((await answer).status).to.equal('ready');
    });

    it('fails and is erased if it is too large for its type', async () => {
      const id = await upload();
      const deps = await mediaDeps(() => ({ size: async () => maxBytes('agent_image', 'image/png') + 1 }));
      expect(await completed(owner, id, { deps })).to.equal('failed too_large');
      expect(await filesOf(club)).to.deep.equal([]);
      expect(await wakesOf(id)).to.deep.equal([]);
    });

    describe('with a charge to the club', () => {
      async function charged(id: string, charge: () => Promise<void> = async () => {}, deps?: MediaDeps) {
        let charges = 0;
        const completing = completeMedia(
          { ...(deps ?? (await mediaDeps())), watchMs: 0 },
          owner,
          id,
          new Date(),
          () => {
            charges += 1;
            return charge();
          },
        );
        const outcome = await completing.then(
          ({ status }) => status as string,
          (error: Error & { code?: string }) => error.code ?? error.message,
        );
        return `${outcome}, charged ${charges}`;
      }

      it('charges only once, in the call that changes the upload', async () => {
        const id = await upload();
        const calls = await Promise.all(Array.from({ length: 5 }, () => charged(id)));
        expect(calls.filter((call) => call.endsWith('1'))).to.deep.equal(['processing, charged 1']);
        await processedFile(id);
        expect(await charged(id)).to.equal('ready, charged 0');
      });

      it('does not charge for an unknown or missing image', async () => {
        expect(await charged(newId())).to.equal('not_found, charged 0');
        const { media } = await reserve(uploader(), image);
        expect(await charged(media.id)).to.equal('upload_missing, charged 0');
      });

      it('stays unchanged if the club has used up its limit', async () => {
        const id = await upload();
        const spent = () => Promise.reject(new DomainError('rate_limited', 'Later.', { retryAfterSeconds: 60 }));
        expect(await charged(id, spent)).to.equal('rate_limited, charged 1');
        expect([await mediaState(id), await wakesOf(id)]).to.deep.equal(['uploading key due', []]);
        expect(await completed(owner, id)).to.equal('ready');
      });
    });
  });

  describe('during processing', () => {
    it('records the SHA-256 and the CRC-32 of the whole content', async () => {
      const bytes = Buffer.from(`# Knots\n${'bends and hitches\n'.repeat(20_000)}`);
      const { media } = await uploadBytes({ club }, { fileName: 'notes.md', mime: 'text/markdown', bytes });
      expect(await completed({ clubId: club.id }, media.id)).to.equal('ready');
      expect(await rowOf(media.id, 'sha256, crc32, processed_at IS NOT NULL AS ended, looks_at')).to.deep.equal({
        sha256: createHash('sha256').update(bytes).digest(),
        crc32: String(crc32(bytes)),
        ended: true,
        looks_at: null,
      });
    });

    it('fails and is erased if its content is hostile', async () => {
      const hostile: Record<string, Buffer> = {
        'an archive of many entries': archiveOfManyEntries(),
        'a JPEG of many segments': jpegOfManySegments(),
        'a cut PNG': png(900, 900, { extra: 9_000 }).subarray(0, -20),
      };
      const outcomes: Record<string, string> = {};
      for (const [name, bytes] of Object.entries(hostile))
        outcomes[name] = await completed(owner, await upload({ ...image, bytes }));
      expect(outcomes).to.deep.equal({
        'an archive of many entries': 'failed content_not_allowed',
        'a JPEG of many segments': 'failed image_broken',
        'a cut PNG': 'failed image_broken',
      });
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('is not claimed before the lease of a dead worker expires', async () => {
      const id = await arrived();
      await dieOnce(id);
      await (
        await testDatabase()
      ).query(`UPDATE media SET lease_until = now() + interval '1 minute' WHERE id = $1`, [id]);
      expect((await processOnce(await processingDeps(), id)).done).to.equal(false);
      expect(await claimOf(id)).to.deep.equal({ fence: 1, faults: 0, leased: true });
      await endLease(id);
      await processOnce(await processingDeps({ failpoint: () => Promise.reject(new StoreAway('away')) }), id).catch(
        () => {},
      );
      await endLease(id);
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await claimOf(id)).to.deep.equal({ fence: 4, faults: 0, leased: false });
    });

    it('fails after seven workers have died', async () => {
      const id = await arrived();
      for (let died = 0; died < 7; died++) await dieOnce(id);
      const unread = () => Promise.reject(new Error('The file was read'));
      const storage = { ...(await testObjectStore()), read: unread, stream: unread };
      const step = await processedFile(id, { deps: { storage } });
      expect(step).to.deep.equal({ done: true, outcome: 'failed', error: 'inspection_failed' });
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('is tried seven times, with growing waits, if the work fails', async () => {
      const id = await arrived();
      const faults: string[] = [];
      const failing = await processingDeps({
        onFault: (error) => faults.push((error as Error).message),
        failpoint: (name) => (name === 'file_identified' ? Promise.reject(new Error('a fault')) : Promise.resolve()),
      });
      let now = new Date();
      const pauses: number[] = [];
      for (;;) {
        const step = await processOnce(failing, id, now);
        if (step.done) break;
        pauses.push((step.at - now.getTime()) / 1_000);
        expect((await processOnce(failing, id, new Date(step.at - 1))).done, 'looks too early').to.equal(false);
        now = new Date(step.at);
      }
      expect(pauses).to.deep.equal([1, 10, 60, 600, 2_400, 7_200]);
      expect(waitAfterFault(processingRules.maxFaults)).to.equal(undefined);
      expect([faults.length, await mediaState(id)]).to.deep.equal([7, 'failed inspection_failed key due']);
    });

    it('counts no fault while the store fails', async () => {
      const id = await arrived();
      const away = () => Promise.reject(new Error('The store is away.'));
      const stores = [{ read: away }, { stream: away }];
      for (const replaced of [...stores, ...stores, ...stores, ...stores]) {
        const storage = { ...(await testObjectStore()), ...replaced };
        const error = await processedFile(id, { deps: { storage } }).catch((reason: unknown) => reason);
        expect(error).to.be.instanceOf(StoreAway);
      }
      expect(await claimOf(id)).to.deep.equal({ fence: 8, faults: 0, leased: false });
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
    });

    it('fails after seven tries if its size in the store has changed', async () => {
      const files = {
        size: async () => image.bytes.length - 1,
        stream: async () => toStream(image.bytes.subarray(1)),
      };
      for (const [name, answer] of Object.entries(files)) {
        const id = await arrived();
        const storage = { ...(await testObjectStore()), [name]: answer };
        const steps: ProcessingStep[] = [];
        for (let now = new Date(); !steps.at(-1)?.done && steps.length < 8;) {
          const step = await processOnce(await processingDeps({ storage }), id, now);
          steps.push(step);
          if (!step.done) now = new Date(step.at);
        }
        expect(steps.at(-1), name).to.deep.equal({ done: true, outcome: 'failed', error: 'inspection_failed' });
        expect(steps, name).to.have.length(7);
      }
    });

    it('is released when its worker stops', async () => {
      const id = await arrived();
      const stop = new AbortController();
      const deps = await processingDeps({
        async failpoint(name) {
          if (name === 'file_identified') stop.abort(new Error('WORKER_SHUTDOWN'));
        },
      });
      const step = await processFile(deps, id, Date.now(), { beat() {}, stop: stop.signal });
      expect(step.done).to.equal(false);
      expect(await claimOf(id)).to.deep.equal({ fence: 1, faults: 0, leased: false });
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
    });

    it('records nothing once another worker has claimed the file', async () => {
      const id = await arrived();
      let raced = false;
      const slow = await processingDeps({
        async failpoint(name) {
          if (name !== 'file_identified' || raced) return;
          raced = true;
          await endLease(id);
          expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
          await (await testDatabase()).query(`UPDATE media SET sha256 = NULL WHERE id = $1`, [id]);
        },
      });
      expect(await processOnce(slow, id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await rowOf(id, 'fence, sha256')).to.deep.equal({ fence: 3, sha256: null });
    });

    it('records nothing while another worker holds the file', async () => {
      const id = await arrived();
      const slow = await processingDeps({
        async failpoint(name) {
          if (name !== 'file_identified') return;
          await endLease(id);
          const claimed = Promise.withResolvers<void>();
          const other = await processingDeps({
            failpoint() {
              claimed.resolve();
              return new Promise(() => {});
            },
          });
          processOnce(other, id).catch(() => {});
          await claimed.promise;
        },
      });
      expect((await processOnce(slow, id)).done).to.equal(false);
      expect([await mediaState(id), await claimOf(id)]).to.deep.equal([
        'processing key',
        { fence: 2, faults: 1, leased: true },
      ]);
    });

    it('keeps only the renditions of the later of two claims', async () => {
      const { id } = (await uploadBytes({ club }, image)).media;
      await sayingArrived({ club }, id);
      await dieOnce(id);
      const [rendered, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const atRenditions = (then: () => Promise<void>) =>
        processingDeps({ failpoint: (name) => (name === 'file_rendered' ? then() : Promise.resolve()) });
      const next = await atRenditions(() => {
        rendered.resolve();
        return goOn.promise;
      });
      let later: Promise<ProcessingStep> | undefined;
      const overtaken = await atRenditions(async () => {
        await endLease(id);
        later = processOnce(next, id);
        await rendered.promise;
      });
      await processOnce(overtaken, id);
      goOn.resolve();
      expect(await later).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await keysOf(club)).to.have.members([id, ...picturesBy(id, 3)]);
    });

    it('does not expire during a long wait', async () => {
      const id = await arrived();
      await eraseAll(new Date(Date.now() + 48 * hour));
      expect(await mediaState(id)).to.equal('processing key');
    });

    it('is erased if it is removed during the processing', async () => {
      const id = await arrived();
      await (
        await testDatabase()
      ).query(`UPDATE media SET removed_at = now(), looks_at = NULL, erases_at = now() WHERE id = $1`, [id]);
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'removed' });
      await eraseAll(new Date(Date.now() + 1_000));
      expect(await leftOf(club, id)).to.deep.equal([
        'processing removed key due'.replace('processing', 'failed upload_expired'),
        [],
      ]);
    });
  });

  describe('an image of the library', () => {
    const camera = async () =>
      sharp({ create: { width: 2_000, height: 1_000, channels: 3, background: { r: 200, g: 30, b: 30 } } })
        .withExif({ IFD0: { Artist: 'Ada Example' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer();
    const photo = async (): Promise<TestFile> => ({ fileName: 'knot.jpg', mime: 'image/jpeg', bytes: await camera() });
    const measuredPicture = async (url: string | undefined) => {
      const response = await fetch(url ?? '');
      const bytes = Buffer.from(await response.arrayBuffer());
      const { format, width, height, exif, orientation } = await sharp(bytes).metadata();
      const type = response.headers.get('content-type');
      return { type, format, width, height, exif, orientation };
    };

    it('gets an upright preview and thumbnail without metadata (MED-22)', async () => {
      const file = await photo();
      const ready = await uploadFile({ club }, file);
      expect(ready).to.include({ status: 'ready', width: 1_000, height: 2_000 });
      const plain = { type: 'image/jpeg', format: 'jpeg', exif: undefined, orientation: undefined };
      expect(await measuredPicture(ready.preview_url)).to.deep.equal({ ...plain, width: 800, height: 1_600 });
      expect(await measuredPicture(ready.thumbnail_url)).to.deep.equal({ ...plain, width: 160, height: 320 });
      const original = await fetch(ready.download_url ?? '');
      expect(Buffer.from(await original.arrayBuffer()).equals(file.bytes)).to.equal(true);
      expect(await keysOf(club)).to.have.members([ready.id, ...picturesBy(ready.id, 1)]);
    });

    it('is ready without pictures if it cannot be decoded or has too many pixels', async () => {
      const bomb = await sharp({ create: { width: 9_000, height: 9_000, channels: 3, background: 'white' } })
        .png()
        .toBuffer();
      for (const bytes of [png(3_000, 2_000), bomb]) {
        const ready = await uploadFile({ club }, { ...image, bytes });
        expect(ready.status).to.equal('ready');
        expect(ready).to.not.have.property('thumbnail_url');
        expect((await fetch(ready.preview_url ?? '')).status).to.equal(200);
      }
    });

    it('gets its e-mail picture later if an old release processed it (DEC-157)', async () => {
      const ready = await uploadFile({ club }, await photo());
      const source = await testDatabase();
      await source.query(`DELETE FROM media_renditions WHERE media_id = $1 AND role = 'mail'`, [ready.id]);
      await alter('media', ready.id, { mail_picture: null });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
      expect(await processedFile(ready.id)).to.deep.equal({ done: true, outcome: 'ready' });
      const renditionRows = await source.query<object[]>(
        `SELECT role, object_key LIKE '%.2-mail-1' AS later, width, height, stands_still AS still FROM media_renditions WHERE media_id = $1 ORDER BY role`,
        [ready.id],
      );
      expect(renditionRows).to.deep.equal([
        { role: 'mail', later: true, width: 1_000, height: 2_000, still: false },
        { role: 'preview', later: false, width: 800, height: 1_600, still: false },
        { role: 'thumbnail', later: false, width: 160, height: 320, still: false },
      ]);
      expect(await processOldFiles(db, new Date())).to.equal(0);
    });

    it('shows why it has no picture for e-mails, even if an old release processed it (DEC-157)', async () => {
      const ready = await uploadFile({ club }, { ...image, bytes: png(3_000, 2_000) });
      const problem = () => rowOf(ready.id, 'mail_picture');
      expect(await problem()).to.deep.equal({ mail_picture: 'image_unreadable' });
      await alter('media', ready.id, { mail_picture: null });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
      await processedFile(ready.id);
      expect(await problem()).to.deep.equal({ mail_picture: 'image_unreadable' });
    });

    it('keeps one set of renditions if a worker died before the record', async () => {
      const { media } = await uploadBytes({ club }, await photo());
      await sayingArrived({ club }, media.id);
      const dead = Promise.withResolvers<never>();
      const rendered = Promise.withResolvers<void>();
      const failpoint = (name: string) => {
        if (name !== 'file_rendered') return Promise.resolve();
        rendered.resolve();
        return dead.promise;
      };
      processOnce(await processingDeps({ failpoint }), media.id).catch(() => {});
      await rendered.promise;
      expect(await keysOf(club)).to.have.length(4);
      await endLease(media.id);
      expect(await processedFile(media.id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await keysOf(club)).to.have.members([media.id, ...picturesBy(media.id, 2)]);
    });

    it('keeps only the renditions of the second worker that claimed the file', async () => {
      const { media } = await uploadBytes({ club }, await photo());
      await sayingArrived({ club }, media.id);
      const slow = await processingDeps({
        async failpoint(name) {
          if (name !== 'file_rendered') return;
          await endLease(media.id);
          expect(await processedFile(media.id)).to.deep.equal({ done: true, outcome: 'ready' });
          await (
            await testObjectStore()
          ).put(`media/${club.id}/${media.id}.1-preview-1`, 'image/jpeg', Readable.from(['late']));
        },
      });
      expect(await processOnce(slow, media.id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await keysOf(club)).to.have.members([media.id, ...picturesBy(media.id, 2)]);
    });

    it('is erased with its renditions', async () => {
      const { id } = await uploadFile({ club }, await photo());
      expect(await keysOf(club)).to.have.length(4);
      await removeMedia(await mediaDeps(), club.id, id, new Date());
      expect(await keysOf(club)).to.deep.equal([]);
    });

    it('is read once from the store for all renditions', async () => {
      const { media } = await uploadBytes({ club }, await photo());
      await sayingArrived({ club }, media.id);
      const store = await testObjectStore();
      const reads: string[] = [];
      const storage: typeof store = {
        ...store,
        read: (key, ...piece) => (reads.push(`bytes ${piece.join(' to ')}`), store.read(key, ...piece)),
        stream: (...given) => (reads.push('stream'), store.stream(...given)),
      };
      expect(await processedFile(media.id, { deps: { storage } })).to.deep.equal({ done: true, outcome: 'ready' });
      expect(reads).to.deep.equal([`bytes 0 to ${(await photo()).bytes.length}`]);
    });
  });

  describe('a PDF of the library', () => {
    const book = async (): Promise<TestFile> => ({
      fileName: 'Knots.pdf',
      mime: 'application/pdf',
      bytes: await pdf('Knots', 'Bends'),
    });
    const measuredPicture = async (url: string | undefined) => {
      const response = await fetch(url ?? '');
      const { format, width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
      return [response.headers.get('content-disposition')?.split(';')[1], format, width, height];
    };

    it('gets a thumbnail of its first page, and has the PDF itself as the preview (MED-22)', async () => {
      const file = await book();
      const ready = await uploadFile({ club }, file);
      expect(ready).to.include({ status: 'ready', type: 'pdf' }).and.not.have.any.keys('width', 'height');
      const picture = [' filename="Knots.jpg"', 'jpeg', 495, 640];
      expect(await measuredPicture(ready.thumbnail_url)).to.deep.equal(picture);
      const bytesAt = async (url = '') => Buffer.from(await (await fetch(url)).arrayBuffer());
      for (const url of [ready.preview_url, ready.download_url])
        expect((await bytesAt(url)).equals(file.bytes)).to.equal(true);
      const moves = await movingDeps();
      await moveMedia(moves, { clubId: club.id, administratorId: club.owner.id }, ready.id, 'public', new Date());
      expect(await movedFile(ready.id)).to.deep.equal({ done: true, outcome: 'public' });
      const find = async (role: 'preview' | 'thumbnail') =>
        (await findPublicFile(moves.db, moves.storage, ready.id, role)).location;
      expect(await measuredPicture(await find('thumbnail'))).to.deep.equal(picture);
      expect((await bytesAt(await find('preview'))).equals(file.bytes)).to.equal(true);
    });

    it('is ready without a picture if the page cannot be drawn', async () => {
      const ready = await uploadFile({ club }, { ...(await book()), bytes: Buffer.from('%PDF-1.7\n%%EOF') });
      expect(ready.status).to.equal('ready');
      expect(ready).to.not.have.property('thumbnail_url');
      expect((await fetch(ready.preview_url ?? '')).headers.get('content-type')).to.equal('application/pdf');
      const read = () => Promise.reject(new Error('The file was read'));
      const large = { sizeBytes: String(pageRules.mostBytes + 1) } as FileClaim;
      const { signal } = new AbortController();
      expect(await makePage(await processingDeps(), { stream: read }, large, signal)).to.deep.equal([]);
    });

    it('keeps one picture if its worker stops during the processing', async () => {
      const { media } = await uploadBytes({ club }, await book());
      await sayingArrived({ club }, media.id);
      const stop = new AbortController();
      const failpoint = async (name: string) => {
        if (name === 'file_rendered') stop.abort(new Error('WORKER_SHUTDOWN'));
      };
      const stopped = await processingDeps({ failpoint });
      await processFile(stopped, media.id, Date.now(), { beat() {}, stop: stop.signal });
      expect(await processedFile(media.id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await keysOf(club)).to.have.length(2);
    });

    it('gets its picture once if an old release processed it', async () => {
      const { id } = await uploadFile({ club }, await book());
      const source = await testDatabase();
      await source.query(`DELETE FROM media_renditions WHERE media_id = $1`, [id]);
      await alter('media', id, { renditions_due_at: new Date() });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
      await processedFile(id);
      expect(await processOldFiles(db, new Date())).to.equal(0);
      const record = await findMedia(await mediaDeps(), { clubId: club.id, administratorId: club.owner.id }, id);
      expect((await measuredPicture(record.thumbnail_url)).slice(1)).to.deep.equal(['jpeg', 495, 640]);
    });
  });

  describe('an image for agents', () => {
    const photo = () =>
      sharp({ create: { width: 2_000, height: 1_000, channels: 3, background: 'teal' } })
        .withExif({ IFD0: { Artist: 'Ada Example' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer();
    const stored = async (key: string) =>
      (await testObjectStore()).read(`media/${club.id}/${key}`, 0, 10_000_000).catch(() => undefined);

    it('is kept only as an upright picture without metadata (MED-22)', async () => {
      const bytes = await photo();
      const { media, upload: address } = await uploadBytes(uploader(), {
        fileName: 'my knot.jpeg',
        mime: 'image/jpeg',
        bytes,
      });
      expect((await sayingArrived(uploader(), media.id)).body.data.status).to.equal('processing');
      expect(await processOnce(await processingDeps(), media.id)).to.include({ done: false, for: 'turn' });
      expect(await processedFile(media.id)).to.deep.equal({ done: true, outcome: 'ready' });
      const ready = (await sayingArrived(uploader(), media.id)).body.data;
      expect(ready).to.include({ status: 'ready', mime: 'image/jpeg', width: 800, height: 1_600 });
      const picture = await stored(`${media.id}.1-preview-1`);
      expect(picture?.length).to.equal(ready.size_bytes);
      expect(await sharp(picture).metadata()).to.include({ width: 800, height: 1_600 });
      expect((await sharp(picture).metadata()).exif).to.equal(undefined);
      for (const url of [ready.preview_url, ready.download_url])
        expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(picture ?? Buffer.alloc(0))).to.equal(true);
      expect(await keysOf(club)).to.have.members([media.id, `${media.id}.1-preview-1`]);
      expect(await (await testObjectStore()).size(`media/${club.id}/${media.id}`), 'the original').to.equal(0);
      expect(await put(address, bytes), 'the address accepts no other content').to.equal(412);
      expect(await rowOf(media.id, 'sha256')).to.deep.equal({
        sha256: createHash('sha256')
          .update(picture ?? '')
          .digest(),
      });
    });

    it('fails if it cannot be decoded or has too many pixels', async () => {
      const bomb = await sharp({ create: { width: 7_500, height: 7_500, channels: 3, background: 'white' } })
        .png()
        .toBuffer();
      for (const bytes of [png(3_000, 2_000), bomb])
        expect(await completed(owner, await upload({ ...image, bytes }))).to.equal('failed image_broken');
      expect(await keysOf(club)).to.deep.equal([]);
    });

    it('leaves no object if the image is removed while its original is emptied', async () => {
      const id = await arrived();
      const store = await testObjectStore();
      const storage = {
        ...store,
        async empty(key: string) {
          const { db } = await processingDeps();
          await db.transaction((tx) => purgeStudentFromMedia(tx, student.id, new Date()));
          await eraseAll(new Date(Date.now() + 1_000));
          await store.empty(key);
        },
      };
      expect(await processedFile(id, { deps: { storage } })).to.deep.equal({ done: true, outcome: 'removed' });
      expect(await keysOf(club)).to.deep.equal([]);
    });

    it('is erased completely, even if the store failed first', async () => {
      const id = await arrived();
      const away = { empty: () => Promise.reject(new Error('The store is away.')) };
      await processOnce(await processingDeps(), id);
      const storage = { ...(await testObjectStore()), ...away };
      expect(await processedFile(id, { deps: { storage } }).catch((error: unknown) => error)).to.be.instanceOf(
        StoreAway,
      );
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await (await testObjectStore()).size(`media/${club.id}/${id}`)).to.equal(0);
      await eraseAll(new Date(Date.now() + 8 * 24 * hour));
      expect(await keysOf(club)).to.deep.equal([]);
    });
  });

  describe('an image for agents of an old release', () => {
    const minute = 60_000;
    const photo = () =>
      sharp({ create: { width: 2_000, height: 1_000, channels: 3, background: 'teal' } })
        .withExif({ IFD0: { Artist: 'Ada Example' } })
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer();
    const later = (ms: number) => ({ at: new Date(Date.now() + ms) });
    const sizeOf = async (key: string) => (await testObjectStore()).size(`media/${club.id}/${key}`);
    async function oldImage(bytes: Buffer): Promise<string> {
      const { id } = await buildMedia(club.id, { bytes, mime: 'image/jpeg', studentId: student.id });
      await alter('media', id, { processed_at: new Date(), sha256: createHash('sha256').update(bytes).digest() });
      return id;
    }

    it('is replaced by a picture, and its original is emptied later', async () => {
      const bytes = await photo();
      const id = await oldImage(bytes);
      const goesAt = new Date(Date.now() + 5 * 24 * hour);
      await alter('media', id, { erases_at: goesAt });
      await alter('media', id, { renditions_due_at: new Date() });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
      expect(await processedFile(id)).to.include({ done: false, for: 'addresses' });
      const picture = `${id}.1-preview-1`;
      expect(await rowOf(id, 'status, width, height, size_bytes, erases_at, renditions_due_at')).to.deep.equal({
        status: 'ready',
        width: 800,
        height: 1_600,
        size_bytes: String(await sizeOf(picture)),
        erases_at: goesAt,
        renditions_due_at: null,
      });
      expect(await sizeOf(id), 'its addresses are still valid').to.equal(bytes.length);
      expect(await processOldFiles(db, new Date())).to.equal(0);
      expect(await processedFile(id, later(29 * minute))).to.include({ done: false });
      expect(await processedFile(id, later(31 * minute))).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await sizeOf(id)).to.equal(0);
      const kept = await (await testObjectStore()).read(`media/${club.id}/${picture}`, 0, 10_000_000);
      expect((await sharp(kept).metadata()).exif).to.equal(undefined);
      expect(await rowOf(id, 'sha256')).to.deep.equal({
        sha256: createHash('sha256')
          .update(kept ?? '')
          .digest(),
      });
      const { counted, there } = await storageCounts(club.id);
      expect(counted).to.deep.equal(there);
      expect(await processOldFiles(db, new Date(Date.now() + hour))).to.equal(0);
    });

    it('stays unchanged if it cannot be decoded', async () => {
      const bytes = png(3_000, 2_000);
      const id = await oldImage(bytes);
      await alter('media', id, { renditions_due_at: new Date() });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
      expect(await processedFile(id)).to.deep.equal({ done: true, outcome: 'ready' });
      expect([await mediaState(id), await sizeOf(id)]).to.deep.equal(['ready key', bytes.length]);
      expect(await processOldFiles(db, new Date())).to.equal(0);
    });

    it('does not delay other files while its original waits to be emptied', async () => {
      const source = await testDatabase();
      await source.query(
        `INSERT INTO media (id, club_id, purpose, owner_id, kind, title, provider, status, object_key, looks_at, created_at, updated_at)
         SELECT id, $1, 'agent_image', $2, 'image', '', 'objstore', 'ready', 'media/' || id, now() + interval '20 minutes', now(), now()
           FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $3::int)) AS files`,
        [club.id, student.id, processingRules.maxOldFiles],
      );
      await buildMedia(club.id, { bytes: 'knot' });
      const { db } = await processingDeps();
      expect(await processOldFiles(db, new Date())).to.equal(1);
    });
  });

  it('is processed once if an old release stored it, fifty files in a round', async () => {
    const { db } = await processingDeps();
    const old = await Promise.all(
      Array.from({ length: 53 }, async (_, at) => (await buildMedia(club.id, { bytes: `knot ${at}` })).id),
    );
    await buildMedia(club.id); // it has no file
    expect([await processOldFiles(db, new Date()), await processOldFiles(db, new Date())]).to.deep.equal([50, 0]);
    for (const id of old) await processedFile(id);
    expect(await processOldFiles(db, new Date())).to.equal(3);
    for (const id of old) await processedFile(id);
    expect(await processOldFiles(db, new Date())).to.equal(0);
    const [row] = await (
      await testDatabase()
    ).query<object[]>(
      `SELECT count(*)::int AS files, count(sha256)::int AS known, count(*) FILTER (WHERE status = 'ready')::int AS ready
         FROM media WHERE club_id = $1 AND object_key IS NOT NULL`,
      [club.id],
    );
    expect(row).to.deep.equal({ files: 53, known: 53, ready: 53 });
  });
});
