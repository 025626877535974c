/** Tests the erasure of files that never arrive, fail or are removed. */
import { expect } from 'chai';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { eraseDue, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import type { MediaDeps } from '../../../../domain/media/media.ts';
import { renewUpload } from '../../../../domain/media/uploads/reservation.ts';
import { buildClub, type TestClub } from '../../../toolkit/builders/clubs.ts';
import {
  beforeErasing,
  completed,
  eraseAll,
  leftOf,
  mediaState,
  uploadBytes,
  whileLookedAt,
  withoutErasing,
} from '../../../toolkit/drive/erasure.ts';
import { completing, filesOf, mediaDeps, put, reserve, uploadFile } from '../../../toolkit/drive/media.ts';

const minute = 60_000;
const hour = 60 * minute;
const notes = { fileName: 'notes.md', mime: 'text/markdown', bytes: Buffer.from('# Knots\n') };
const later = (ms: number) => new Date(Date.now() + ms);
const afterTheEnd = (upload: { expires_at: string }, ms: number) => new Date(Date.parse(upload.expires_at) + ms);

describe('erasure of files', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  describe('of an upload that was never completed', () => {
    it('fails the upload with upload_expired 75 minutes after the reservation', async () => {
      const { media } = await uploadBytes({ club }, notes);
      await eraseAll(later(74 * minute));
      expect(await leftOf(club, media.id)).to.deep.equal(['uploading key due', [media.id]]);
      await eraseAll(later(75 * minute));
      expect(await leftOf(club, media.id)).to.deep.equal(['failed upload_expired key due', []]);
      const { body } = await completing({ club }, media.id);
      expect(body.data).to.include({ status: 'failed', error: 'upload_expired' });
    });

    it('is repeated at growing intervals while an upload can still arrive', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await eraseAll(afterTheEnd(upload, hour));
      for (const hours of [2, 4, 8, 16, 24]) {
        await put(upload, notes.bytes); // by the clock of the store, the address is still valid
        await eraseAll(afterTheEnd(upload, hours * hour - 1));
        expect(await leftOf(club, media.id)).to.deep.equal(['failed upload_expired key due', [media.id]]);
        await eraseAll(afterTheEnd(upload, hours * hour));
        expect(await filesOf(club)).to.deep.equal([]);
      }
      expect(await mediaState(media.id)).to.equal('failed upload_expired');
    });

    it('does not erase a file that was completed in time', async () => {
      const ready = await uploadFile({ club }, notes);
      await eraseAll(later(48 * hour));
      expect(await leftOf(club, ready.id)).to.deep.equal(['ready key', [ready.id]]);
    });
  });

  describe('after a reservation was deleted (MED-29)', () => {
    it('erases a later upload five minutes after its address expires', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await removeMedia(await mediaDeps(), club.id, media.id, new Date());
      expect(await put(upload, notes.bytes)).to.equal(200);
      expect(await put(upload, notes.bytes)).to.equal(412);
      await eraseAll(afterTheEnd(upload, 5 * minute - 1));
      expect(await filesOf(club)).to.deep.equal([media.id]);
      await eraseAll(afterTheEnd(upload, 5 * minute));
      expect(await leftOf(club, media.id)).to.deep.equal(['failed upload_expired removed key due', []]);
    });

    it('erases a file that a slow request uploads after the first erasure', async () => {
      const { media, upload } = await reserve({ club }, notes);
      await removeMedia(await mediaDeps(), club.id, media.id, new Date());
      await eraseAll(afterTheEnd(upload, 5 * minute));
      await put(upload, notes.bytes); // like a slow request that started before the address expired
      await eraseAll(afterTheEnd(upload, 10 * minute));
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('erases an upload with a renewed address after it has expired', async () => {
      const { media, upload } = await reserve({ club }, notes);
      const [owner, renewedAt] = [{ clubId: club.id }, later(10 * minute)];
      const renewed = await renewUpload(await mediaDeps(), owner, media.id, renewedAt);
      await removeMedia(await mediaDeps(), club.id, media.id, renewedAt);
      await eraseAll(afterTheEnd(renewed.upload, 5 * minute - 1));
      expect(await put(upload, notes.bytes)).to.equal(200);
      expect(await put(renewed.upload, notes.bytes)).to.equal(412);
      await eraseAll(afterTheEnd(renewed.upload, 5 * minute));
      expect(await filesOf(club)).to.deep.equal([]);
    });
  });

  describe('while the store does not answer', () => {
    it('stays due after a removal, and is retried after five minutes', async () => {
      const [ready, kept] = [await uploadFile({ club }, notes), await uploadFile({ club }, notes)];
      const now = new Date();
      const away = await withoutErasing(club.id);
      await removeMedia(away, club.id, ready.id, now);
      expect(await mediaState(ready.id)).to.equal('ready removed key due');
      expect((await eraseDue(away, now)).refused).to.equal(1);
      expect((await eraseDue(await mediaDeps(), now)).erased).to.equal(0); // the erasure is due again in five minutes
      expect(await filesOf(club)).to.have.members([ready.id, kept.id]);
      await eraseAll(later(5 * minute));
      expect(await leftOf(club, ready.id)).to.deep.equal(['ready removed key due', [kept.id]]);
      await eraseAll(later(25 * hour));
      expect([await mediaState(ready.id), await mediaState(kept.id)]).to.deep.equal(['ready removed', 'ready key']);
    });

    it('erases the other files if the store refuses one file', async () => {
      const [stuck, other] = [await uploadFile({ club }, notes), await uploadFile({ club }, notes)];
      const away = await withoutErasing(club.id);
      for (const { id } of [stuck, other]) await removeMedia(away, club.id, id, new Date());
      await eraseAll(later(0), await withoutErasing(stuck.id));
      expect(await filesOf(club)).to.deep.equal([stuck.id]);
    });

    it('is deferred for a file whose completion failed', async () => {
      const { media } = await uploadBytes({ club }, { ...notes, mime: 'image/png' });
      const away = await withoutErasing(club.id);
      const outcome = await completed({ clubId: club.id }, media.id, { deps: away });
      expect(outcome).to.equal('failed content_not_allowed');
      expect(await filesOf(club)).to.deep.equal([media.id]);
      await eraseAll(later(0));
      expect(await leftOf(club, media.id)).to.deep.equal(['failed content_not_allowed key due', []]);
    });
  });

  it('does not happen if the process that completes the upload dies before its commit', async () => {
    const died = () => Promise.reject(new Error('The process died.'));
    const { db, ...others } = await mediaDeps();
    const source = new Proxy(db.source, {
      get(target, key) {
        if (key === 'transaction') return died;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const dying: MediaDeps[] = [
      await mediaDeps(() => ({ size: died })),
      { ...others, db: new Database(source, db.notifier) },
    ];
    for (const deps of dying) {
      const { media } = await uploadBytes({ club }, notes);
      expect(await completed({ clubId: club.id }, media.id, { deps })).to.equal('The process died.');
      expect(await mediaState(media.id)).to.equal('uploading key due');
      expect((await completing({ club }, media.id)).body.data.status).to.equal('ready');
    }
  });

  describe('at the same time as a completion', () => {
    /** The callback runs after the store has returned the file's size. */
    const completedWhile = async (mediaId: string, meanwhile: () => Promise<unknown>) =>
      completed({ clubId: club.id }, mediaId, { deps: await whileLookedAt(meanwhile) });

    it('erases the file, and the completion fails, if the deadline has passed', async () => {
      const { media } = await uploadBytes({ club }, notes);
      const outcome = await completedWhile(media.id, () => eraseAll(later(75 * minute)));
      expect(outcome).to.equal('failed upload_expired');
      expect(await leftOf(club, media.id)).to.deep.equal(['failed upload_expired key due', []]);
      expect(await completed({ clubId: club.id }, media.id)).to.equal('failed upload_expired');
    });

    it('also erases a file that was uploaded after its expiry', async () => {
      const { media, upload } = await uploadBytes({ club }, notes);
      const outcome = await completedWhile(media.id, async () => {
        await eraseAll(later(75 * minute));
        await put(upload, Buffer.from('# Bends\n'));
      });
      expect(outcome).to.equal('failed upload_expired');
      await eraseAll(later(25 * hour));
      expect(await leftOf(club, media.id)).to.deep.equal(['failed upload_expired', []]);
    });

    it('keeps a file that became ready after the round selected it', async () => {
      const first = await reserve({ club }, notes);
      const { media } = await uploadBytes({ club }, notes);
      const completing_ = await beforeErasing(first.media.id, () => completed({ clubId: club.id }, media.id));
      await eraseAll(later(76 * minute), completing_);
      expect(await leftOf(club, media.id)).to.deep.equal(['ready key', [media.id]]);
    });

    it('happens immediately if two concurrent completions find forbidden content', async () => {
      const { media } = await uploadBytes({ club }, { ...notes, mime: 'image/png' });
      const outcome = await completedWhile(media.id, () => completed({ clubId: club.id }, media.id));
      expect(outcome).to.equal('failed content_not_allowed');
      expect(await filesOf(club)).to.deep.equal([]);
    });

    it('makes a completion of a removed file fail with not_found', async () => {
      const { media } = await uploadBytes({ club }, notes);
      const away = await withoutErasing(club.id);
      const outcome = await completedWhile(media.id, () => removeMedia(away, club.id, media.id, new Date()));
      expect(outcome).to.equal('not_found');
      await eraseAll(later(0));
      expect(await filesOf(club)).to.deep.equal([]);
    });
  });
});
