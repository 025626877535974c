/** Tests publishing and unpublishing of files: the answers, the runs, and the leftover objects in each bucket (MED-25, MED-27). */
import { mock } from 'node:test';
import { expect } from 'chai';
import { removeMedia } from '../../domain/media/erasure/erasure.ts';
import { eraseLeftovers } from '../../domain/media/erasure/leftovers.ts';
import { movingRules } from '../../domain/media/processing.policy.ts';
import { moveMedia } from '../../domain/media/library/publishing.ts';
import type { MovingDeps, MoveStep } from '../../domain/media/library/moving.ts';
import { replaceMedia } from '../../domain/media/library/replacing.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAssignmentFile } from '../toolkit/builders/assignments.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call as request, expectError, visible, type Answer } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { mediaDeps, uploadFile } from '../toolkit/drive/media.ts';
import { movedFile, moveOnce, movingDeps, objectsOf, orphansOf } from '../toolkit/drive/moving.ts';
import { processedFile } from '../toolkit/drive/processing.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { until } from '../toolkit/drive/until.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const minute = 60_000;
const later = (ms: number) => new Date(Date.now() + ms);

describe('publishing of files (MED-25)', () => {
  let club: TestClub;
  let call: ReturnType<typeof callsOf>;
  beforeEach(async () => {
    club = await buildClub();
    call = callsOf(club);
  });

  const publish = (id: Id) => call('POST', `/media/${id}/publish`);
  const unpublish = (id: Id) => call('POST', `/media/${id}/unpublish`);
  const read = async (id: Id) => (await call('GET', `/media/${id}`)).body.data;
  const file = async (words = 'How to tie it.', title = 'Nó “um”.txt'): Promise<Id> =>
    (await buildMedia(club.id, { title, bytes: words })).id;
  const published = async (id: Id): Promise<Id> => {
    expect((await publish(id)).status).to.equal(202);
    expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'public' });
    return id;
  };
  const open = (id: Id, role = 'preview'): Promise<Answer> => request('GET', `/public/media/${id}/${role}`);
  const followed = async (id: Id, headers: Record<string, string> = {}) => {
    const answer = await open(id);
    expect(answer.status).to.equal(302);
    return fetch(answer.headers.get('location') ?? '', { headers });
  };
  const wordsOf = async (id: Id) => (await followed(id)).text();
  const leftovers = async () =>
    (await testDatabase()).query<{ key: string; erasesAt: Date; arrivesUntil: Date | null }[]>(
      `SELECT object_key AS key, erases_at AS "erasesAt", arrives_until AS "arrivesUntil" FROM leftover_objects WHERE club_id = $1 ORDER BY 1`,
      [club.id],
    );
  const moves = async () =>
    (await testDatabase()).query<object[]>(`SELECT visibility FROM media_moves WHERE club_id = $1`, [club.id]);

  describe('POST /v1/clubs/{clubId}/media/{mediaId}/publish and /unpublish', () => {
    it('starts one run for repeated requests, and the file stays private until the run has moved it', async () => {
      const id = await file();
      const [one, two] = [await publish(id), await publish(id)];
      expect([one.status, two.status, one.body.data.visibility]).to.deep.equal([202, 202, 'private']);
      expect(one.body.data).to.include({ favorite: false, usage_count: 0 });
      const wakes = await (
        await testDatabase()
      ).query<object[]>(`SELECT workflow_id AS run FROM wakes WHERE subject_id = $1`, [id]);
      expect(wakes).to.deep.equal([{ run: `media-move/${id}` }]);
      expectError(await open(id), 'not_found');
      expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'public' });
      expect([(await publish(id)).body.data.visibility, await moves()]).to.deep.equal(['public', []]);
    });

    it('serves a public file to any reader under a permanent address, but still signs its download', async () => {
      const id = await published(await file());
      const record = await read(id);
      expect(record.visibility).to.equal('public');
      expect(record.preview_url).to.match(new RegExp(`/public/media/${id}/preview$`));
      expect(record).not.to.have.property('thumbnail_url');
      const whole = await followed(id);
      expect([whole.status, await whole.text()]).to.deep.equal([200, 'How to tie it.']);
      expect(whole.headers.get('cache-control')).to.equal('public, max-age=300');
      expect(whole.headers.get('content-disposition')).to.equal(
        `inline; filename="N_ _um_.txt"; filename*=UTF-8''N%C3%B3%20%E2%80%9Cum%E2%80%9D.txt`,
      );
      const part = await followed(id, { range: 'bytes=4-5' });
      expect([part.status, await part.text()]).to.deep.equal([206, 'to']);
      const download = await fetch(record.download_url);
      expect([download.status, await download.text()]).to.deep.equal([200, 'How to tie it.']);
      expect(download.headers.get('content-disposition')).to.match(/^attachment; filename="N_ _um_.txt"/);
      const hidden = (await read(await file())).download_url;
      expect((await fetch(hidden.split('?')[0])).status, 'a private file without its signature').to.equal(403);
    });

    it('also moves renditions, and signs their addresses once the file is private again', async () => {
      const { id } = await uploadFile({ club }, { fileName: 'knot.png', mime: 'image/png', bytes: png(64, 48) });
      await published(id);
      const record = await read(id);
      expect(record.thumbnail_url).to.match(new RegExp(`/public/media/${id}/thumbnail$`));
      const thumbnail = await fetch((await open(id, 'thumbnail')).headers.get('location') ?? '');
      expect([thumbnail.status, thumbnail.headers.get('content-type')]).to.deep.equal([200, 'image/jpeg']);
      expect((await followed(id)).headers.get('content-type')).to.equal('image/jpeg');
      expect((await objectsOf(club)).public).to.have.length(4);
      expect((await unpublish(id)).status).to.equal(202);
      expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'private' });
      const back = await read(id);
      expect(back.visibility).to.equal('private');
      for (const url of [back.preview_url, back.thumbnail_url, back.download_url]) {
        expect(url).to.match(/X-Amz-Signature=/);
        expect((await fetch(url)).status).to.equal(200);
      }
      expectError(await open(id), 'not_found');
      expectError(await open(id, 'thumbnail'), 'not_found');
    });

    it('leaves old objects to upkeep, for an hour in the private bucket and 6 minutes in the public one', async () => {
      const deps = await mediaDeps();
      const { id } = await uploadFile({ club }, { fileName: 'knot.png', mime: 'image/png', bytes: png(64, 48) });
      const used = (await call('GET', '/media/storage')).body;
      const signed = (await read(id)).preview_url;
      await published(id);
      await eraseLeftovers(deps, later(59 * minute));
      expect((await fetch(signed)).status, 'signed before').to.equal(200);
      await eraseLeftovers(deps, later(61 * minute));
      const { public: publicKeys, private: privateKeys } = await objectsOf(club);
      expect([publicKeys.length, privateKeys]).to.deep.equal([4, []]);
      await unpublish(id);
      await movedFile(id);
      await eraseLeftovers(deps, later(5 * minute));
      expect((await objectsOf(club)).public).to.have.length(4);
      await eraseLeftovers(deps, later(7 * minute));
      expect((await objectsOf(club)).public).to.deep.equal([]);
      expect((await fetch((await read(id)).preview_url)).status).to.equal(200);
      expect((await call('GET', '/media/storage')).body, 'counted once').to.deep.equal(used);
      // The upload address is valid for 15 minutes. After that time no upload can arrive any more, and upkeep erases the object again.
      const [leftover] = await leftovers();
      expect([(await leftovers()).length, leftover?.arrivesUntil]).to.deep.equal([1, null]);
      expect((Number(leftover?.erasesAt) - Date.now()) / minute).to.be.within(24 * 60 + 10, 24 * 60 + 15);
      await eraseLeftovers(deps, later(25 * 60 * minute));
      expect(await leftovers()).to.deep.equal([]);
    });

    it('serves HTML as plain text and SVG as a download, so that no script runs', async () => {
      const [page, drawing] = [await file('<script>alert(1)</script>', 'a.html'), await file('<svg/>', 'a.svg')];
      await alter('media', page, { mime: 'text/html' });
      await alter('media', drawing, { mime: 'image/svg+xml' });
      const [text, image] = [await followed(await published(page)), await followed(await published(drawing))];
      expect(text.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
      expect(image.headers.get('content-disposition')).to.match(/^attachment;/);
    });

    it('returns 409 media_not_ready for references and unready files, and media_archived for archived ones', async () => {
      const others: Id[] = [];
      for (const status of ['uploading', 'processing', 'failed'] as const)
        others.push((await buildMedia(club.id, { status, bytes: 'x' })).id);
      const reference = { provider: 'external', external_id: 'https://knots.org/', title: 'x' };
      others.push((await call('POST', '/media/references', reference)).body.data.id);
      const archived = await file();
      await call('PATCH', `/media/${archived}`, { archived: true });
      const before = await rowCounts();
      await eachCase(others, async (id) => {
        expectError(await publish(id), 'media_not_ready');
        expectError(await unpublish(id), 'media_not_ready');
      });
      expectError(await publish(archived), 'media_archived');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await unpublish(archived)).status).to.equal(202);
      const id = await published(await file());
      await call('PATCH', `/media/${id}`, { archived: true });
      expect((await unpublish(id)).status).to.equal(202);
      expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'private' });
    });

    it('returns 404 for unknown files and for files of students', async () => {
      const student = await buildStudent(club.id);
      const removed = await file();
      await call('DELETE', `/media/${removed}`);
      const foreign = (await buildMedia((await buildClub()).id, { bytes: 'x' })).id;
      const image = (await buildMedia(club.id, { studentId: student.id, bytes: 'x' })).id;
      const work = await buildAssignmentFile(club.id, student.id);
      await eachCase([removed, foreign, image, work, newId()], async (id) => {
        expectError(await publish(id), 'not_found');
        expectError(await unpublish(id), 'not_found');
      });
      const written = alter('media', work, { visibility: 'public', object_key: 'public/x' });
      expect(await written.catch((error: Error) => error.message)).to.match(/media_published/);
      const wrong = alter('media', await file(), { visibility: 'public' });
      expect(await wrong.catch((error: Error) => error.message)).to.match(/media_bucket/);
    });
  });

  describe('GET /public/media/{mediaId}/preview and /thumbnail', () => {
    it('redirects with a lifetime of five minutes and an ETag that changes with the content', async () => {
      const [old, better] = [await published(await file('Old.')), await published(await file('New and longer.'))];
      const before = await open(old);
      expect(before.headers.get('cache-control')).to.equal('public, max-age=300');
      expect(before.headers.get('etag')).to.match(/^"[\w-]{22}"$/);
      expect((await open(old)).headers.get('etag')).to.equal(before.headers.get('etag'));
      expect((await call('POST', `/media/${old}/replace`, { with: better })).status).to.equal(200);
      expect([await wordsOf(old), await wordsOf(better)]).to.deep.equal(['New and longer.', 'Old.']);
      expect((await open(old)).headers.get('etag')).not.to.equal(before.headers.get('etag'));
      expect((await fetch(before.headers.get('location') ?? '')).status, 'the target of an earlier redirect').to.equal(
        200,
      );
    });

    it('returns 404 with the same bytes for private, removed and unknown files and missing thumbnails', async () => {
      const [privateFile, removedFile, publicFile] = [
        await file(),
        await published(await file()),
        await published(await file()),
      ];
      await call('DELETE', `/media/${removedFile}`);
      const unknown = await open(newId());
      expectError(unknown, 'not_found');
      expect(unknown.headers.get('cache-control')).to.equal('no-store');
      await eachCase([privateFile, removedFile], async (id) =>
        expect(visible(await open(id))).to.equal(visible(unknown)),
      );
      expect(visible(await open(publicFile, 'thumbnail'))).to.equal(visible(unknown));
      expect(await objectsOf(club)).to.nested.include({ 'public.length': 1 });
    });
  });

  describe('the workflow run that moves a file', () => {
    /** Runs one step of a move. When the step reaches the failpoint, calls the function `happens` once. */
    const meeting = async (
      id: Id,
      point: Parameters<MovingDeps['failpoint']>[0],
      happens: () => Promise<unknown>,
    ): Promise<MoveStep> => {
      let remaining = 1;
      const failpoint: MovingDeps['failpoint'] = async (name) => {
        if (name === point && remaining-- > 0) await happens();
      };
      return movedFile(id, { failpoint });
    };
    const deadAt = (point: Parameters<MovingDeps['failpoint']>[0], id: Id) =>
      new Promise<void>((resolve, reject) => {
        const failpoint: MovingDeps['failpoint'] = (name) => {
          if (name !== point) return Promise.resolve();
          resolve();
          return new Promise(() => {});
        };
        movingDeps({ failpoint })
          .then((deps) => moveOnce(deps, id))
          .catch(reject);
      });
    const endLease = async (id: Id) =>
      (await testDatabase()).query(
        `UPDATE media_moves SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`,
        [id],
      );

    for (const point of ['move_claimed', 'move_copied', 'move_recorded'] as const)
      it(`is continued by another worker after a crash at ${point}, and leaves no object without a row`, async () => {
        const { id } = await uploadFile({ club }, { fileName: 'knot.png', mime: 'image/png', bytes: png(8, 8) });
        await publish(id);
        await deadAt(point, id);
        expect(await orphansOf(club)).to.deep.equal([]);
        const waiting = await moveOnce(await movingDeps(), id);
        if (point === 'move_recorded') expect(waiting).to.deep.equal({ done: true, outcome: 'public' });
        else expect(waiting.done, 'leased').to.equal(false);
        await endLease(id);
        expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'public' });
        expect((await followed(id)).status).to.equal(200);
        expect(await orphansOf(club)).to.deep.equal([]);
        await eraseLeftovers(await mediaDeps(), later(61 * minute));
        const { public: publicKeys, private: privateKeys } = await objectsOf(club);
        expect([publicKeys.length, privateKeys]).to.deep.equal([4, []]);
      });

    it('writes nothing if its lease expired and another worker finished the move', async () => {
      const id = await file();
      await publish(id);
      const late = await meeting(id, 'move_copied', async () => {
        await endLease(id);
        expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'public' });
      });
      expect(late).to.deep.equal({ done: true, outcome: 'public' });
      expect(await wordsOf(id)).to.equal('How to tie it.');
      expect(await orphansOf(club)).to.deep.equal([]);
      await eraseLeftovers(await mediaDeps(), later(61 * minute));
      const { public: publicKeys, private: privateKeys } = await objectsOf(club);
      expect([publicKeys.length, privateKeys]).to.deep.equal([1, []]);
    });

    it('does not write or renew its lease after another worker claimed the move', async () => {
      const id = await file();
      await publish(id);
      const [copied, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let second: Promise<MoveStep> | undefined;
      const late = await meeting(id, 'move_copied', async () => {
        await endLease(id);
        const failpoint: MovingDeps['failpoint'] = async (name) => {
          if (name !== 'move_copied') return;
          copied.resolve();
          await goOn.promise;
        };
        second = moveOnce(await movingDeps({ failpoint }), id);
        await copied.promise;
      });
      expect([late.done, (await read(id)).visibility]).to.deep.equal([false, 'private']);
      goOn.resolve();
      expect(await second).to.deep.equal({ done: true, outcome: 'public' });
      await eraseLeftovers(await mediaDeps(), later(61 * minute));
      expect(await wordsOf(id)).to.equal('How to tie it.');
    });

    it('keeps the file private while the object store is unavailable, and copies it in the next step', async () => {
      const id = await file();
      await publish(id);
      const away = await mediaDeps(() => ({ copy: () => Promise.reject(new Error('Store is unavailable')) }));
      const failed = await moveOnce(await movingDeps(away), id).catch((error: Error) => error.message);
      expect([failed, (await read(id)).visibility]).to.deep.equal(['Store is unavailable', 'private']);
      expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'public' });
      expect(await orphansOf(club)).to.deep.equal([]);
    });

    it('ends without a change if the object store has lost the file', async () => {
      const { id } = await buildMedia(club.id, { bytes: null, sizeBytes: 9 });
      await publish(id);
      expect(await movedFile(id)).to.deep.equal({ done: true, outcome: 'private' });
      expect(await moves()).to.deep.equal([]);
    });

    it('waits while the file is being processed, even if the processing starts during the copy', async () => {
      const id = await file();
      await publish(id);
      const now = new Date();
      await alter('media', id, { looks_at: now });
      const waiting = { done: false, at: now.getTime() + movingRules.busyMs };
      expect(await moveOnce(await movingDeps(), id, now)).to.deep.equal(waiting);
      expect((await objectsOf(club)).public).to.deep.equal([]);
      await alter('media', id, { looks_at: null });
      expect(await moveOnce(await movingDeps(), id, now)).to.deep.equal(waiting);
      expect(await moveOnce(await movingDeps(), id, new Date(waiting.at))).to.deep.equal({
        done: true,
        outcome: 'public',
      });
      const other = await file();
      await publish(other);
      expect(await meeting(other, 'move_copied', () => alter('media', other, { looks_at: now }))).to.have.property(
        'done',
        false,
      );
      expect((await read(other)).visibility).to.equal('private');
    });

    it('continues as soon as the processing of the file ends', async () => {
      const id = await file();
      await publish(id);
      const now = new Date();
      await alter('media', id, { looks_at: now });
      expect(await moveOnce(await movingDeps(), id, now)).to.have.property('done', false);
      const source = await testDatabase();
      const wakes = () => source.query<object[]>(`SELECT workflow_id AS run FROM wakes WHERE subject_id = $1`, [id]);
      await source.query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
      expect(await processedFile(id, { at: now })).to.deep.equal({ done: true, outcome: 'ready' });
      expect(await wakes()).to.deep.equal([{ run: `media-move/${id}` }]);
      expect(await moveOnce(await movingDeps(), id, now)).to.deep.equal({ done: true, outcome: 'public' });
      await source.query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
      await alter('media', id, { looks_at: now });
      await processedFile(id, { at: now });
      expect(await wakes(), 'wakes of a file that does not move').to.deep.equal([]);
    });

    it('renews its lease while it copies the file, however long the copy takes', async () => {
      const id = await file();
      await publish(id);
      const source = await testDatabase();
      const isLeased = async () => {
        const [row] = await source.query<{ isLeased: boolean }[]>(
          `SELECT lease_until > clock_timestamp() AS "isLeased" FROM media_moves WHERE id = $1`,
          [id],
        );
        return row?.isLeased === true;
      };
      const renewals = mock.timers;
      const deps = await movingDeps(
        await mediaDeps((storage) => ({
          async copy(...args) {
            for (const _ of [1, 2]) {
              await endLease(id);
              renewals.tick(movingRules.renewalMs);
              await until('a renewal', { timeoutMs: 5_000 }, isLeased);
            }
            return storage.copy(...args);
          },
        })),
      );
      renewals.enable({ apis: ['setInterval'] });
      try {
        expect(await moveOnce(deps, id)).to.deep.equal({ done: true, outcome: 'public' });
      } finally {
        renewals.reset();
      }
    });

    it('applies only the last request, even if this request arrives after the run has copied the file', async () => {
      const [early, late, twice] = [await file(), await file(), await file()];
      await publish(early);
      await unpublish(early);
      expect(await movedFile(early)).to.deep.equal({ done: true, outcome: 'private' });
      await publish(late);
      expect(await meeting(late, 'move_copied', () => unpublish(late))).to.deep.equal({
        done: true,
        outcome: 'private',
      });
      await publish(twice);
      const both = async () => [await unpublish(twice), await publish(twice)];
      expect(await meeting(twice, 'move_copied', both)).to.deep.equal({ done: true, outcome: 'public' });
      expect(await moves()).to.deep.equal([]);
      await eraseLeftovers(await mediaDeps(), later(0));
      expect((await objectsOf(club)).public).to.have.length(1);
    });

    it('publishes the new content and keeps the old content if the file is replaced after its copy', async () => {
      const [one, other] = [await file('Old.'), await file('New.')];
      await publish(one);
      const replace = () => call('POST', `/media/${one}/replace`, { with: other });
      expect(await meeting(one, 'move_copied', replace)).to.deep.equal({ done: true, outcome: 'public' });
      expect(await wordsOf(one)).to.equal('New.');
      expect(await (await fetch((await read(other)).download_url)).text()).to.equal('Old.');
      await eraseLeftovers(await mediaDeps(), later(61 * minute));
      expect(await (await fetch((await read(other)).download_url)).text()).to.equal('Old.');
      expect((await objectsOf(club)).public).to.have.length(1);
    });

    it('leaves no object in any bucket if the file is removed during or after the move', async () => {
      const [before, after] = [await file(), await file()];
      await publish(before);
      const removing = () => call('DELETE', `/media/${before}?force=true`);
      expect(await meeting(before, 'move_copied', removing)).to.deep.equal({ done: true, outcome: 'gone' });
      await published(after);
      expect((await call('DELETE', `/media/${after}`)).status).to.equal(204);
      expect((await objectsOf(club)).public, 'before upkeep').to.have.length(1);
      await eraseLeftovers(await mediaDeps(), later(61 * minute));
      expect([await objectsOf(club), await moves(), await leftovers()]).to.deep.equal([
        { public: [], private: [] },
        [],
        [],
      ]);
    });

    for (const movedFirst of [true, false])
      it(`is not mixed with a simultaneous removal or replacement: ${movedFirst ? 'the move first' : 'the move last'}`, async () => {
        const deps = await movingDeps();
        const now = new Date();
        const reader = { clubId: club.id, administratorId: club.owner.id };
        const codeOf = (act: Promise<unknown>) =>
          act.then(
            () => 'done',
            (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)),
          );
        const removed = await file();
        await moveMedia(deps, reader, removed, 'public', now);
        const [one, other] = [await file('Old.'), await file('New.')];
        await moveMedia(deps, reader, one, 'public', now);
        /**
         * Starts a step that copies the file. @returns a function that lets the step continue and record the move. The function returns the
         * result of the step.
         */
        const copied = async (id: Id) => {
          const [hasCopied, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
          const failpoint: MovingDeps['failpoint'] = async (name) => {
            if (name !== 'move_copied') return;
            hasCopied.resolve();
            await goOn.promise;
          };
          const step = moveOnce(await movingDeps({ failpoint }), id, now);
          await hasCopied.promise;
          return () => {
            goOn.resolve();
            return step;
          };
        };
        const steps = [await copied(removed), await copied(one)] as const;
        const remove = () => codeOf(removeMedia(deps, club.id, removed, now, { force: true }));
        const replace = () => codeOf(replaceMedia(deps, reader, one, { with: other }, now));
        const lock = sql`SELECT 1 FROM media WHERE club_id = ${club.id} ORDER BY id FOR UPDATE`;
        if (movedFirst) {
          const outcomes = await inThisOrder(lock, ...steps, remove, replace);
          expect(outcomes[0]).to.include({ done: true }); // `gone` if the removal commits before the step reads the row, otherwise `public`
          expect(outcomes.slice(1)).to.deep.equal([{ done: true, outcome: 'public' }, 'done', 'media_mismatch']);
        } else {
          const outcomes = await inThisOrder(lock, remove, replace, ...steps);
          expect(outcomes).to.deep.equal([
            'done',
            'done',
            { done: true, outcome: 'gone' },
            { done: false, at: now.getTime() },
          ]);
          expect(await movedFile(one)).to.deep.equal({ done: true, outcome: 'public' });
        }
        expect(await wordsOf(one)).to.equal(movedFirst ? 'Old.' : 'New.');
        expect(await orphansOf(club)).to.deep.equal([]);
        await eraseLeftovers(deps, later(61 * minute));
        const { public: publicKeys, private: privateKeys } = await objectsOf(club);
        expect([publicKeys.length, privateKeys.length]).to.deep.equal([1, 1]);
      });
  });

  describe('upkeep of leftovers', () => {
    it('repeats an erasure if the store refused it, or if a crash came before its record', async () => {
      const id = await published(await file());
      const [key] = (await objectsOf(club)).private;
      const at = later(61 * minute);
      const away = await mediaDeps(() => ({ remove: () => Promise.reject(new Error('Store is unavailable')) }));
      const mine = async (round: Promise<unknown>) => {
        await round;
        return (await leftovers()).map(({ key: left, erasesAt }) => [left, Number(erasesAt) - at.getTime()]);
      };
      expect(await mine(eraseLeftovers(away, at))).to.deep.equal([[key, 5 * minute]]);
      // A worker crashed after the erasure. The row remains, so the object is erased again.
      await (await mediaDeps()).storage.remove(key ?? '');
      expect(await mine(eraseLeftovers(await mediaDeps(), new Date(at.getTime() + 5 * minute)))).to.deep.equal([]);
      expect(await wordsOf(id)).to.equal('How to tie it.');
    });
  });
});
