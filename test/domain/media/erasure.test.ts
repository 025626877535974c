/** Files that go: what never arrives, fails or is removed leaves the bucket, whatever breaks off on the way. */
import { expect } from 'chai';
import fc from 'fast-check';
import { inTransaction } from '../../../domain/core/database.ts';
import type { ObjectStore } from '../../../domain/core/object-store.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { completeMedia } from '../../../domain/media/completion.ts';
import { requireOwnImages } from '../../../domain/media/agent-images.ts';
import { eraseDue, purgeStudentFromMedia, removeMedia } from '../../../domain/media/erasure.ts';
import type { MediaPlatform } from '../../../domain/media/media.ts';
import { reserveAgentImage } from '../../../domain/media/reservation.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { call } from '../../toolkit/drive/api.ts';
import { columnsHolding, testDatabase } from '../../toolkit/stack/database.ts';
import {
  completing,
  filesOf,
  mediaPlatform,
  put,
  reserve,
  uploadFile,
  type Reserved,
} from '../../toolkit/drive/media.ts';
import { png } from '../../toolkit/builders/pictures.ts';

const minute = 60_000;
const hour = 60 * minute;
const week = 7 * 24 * hour;
const notes = { fileName: 'notes.md', mime: 'text/markdown', bytes: Buffer.from('# Knots\n') };

