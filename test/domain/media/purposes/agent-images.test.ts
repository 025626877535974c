/** Tests the images of a question. */
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { presentImages, readImages } from '../../../../domain/agents/conversations/images.ts';
import { requireOwnImages } from '../../../../domain/media/purposes/agent-images.ts';
import { purgeStudentFromMedia } from '../../../../domain/media/erasure/erasure.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { reserve, uploadFile } from '../../../toolkit/drive/media.ts';
import sharp from 'sharp';
import { shrinkImage } from '../../../../platform/infra/images/shrink.ts';
import { png } from '../../../toolkit/builders/pictures.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';
import { buildAgent } from '../../../toolkit/builders/agents.ts';
import { buildConversation, buildQuestion } from '../../../toolkit/builders/questions.ts';

describe('agent images', () => {
  let club: TestClub;
  let student: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  const imageOf = async (owner: TestStudent, bytes = png(2, 3)) =>
    uploadFile({ club, student: owner }, { fileName: 'knot.png', mime: 'image/png', bytes });

  const required = async (imageIds: Id[], studentId = student.id, clubId = club.id) => {
    const { db } = await testDeps();
    return db
      .transaction((tx) => requireOwnImages(tx, { clubId, studentId, imageIds }))
      .then(
        (rows) => rows.map(({ id }) => id),
        (error: unknown) => (error instanceof DomainError ? [error.status, error.code] : [String(error)]),
      );
  };

  async function questionWith(imageIds: readonly Id[]): Promise<Id> {
    const agent = await buildAgent(club.id);
    const conversation = await buildConversation({}, { clubId: club.id, agentId: agent.id, studentId: student.id });
    return (await buildQuestion({ imageIds }, conversation)).questionId;
  }

  describe('a question', () => {
    it('may name the student’s own ready images, and keeps their order', async () => {
      const [first, second] = [await imageOf(student), await imageOf(student)];
      expect(await required([])).to.deep.equal([]);
      expect(await required([second.id, first.id])).to.deep.equal([second.id, first.id]);
      expect(await required([first.id.toUpperCase()])).to.deep.equal([first.id]);
    });

    it('is rejected with invalid_image if it names a forbidden image', async () => {
      const refused = [422, 'invalid_image'];
      const own = await imageOf(student);
      const others = await imageOf(await buildStudent(club.id));
      const library = await uploadFile({ club }, { fileName: 'a.png', mime: 'image/png', bytes: png() });
      const { media: uploading } = await reserve(
        { club, student },
        { fileName: 'a.png', mime: 'image/png', bytes: png() },
      );
      const failed = await imageOf(student, Buffer.from('none'));
      expect(failed.status).to.equal('failed');
      const outcomes: Record<string, unknown> = {};
      for (const [name, id] of Object.entries({
        'an unknown one': newId(),
        'an image of another student': others.id,
        'an image of the library': library.id,
        'an image that is uploading': uploading.id,
        'an image that failed': failed.id,
      })) {
        outcomes[name] = await required([id]);
        outcomes[`${name}, beside an image of the same student`] = await required([own.id, id]);
      }
      outcomes['one named twice'] = await required([own.id, own.id]);
      outcomes['an image that is named twice in two spellings'] = await required([own.id, own.id.toUpperCase()]);
      outcomes['an image of another club'] = await required([own.id], student.id, (await buildClub()).id);
      const { db } = await testDeps();
      await db.transaction((tx) => purgeStudentFromMedia(tx, student.id, new Date()));
      outcomes['a removed image'] = await required([own.id]);
      expect(outcomes).to.deep.equal(Object.fromEntries(Object.keys(outcomes).map((name) => [name, refused])));
    });
  });

  describe('images of a question', () => {
    it('are read completely and in order', async () => {
      const clear = await sharp({ create: { width: 8, height: 8, channels: 4, background: '#0000' } })
        .webp()
        .toBuffer();
      const keptOf = async (bytes: Buffer) => (await shrinkImage(bytes, [{ width: 1_600, height: 1_600 }]))?.[0]?.bytes;
      const [second, first] = [await imageOf(student, png(9, 9)), await imageOf(student, clear)];
      const questionId = await questionWith([first.id, second.id]);
      const source = await testDatabase();
      expect(await readImages(await testObjectStore(), new Queries(source.manager), questionId)).to.deep.equal([
        { mediaType: 'image/png', bytes: await keptOf(clear) },
        { mediaType: 'image/jpeg', bytes: await keptOf(png(9, 9)) },
      ]);
      expect(await readImages(await testObjectStore(), new Queries(source.manager), newId())).to.deep.equal([]);
    });

    it('are shown by signed URLs until the student is removed', async () => {
      const [first, second] = [await imageOf(student), await imageOf(student)];
      const questions = [
        await questionWith([first.id, second.id]),
        await questionWith([]),
        await questionWith([first.id]),
      ];
      const { db } = await testDeps();
      const { manager } = db.source;
      const presented = await presentImages(new Queries(manager), await testObjectStore(), questions);
      expect(questions.map((id) => presented.get(id)?.map((image) => image.id))).to.deep.equal([
        [first.id, second.id],
        undefined,
        [first.id],
      ]);
      expect((await fetch(presented.get(questions[2] ?? '')?.[0]?.preview_url ?? '')).status).to.equal(200);
      await db.transaction((tx) => purgeStudentFromMedia(tx, student.id, new Date()));
      expect((await presentImages(new Queries(manager), await testObjectStore(), questions)).size).to.equal(0);
      expect(await readImages(await testObjectStore(), new Queries(manager), questions[0] ?? '')).to.deep.equal([]);
    });

    it('cause an error if a ready image is missing in the store', async () => {
      const image = await imageOf(student);
      const questionId = await questionWith([image.id]);
      const store = await testObjectStore();
      await store.removeUnder(`media/${club.id}/${image.id}.`);
      const source = await testDatabase();
      const outcome = await readImages(store, new Queries(source.manager), questionId).catch(
        (error: Error) => error.message,
      );
      expect(outcome).to.equal('The store lacks an image that is ready');
    });
  });
});
