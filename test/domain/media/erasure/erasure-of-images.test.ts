/** Tests the erasure of images that students show to agents. */
import { expect } from 'chai';
import { newId } from '../../../../platform/core/ids.ts';
import { eraseDue, purgeStudentFromMedia } from '../../../../domain/media/erasure/erasure.ts';
import { reserveAgentImage } from '../../../../domain/media/uploads/reservation.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { png } from '../../../toolkit/builders/pictures.ts';
import { call } from '../../../toolkit/drive/api.ts';
import {
  beforeErasing,
  completed,
  eraseAll,
  leftOf,
  mediaState,
  showing,
  uploadBytes,
  whileLookedAt,
  withoutErasing,
} from '../../../toolkit/drive/erasure.ts';
import { filesOf, mediaDeps, uploadFile } from '../../../toolkit/drive/media.ts';
import { columnsHolding, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const minute = 60_000;
const hour = 60 * minute;
const week = 7 * 24 * hour;
const image = { fileName: 'knot.png', mime: 'image/png', bytes: png(4, 4) };
const later = (ms: number) => new Date(Date.now() + ms);

describe('erasure of images for agents', () => {
  let club: TestClub;
  let student: TestStudent;
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
  });

  describe('by the removal of their student', () => {
    const remove = (of: TestStudent) =>
      call('DELETE', `/v1/clubs/${club.id}/students/${of.id}`, { token: club.owner.token });

    it('deletes rows and files, but no files of other students', async () => {
      const named = { ...image, fileName: `Rosalind ${newId()}.png` };
      const ready = await uploadFile({ club, student }, named);
      const underWay = await uploadBytes({ club, student }, named);
      const others = { club, student: await buildStudent(club.id) };
      const other = await uploadFile(others, { ...image, fileName: 'Other.png' });
      expect((await remove(student)).status).to.equal(204);
      expect(await columnsHolding(named.fileName)).to.deep.equal([]);
      await eraseAll(later(0));
      expect(await filesOf(club)).to.deep.equal([other.id]);
      await eraseAll(later(25 * hour));
      expect([await mediaState(ready.id), await mediaState(underWay.media.id)]).to.deep.equal([
        'ready removed',
        'failed upload_expired removed',
      ]);
      expect((await fetch(ready.download_url ?? '')).status).to.equal(404);
    });

    it('makes a simultaneous completion fail with not_found', async () => {
      const { media } = await uploadBytes({ club, student }, image);
      const { db } = await testDeps();
      const deps = await whileLookedAt(() => db.transaction((tx) => purgeStudentFromMedia(tx, student.id, new Date())));
      const owner = { clubId: club.id, studentId: student.id };
      expect(await completed(owner, media.id, { deps })).to.equal('not_found');
      await eraseAll(later(0));
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('prevents later reservations', async () => {
      await remove(student);
      const owner = { clubId: club.id, studentId: student.id };
      const fileName = `${newId()}.png`;
      const announced = { fileName, mime: 'image/png', sizeBytes: 9 };
      const reserving = reserveAgentImage(await mediaDeps(), owner, announced, new Date());
      expect(await reserving.catch((error: Error) => error)).to.have.property('code', 'not_found');
      expect(await columnsHolding(fileName)).to.deep.equal([]);
    });
  });

  describe('because of their age', () => {
    /** Also returns the time when the image became ready. */
    async function readyImage() {
      const { media } = await uploadBytes({ club, student }, image);
      const at = new Date();
      expect(await completed({ clubId: club.id, studentId: student.id }, media.id, { at })).to.equal('ready');
      return { id: media.id, readyAt: at.getTime() };
    }

    it('erases the image a week after it became ready', async () => {
      const { id, readyAt } = await readyImage();
      await eraseAll(new Date(readyAt + week - 1));
      expect(await leftOf(club, id)).to.deep.equal(['ready key due', [id]]);
      await eraseAll(new Date(readyAt + week));
      expect(await leftOf(club, id)).to.deep.equal(['ready removed', []]);
      expect(await showing(club.id, student, id)).to.equal('invalid_image');
      const source = await testDatabase();
      const [row] = await source.query<object[]>(`SELECT title, file_name FROM media WHERE id = $1`, [id]);
      expect(row).to.deep.equal({ title: '', file_name: null });
    });

    it('keeps an image that a question has shown, but not the image of a refused question', async () => {
      const [shown, refused] = [await readyImage(), await readyImage()];
      expect(await showing(club.id, student, shown.id)).to.equal('shown');
      expect(await showing(club.id, student, refused.id, newId())).to.equal('invalid_image');
      await eraseAll(later(week + minute));
      expect([await mediaState(shown.id), await mediaState(refused.id)]).to.deep.equal(['ready key', 'ready removed']);
      expect(await showing(club.id, student, shown.id)).to.equal('shown');
      expect(await filesOf(club)).to.deep.equal([shown.id]);
    });

    it('keeps an image that a question uses during the round', async () => {
      const [first, second] = [await readyImage(), await readyImage()];
      const outcomes: string[] = [];
      const meanwhile = await beforeErasing(first.id, async () => {
        for (const { id } of [first, second]) outcomes.push(await showing(club.id, student, id));
      });
      await eraseAll(later(week + minute), meanwhile);
      expect(outcomes).to.deep.equal(['invalid_image', 'shown']);
      expect([await mediaState(first.id), await mediaState(second.id)]).to.deep.equal(['ready removed', 'ready key']);
    });

    it('is deferred while the store fails', async () => {
      const { id } = await readyImage();
      const late = later(week + minute);
      await eraseDue(await withoutErasing(club.id), late);
      expect(await leftOf(club, id)).to.deep.equal(['ready removed key due', [id]]);
      expect(await showing(club.id, student, id)).to.equal('invalid_image');
      await eraseAll(new Date(late.getTime() + 5 * minute));
      expect(await leftOf(club, id)).to.deep.equal(['ready removed', []]);
    });
  });
});