describe('erasure', () => {
  let club: TestClub;
  let platform: MediaPlatform;
  beforeEach(async () => {
    club = await buildClub();
    platform = await mediaPlatform();
  });

  const after = (ms: number) => new Date(Date.now() + ms);

  /** Rounds until nothing is due. Rows that other tests have left go too. */
  async function erase(now: Date, from = platform): Promise<void> {
    while ((await eraseDue(from, now)).more);
  }

  /** The row in short: status, why it failed, whether the key and a time to erase it still stand. */
  async function rowOf(id: Id): Promise<string> {
    const source = await testDatabase();
    const [row] = await source.query<{ text: string }[]>(
      `SELECT concat_ws(' ', status, error, CASE WHEN removed_at IS NOT NULL THEN 'removed' END,
                      CASE WHEN object_key IS NOT NULL THEN 'key' END, CASE WHEN erases_at IS NOT NULL THEN 'due' END) AS text
       FROM media WHERE id = $1`,
      [id],
    );
    return row?.text ?? 'no row';
  }

  /** The store, away for the files of this club. */
  const away = () =>
    mediaPlatform((storage) => ({
      remove: (key) => (key.includes(club.id) ? Promise.reject(new Error('The store is away.')) : storage.remove(key)),
    }));

  describe('an upload that nobody completes', () => {
    it('may be completed for an hour after its address ends; then it fails as upload_expired and is erased', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await put(upload, notes.bytes);
      await erase(after(74 * minute));
      expect([await rowOf(media.id), await filesOf(club)]).to.deep.equal(['uploading key due', [media.id]]);
      await erase(after(75 * minute));
      expect([await rowOf(media.id), await filesOf(club)]).to.deep.equal(['failed upload_expired key due', []]);
      const { body } = await completing({ club }, media.id);
      expect(body.data).to.include({ status: 'failed', error: 'upload_expired' });
    });

    it('is erased once more when nothing can arrive any more; then the row forgets where it was', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await erase(after(75 * minute));
      await put(upload, notes.bytes); // by the store's own clock the address is still good
      await erase(after(24 * hour));
      expect([await rowOf(media.id), await filesOf(club)]).to.deep.equal(['failed upload_expired key due', [media.id]]);
      await erase(after(25 * hour));
      expect([await rowOf(media.id), await filesOf(club)]).to.deep.equal(['failed upload_expired', []]);
    });

    it('is not taken for one that was completed in time: a file that is ready stays', async () => {
      const ready = await uploadFile({ club }, notes);
      await erase(after(48 * hour));
      expect([await rowOf(ready.id), await filesOf(club)]).to.deep.equal(['ready key', [ready.id]]);
    });
  });

  describe('while the store does not answer', () => {
    it('a removal is done all the same; the row says what is left to do until the store has done it', async () => {
      const ready = await uploadFile({ club }, notes);
      const kept = await uploadFile({ club }, notes);
      const now = new Date();
      await removeMedia(await away(), club.id, ready.id, now);
      expect(await rowOf(ready.id)).to.equal('ready removed key due');
      const counts = await eraseDue(await away(), now);
      expect(counts.refused).to.equal(1);
      expect((await eraseDue(platform, now)).erased).to.equal(0); // it comes again in five minutes
      expect(await filesOf(club)).to.have.members([ready.id, kept.id]);
      await erase(after(5 * minute));
      expect([await rowOf(ready.id), await filesOf(club)]).to.deep.equal(['ready removed key due', [kept.id]]);
      await erase(after(25 * hour));
      expect([await rowOf(ready.id), await rowOf(kept.id)]).to.deep.equal(['ready removed', 'ready key']);
    });

    it('one file that it does not erase keeps no other from being erased', async () => {
      const [stuck, other] = [await uploadFile({ club }, notes), await uploadFile({ club }, notes)];
      const broken = await mediaPlatform((storage) => ({
        remove: (key) => (key.endsWith(stuck.id) ? Promise.reject(new Error('No.')) : storage.remove(key)),
      }));
      for (const { id } of [stuck, other]) await removeMedia(await away(), club.id, id, new Date());
      await erase(after(0), broken);
      expect(await filesOf(club)).to.deep.equal([stuck.id]);
    });

    it('a file that failed its completion is erased later', async () => {
      const { media, upload } = await reserve({ club }, { ...notes, mime: 'image/png' });
      await put(upload, notes.bytes);
      const record = await completeMedia(await away(), { clubId: club.id }, media.id, new Date());
      expect(record).to.include({ status: 'failed', error: 'content_not_allowed' });
      expect(await filesOf(club)).to.deep.equal([media.id]);
      await erase(after(0));
      expect([await rowOf(media.id), await filesOf(club)]).to.deep.equal(['failed content_not_allowed key due', []]);
    });
  });

  describe('a completion that breaks off', () => {
    it('leaves the upload as it was, wherever it does; the next one completes it', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await put(upload, notes.bytes);
      const lost = () => Promise.reject(new Error('The process died.'));
      const source = await testDatabase();
      const dying: MediaPlatform[] = [
        await mediaPlatform(() => ({ size: lost })),
        await mediaPlatform(() => ({ read: lost })),
        { ...platform, database: { ...platform.database, source: withoutTransactions(source) } },
      ];
      for (const dies of dying) {
        const outcome = await completeMedia(dies, { clubId: club.id }, media.id, new Date()).catch(
          (error: Error) => error,
        );
        expect(outcome).to.have.property('message', 'The process died.');
        expect(await rowOf(media.id)).to.equal('uploading key due');
      }
      expect((await completing({ club }, media.id)).body.data.status).to.equal('ready');
    });

    const withoutTransactions = (source: MediaPlatform['database']['source']) =>
      new Proxy(source, {
        get(target, key) {
          if (key === 'transaction') return () => Promise.reject(new Error('The process died.'));
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
  });

  describe('a completion and something else at the same moment', () => {
    const during = async (what: () => Promise<unknown>): Promise<MediaPlatform> =>
      mediaPlatform((storage) => ({
        async size(key) {
          const size = await storage.size(key);
          await what();
          return size;
        },
      }));

    const outcomeOf = (of: MediaPlatform, { media }: Reserved) =>
      completeMedia(of, { clubId: club.id }, media.id, new Date()).then(
        ({ status, error }) => [status, error],
        (error: Error & { code?: string }) => error.code ?? error.message,
      );

    it('the end of its time: it has expired, also where the file vanishes while it is looked at', async () => {
      const reserved = await reserve({ club }, notes);
      await put(reserved.upload, notes.bytes);
      const outcome = await outcomeOf(await during(() => erase(after(75 * minute))), reserved);
      expect(outcome).to.deep.equal(['failed', 'upload_expired']);
      expect([await rowOf(reserved.media.id), await filesOf(club)]).to.deep.equal([
        'failed upload_expired key due',
        [],
      ]);
      expect(await outcomeOf(platform, reserved)).to.deep.equal(['failed', 'upload_expired']);
    });

    it('the end of its time, and another file in its place: it stays failed, and that file goes', async () => {
      const reserved = await reserve({ club }, notes);
      await put(reserved.upload, notes.bytes);
      const exchanged = await during(async () => {
        await erase(after(75 * minute));
        await put(reserved.upload, Buffer.from('# Bends\n'));
      });
      expect(await outcomeOf(exchanged, reserved)).to.deep.equal(['failed', 'upload_expired']);
      await erase(after(25 * hour));
      expect([await rowOf(reserved.media.id), await filesOf(club)]).to.deep.equal(['failed upload_expired', []]);
    });

    it('a round of erasures that has found it due already: what is ready by then stays', async () => {
      const first = await reserve({ club }, notes);
      const reserved = await reserve({ club }, notes);
      await put(reserved.upload, notes.bytes);
      const completesMeanwhile = await mediaPlatform((storage) => ({
        async remove(key) {
          if (key.endsWith(first.media.id)) await outcomeOf(platform, reserved);
          await storage.remove(key);
        },
      }));
      await erase(after(76 * minute), completesMeanwhile);
      expect([await rowOf(reserved.media.id), await filesOf(club)]).to.deep.equal(['ready key', [reserved.media.id]]);
    });

    it('another, of a file that is not good: both say so', async () => {
      const reserved = await reserve({ club }, { ...notes, mime: 'image/png' });
      await put(reserved.upload, notes.bytes);
      const both = await during(() => outcomeOf(platform, reserved));
      expect(await outcomeOf(both, reserved)).to.deep.equal(['failed', 'content_not_allowed']);
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('its removal: there is no such file', async () => {
      const reserved = await reserve({ club }, notes);
      await put(reserved.upload, notes.bytes);
      const removed = await during(async () => {
        await removeMedia(await away(), club.id, reserved.media.id, new Date());
      });
      expect(await outcomeOf(removed, reserved)).to.equal('not_found');
      await erase(after(0));
      expect(await filesOf(club)).to.deep.equal([]);
    });
  });

  describe('the removal of a student', () => {
    it("leaves nothing of their images: no name in a row, no file in the bucket; others' stay", async () => {
      const [leaves, stays] = [await buildStudent(club.id), await buildStudent(club.id)];
      const image = { fileName: `Rosalind ${newId()}.png`, mime: 'image/png', bytes: png(4, 4) };
      const ready = await uploadFile({ club, student: leaves }, image);
      const underWay = await reserve({ club, student: leaves }, image);
      await put(underWay.upload, image.bytes);
      const other = await uploadFile({ club, student: stays }, { ...image, fileName: 'Other.png' });
      const path = `/v1/clubs/${club.id}/students/${leaves.id}`;
      expect((await call('DELETE', path, { token: club.owner.token })).status).to.equal(204);
      expect(await columnsHolding(image.fileName)).to.deep.equal([]);
      await erase(after(0));
      expect(await filesOf(club)).to.deep.equal([other.id]);
      await erase(after(25 * hour));
      expect([await rowOf(ready.id), await rowOf(underWay.media.id)]).to.deep.equal([
        'ready removed',
        'failed upload_expired removed',
      ]);
      expect((await fetch(ready.download_url ?? '')).status).to.equal(404);
    });

    it('that comes while an image is looked at wins: it is not ready afterwards, and its file goes', async () => {
      const student = await buildStudent(club.id);
      const image = { fileName: 'knot.png', mime: 'image/png', bytes: png(4, 4) };
      const { media, upload } = await reserve({ club, student }, image);
      await put(upload, image.bytes);
      const { database } = platform;
      const purging = await mediaPlatform((storage) => ({
        async size(key) {
          await inTransaction(database, (tx) => purgeStudentFromMedia(tx, student.id, new Date()));
          return storage.size(key);
        },
      }));
      const owner = { clubId: club.id, studentId: student.id };
      const outcome = await completeMedia(purging, owner, media.id, new Date()).catch((error: Error) => error);
      expect(outcome).to.have.property('code', 'not_found');
      await erase(after(0));
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('that comes before a reservation is written lets none be written', async () => {
      const student = await buildStudent(club.id);
      const path = `/v1/clubs/${club.id}/students/${student.id}`;
      await call('DELETE', path, { token: club.owner.token });
      const owner = { clubId: club.id, studentId: student.id };
      const fileName = `${newId()}.png`;
      const announced = { fileName, mime: 'image/png', sizeBytes: 9 };
      const outcome = await reserveAgentImage(platform, owner, announced, new Date()).catch((error: Error) => error);
      expect(outcome).to.have.property('code', 'not_found');
      expect(await columnsHolding(fileName)).to.deep.equal([]);
    });
  });

  describe('an image that no question shows', () => {
    const image = { fileName: 'knot.png', mime: 'image/png', bytes: png(4, 4) };
    let student: TestStudent;
    beforeEach(async () => {
      student = await buildStudent(club.id);
    });

    /** Uploaded and completed. @returns it, and when it became ready */
    async function readyImage() {
      const owner = { clubId: club.id, studentId: student.id };
      const { media, upload } = await reserve({ club, student }, image);
      await put(upload, image.bytes);
      const readyAt = Date.now();
      await completeMedia(platform, owner, media.id, new Date(readyAt));
      return { id: media.id, readyAt };
    }

    it('is erased a week after it became ready, and refused from then on: invalid_image', async () => {
      const { id, readyAt } = await readyImage();
      await erase(new Date(readyAt + week - 1));
      expect([await rowOf(id), await filesOf(club)]).to.deep.equal(['ready key due', [id]]);
      await erase(new Date(readyAt + week));
      expect([await rowOf(id), await filesOf(club)]).to.deep.equal(['ready removed', []]);
      expect(await showing(student, id)).to.equal('invalid_image');
      const source = await testDatabase();
      const [row] = await source.query<object[]>(`SELECT title, file_name FROM media WHERE id = $1`, [id]);
      expect(row).to.deep.equal({ title: '', file_name: null });
    });

    it('stays once a question has shown it; a question that is refused keeps nothing', async () => {
      const [shown, refused] = [await readyImage(), await readyImage()];
      expect(await showing(student, shown.id)).to.equal('shown');
      expect(await showing(student, refused.id, newId())).to.equal('invalid_image');
      await erase(after(week + minute));
      expect([await rowOf(shown.id), await rowOf(refused.id)]).to.deep.equal(['ready key', 'ready removed']);
      expect(await showing(student, shown.id)).to.equal('shown');
      expect(await filesOf(club)).to.deep.equal([shown.id]);
    });

    it('stays when it is shown while a round finds it due, and is refused when the round was first', async () => {
      const [first, second] = [await readyImage(), await readyImage()];
      const outcomes: string[] = [];
      const meanwhile = await mediaPlatform((storage) => ({
        async remove(key) {
          if (key.endsWith(first.id))
            outcomes.push(await showing(student, first.id), await showing(student, second.id));
          await storage.remove(key);
        },
      }));
      await erase(after(week + minute), meanwhile);
      expect(outcomes).to.deep.equal(['invalid_image', 'shown']);
      expect([await rowOf(first.id), await rowOf(second.id)]).to.deep.equal(['ready removed', 'ready key']);
    });

    it('goes later where the store is away, and is refused meanwhile', async () => {
      const { id } = await readyImage();
      const late = after(week + minute);
      await eraseDue(await away(), late);
      expect([await rowOf(id), await filesOf(club)]).to.deep.equal(['ready removed key due', [id]]);
      expect(await showing(student, id)).to.equal('invalid_image');
      await erase(new Date(late.getTime() + 5 * minute));
      expect([await rowOf(id), await filesOf(club)]).to.deep.equal(['ready removed', []]);
    });
  });

  /** What a question does with the images that it names. @param others further ones @returns 'shown', or the code of its refusal */
  async function showing(student: TestStudent, imageId: Id, ...others: Id[]): Promise<string> {
    const naming = { clubId: club.id, studentId: student.id, imageIds: [imageId, ...others] };
    return inTransaction(platform.database, (tx) => requireOwnImages(tx, naming)).then(
      () => 'shown',
      (error: Error & { code?: string }) => error.code ?? error.message,
    );
  }

  /** What may happen to an upload, in any order. */
  const steps = [
    'put good',
    'put bad',
    'complete',
    'complete, the store failing',
    'remove',
    'remove, the store away',
    'erase',
    'show',
    'time',
    'days',
  ] as const;

  /** A file of the library is removed, an image goes with its student. */
  const uploads = {
    library: { ...notes, good: Buffer.from('# Knots\n') },
    image: { fileName: 'knot.png', mime: 'image/png', good: png(4, 4) },
  } as const;

  describe('whatever happens to an upload', () => {
    it('in the end the bucket holds what is ready, as it was checked, and of images those that are shown', async function () {
      this.timeout(240_000);
      const happening = fc.tuple(
        fc.constantFrom('library' as const, 'image' as const, 'image' as const),
        fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 9 }),
      );
      await fc.assert(
        fc.asyncProperty(happening, async ([purpose, further]) => {
          club = await buildClub();
          const student = await buildStudent(club.id);
          const isImage = purpose === 'image';
          const { good, ...file } = uploads[purpose];
          const bad = Buffer.alloc(good.length, '\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008');
          const { media, upload } = await reserve(isImage ? { club, student } : { club }, { ...file, bytes: good });
          const failing = await mediaPlatform(() => ({ read: () => Promise.reject(new Error('The store is away.')) }));
          const owner = { clubId: club.id, ...(isImage && { studentId: student.id }) };
          const reservedAt = Date.parse(media.created_at);
          /** From then on nothing can arrive, and what is gone is forgotten. */
          const lastArrival = reservedAt + 24 * hour + 15 * minute;
          // What is there by the rules, what the record is, until when it is kept unused, and whether the store is still to be asked.
          const model = {
            stored: undefined as Buffer | undefined,
            status: 'uploading',
            removed: false,
            due: false,
            keptUntil: Infinity,
          };
          const erased = () => Object.assign(model, { stored: undefined, due: false });
          const eraseInModel = (at: number) => {
            const isExpired = model.status === 'uploading' && !model.removed && at >= reservedAt + 75 * minute;
            if (isExpired) model.status = 'failed';
            const isUnused = model.status === 'ready' && !model.removed && at >= model.keptUntil;
            if (isUnused) model.removed = true;
            const isGone = model.status === 'failed' || model.removed;
            if (isExpired || isUnused || model.due || (isGone && at >= lastArrival)) erased();
          };
          let now = reservedAt;
          // Days matter to what is ready: it is made so first, rather than where chance has it so.
          const happenings = further.includes('days') ? (['put good', 'complete', ...further] as const) : further;
          for (const step of happenings) {
            const at = new Date(now);
            if (step === 'time') now += 40 * minute;
            else if (step === 'days') now += 4 * 24 * hour;
            else if (step === 'put good' || step === 'put bad') {
              if (now >= lastArrival) continue;
              const bytes = step === 'put good' ? good : bad;
              expect(await put(upload, bytes), happenings.join(', ')).to.equal(model.stored ? 412 : 200);
              model.stored ??= bytes;
            } else if (step === 'erase') {
              await erase(at);
              eraseInModel(now);
            } else if (step === 'show') {
              if (!isImage) continue;
              const isGood = model.status === 'ready' && !model.removed;
              expect(await showing(student, media.id), happenings.join(', ')).to.equal(
                isGood ? 'shown' : 'invalid_image',
              );
              if (isGood) model.keptUntil = Infinity;
            } else if (step === 'remove' || step === 'remove, the store away') {
              const by = step === 'remove' ? platform : await away();
              if (isImage) await inTransaction(platform.database, (tx) => purgeStudentFromMedia(tx, student.id, at));
              else {
                const outcome = await removeMedia(by, club.id, media.id, at).catch((error: Error) => error);
                expect(outcome instanceof Error).to.equal(model.removed);
              }
              if (model.removed) continue;
              model.removed = true;
              if (step === 'remove' && !isImage) erased();
              else model.due = true;
            } else {
              const by = step === 'complete' ? platform : failing;
              await completeMedia(by, owner, media.id, at).catch(() => undefined);
              const isLookedAt = model.status === 'uploading' && !model.removed && by === platform;
              if (!isLookedAt || !model.stored) continue;
              model.status = model.stored.equals(good) ? 'ready' : 'failed';
              if (model.status === 'failed') erased();
              else if (isImage) model.keptUntil = now + week;
            }
            expect(await filesOf(club), happenings.join(', ')).to.have.length(model.stored ? 1 : 0);
          }
          const end = now + 26 * hour;
          await erase(new Date(end));
          eraseInModel(end);
          const stays = model.status === 'ready' && !model.removed;
          expect(await filesOf(club), happenings.join(', ')).to.deep.equal(stays ? [media.id] : []);
          if (stays) {
            const stored: ObjectStore = platform.storage;
            expect(await stored.read(`media/${club.id}/${media.id}`, 0, good.length)).to.deep.equal(good);
          }
          const row = await rowOf(media.id);
          if (stays) expect(row).to.equal(model.keptUntil === Infinity ? 'ready key' : 'ready key due');
          else expect(row).to.not.match(/key|due/);
        }),
        { numRuns: 50 },
      );
    });
  });
});
