/** Compares an upload and its files with a model after random actions. */
import { expect } from 'chai';
import fc from 'fast-check';
import { purgeStudentFromMedia, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { png } from '../../../toolkit/builders/pictures.ts';
import { completed, eraseAll, mediaState, showing, withoutErasing } from '../../../toolkit/drive/erasure.ts';
import { filesOf, keysOf, mediaDeps, put, reserve } from '../../../toolkit/drive/media.ts';
import { UploadModel } from '../../../toolkit/model/upload-model.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** A request removes only the library file. The image is removed together with its student. */
const files = {
  library: { fileName: 'notes.md', mime: 'text/markdown', bytes: Buffer.from('# Knots\n') },
  image: { fileName: 'knot.png', mime: 'image/png', bytes: png(4, 4) },
} as const;

async function buildWorld(purpose: keyof typeof files) {
  const [{ bytes: good, ...file }, isImage, club] = [files[purpose], purpose === 'image', await buildClub()];
  const student = await buildStudent(club.id);
  const { media, upload } = await reserve(isImage ? { club, student } : { club }, { ...file, bytes: good });
  const reservedAt = Date.parse(media.created_at);
  const model = new UploadModel({ good, isImage, reservedAt });
  return { club, student, isImage, mediaId: media.id, upload, good, model, now: reservedAt };
}
type World = Awaited<ReturnType<typeof buildWorld>>;

async function arrive({ model, now, upload }: World, bytes: Buffer): Promise<void> {
  if (now < model.lastArrival) expect(await put(upload, bytes)).to.equal(model.put(bytes));
}

async function remove({ club, student, isImage, mediaId, model, now }: World, isAnswering: boolean): Promise<void> {
  const deps = isAnswering ? await mediaDeps() : await withoutErasing(club.id);
  const at = new Date(now);
  const removing = isImage
    ? deps.db.transaction((tx) => purgeStudentFromMedia(tx, student.id, at))
    : removeMedia(deps, club.id, mediaId, at);
  const outcome = await removing.catch((error: Error) => error);
  expect(outcome instanceof Error).to.equal(model.removed && !isImage);
  model.remove(isAnswering && !isImage, now);
}

async function complete({ club, student, isImage, mediaId, now }: World, failing = {}): Promise<void> {
  const owner = { clubId: club.id, ...(isImage && { studentId: student.id }) };
  await completed(owner, mediaId, { deps: await mediaDeps(() => failing), at: new Date(now) });
}

const steps: Record<string, (world: World) => Promise<void>> = {
  'put good': (world) => arrive(world, world.good),
  'put bad': (world) =>
    arrive(world, Buffer.alloc(world.good.length, '\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008')),
  async complete(world) {
    await complete(world);
    world.model.complete(world.now);
  },
  async 'complete without the store'(world) {
    await complete(world, { read: () => Promise.reject(new Error('The store is away.')) });
    world.model.arrive();
  },
  remove: (world) => remove(world, true),
  'remove, the store away': (world) => remove(world, false),
  async erase({ model, now }) {
    await eraseAll(new Date(now));
    model.eraseDue(now);
  },
  async show({ club, student, isImage, mediaId, model }) {
    if (!isImage) return;
    expect(await showing(club.id, student, mediaId)).to.equal(model.stays ? 'shown' : 'invalid_image');
    model.show();
  },
  async time(world) {
    world.now += 40 * minute;
  },
  async days(world) {
    world.now += 4 * day;
  },
};

describe('erasure of uploads, compared with a model', () => {
  it('keeps ready files, but an image only if a question shows it', async function () {
    this.timeout(240_000);
    const happening = fc.tuple(
      fc.constantFrom('library' as const, 'image' as const),
      fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 9 }),
    );
    await fc.assert(
      fc.asyncProperty(happening, async ([purpose, further]) => {
        const world = await buildWorld(purpose);
        const { club, mediaId, model, good } = world;
        // Time changes only ready files, so the test makes the file ready first.
        for (const step of further.includes('days') ? ['put good', 'complete', ...further] : further) {
          await steps[step]?.(world);
          expect(await filesOf(club), step).to.have.length(model.stored ? 1 : 0);
        }
        if (model.status === 'processing') await steps['complete']?.(world); // its workflow continues
        world.now += 26 * 60 * minute;
        await steps['erase']?.(world);
        expect(await filesOf(club)).to.deep.equal(model.stays ? [mediaId] : []);
        const state = await mediaState(mediaId);
        if (!model.stays) return void expect(state).to.not.match(/key|due/);
        expect(state).to.equal(model.keptUntil === Number.POSITIVE_INFINITY ? 'ready key' : 'ready key due');
        const store = await testObjectStore();
        const original = `media/${club.id}/${mediaId}`;
        if (purpose === 'library') return void expect(await store.read(original, 0, good.length)).to.deep.equal(good);
        // The service keeps only the picture of an image for agents (MED-22).
        expect(await store.size(original)).to.equal(0);
        const pictureKeys = (await keysOf(club))
          .filter((key) => key !== mediaId)
          .map((key) => key.slice(mediaId.length));
        expect(pictureKeys).to.have.length(1);
        expect(pictureKeys[0]).to.match(/^\.\d+-preview-1$/);
      }),
      { numRuns: 50 },
    );
  });
});
