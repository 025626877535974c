/** Tests that the counted storage of a club is exact, and never exceeds the plan's limit. */
import { expect } from 'chai';
import fc from 'fast-check';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import { eraseDue, purgeStudentFromMedia, removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import type { LibraryDeps } from '../../../../domain/media/media.ts';
import type { ReservationDeps } from '../../../../domain/media/uploads/reservation.ts';
import { replaceMedia } from '../../../../domain/media/library/replacing.ts';
import { reserveAgentImage, reserveMedia } from '../../../../domain/media/uploads/reservation.ts';
import { mediaRules } from '../../../../domain/media/media.policy.ts';
import {
  admitFile,
  reserveStorage,
  readStorageUsage,
  rollUpStorage,
} from '../../../../domain/media/storage/storage.ts';
import type { PlanName } from '../../../../entities/billing/values.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { overagesOf } from '../../../toolkit/assert/billing.ts';
import { storageCounts } from '../../../toolkit/assert/storage.ts';
import { buildAddOn, buildPlan } from '../../../toolkit/builders/billing.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { mediaDeps } from '../../../toolkit/drive/media.ts';
import { withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { rowCounts, testDatabase } from '../../../toolkit/stack/database.ts';

const now = new Date();
const hour = 3_600_000;
const megabyte = 1_000_000;
const included = (plan: PlanName) => plans[plan].allowances.storage_bytes.included;

const ending = <T>(work: Promise<T>): Promise<T | string> =>
  work.catch((error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error as Error)));

/** Accepts the erasure of every object, because these tests have no objects. */
const bucketless = (remove: (key: string) => Promise<void> = async () => {}): Promise<ReservationDeps & LibraryDeps> =>
  mediaDeps(() => ({ signPut: async () => ({ url: 'https://files.example.com', headers: {} }), remove }));

async function reserveFile(clubId: Id, sizeBytes: number, mime = 'application/pdf'): Promise<Id> {
  const announced = { fileName: 'knots.pdf', mime, sizeBytes };
  return (await reserveMedia(await bucketless(), clubId, announced, now)).data.id;
}

/** Locks the row, admits the file, and records the end, as a step does. */
async function settle(clubId: Id, id: Id, sizeBytes: number, at = now, further?: (tx: Transaction) => Promise<void>) {
  const { db } = await bucketless();
  return db.transaction(async (tx) => {
    const [open] = await tx.manager.query<object[]>(
      `SELECT 1 FROM media WHERE id = $1 AND status = 'uploading' AND removed_at IS NULL FOR UPDATE`,
      [id],
    );
    if (!open) return 'gone';
    const fits = await admitFile(tx, { id, clubId }, sizeBytes, at);
    await tx.manager.query(
      `UPDATE media SET status = $2, error = $3, erases_at = $4, size_bytes = $5::bigint, kind = CASE WHEN $5 % 2 = 1 THEN 'image' ELSE kind END WHERE id = $1`,
      [id, fits ? 'ready' : 'failed', fits ? null : 'storage_full', fits ? null : at, fits ? sizeBytes : null],
    );
    await further?.(tx);
    return fits ? 'ready' : 'storage_full';
  });
}

/** Without any file. */
async function buildStored(clubId: Id, bytes: number): Promise<void> {
  const source = await testDatabase();
  await source.query(`INSERT INTO club_storage (club_id, kind, bytes) VALUES ($1, 'document', $2)`, [clubId, bytes]);
}

describe('the storage of a club', function () {
  this.timeout(60_000);
  let clubId: Id;
  beforeEach(async () => {
    clubId = (await buildClub()).id;
  });
  const usage = async () => readStorageUsage((await mediaDeps()).db, clubId);

  describe('a reservation (MED-21)', () => {
    it('gets limit_reached after the last byte is reserved', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 100);
      await reserveFile(clubId, 99);
      const before = await rowCounts();
      expect(await ending(reserveFile(clubId, 2))).to.equal('limit_reached');
      expect(await rowCounts()).to.deep.equal(before);
      expect(await ending(reserveFile(clubId, 1))).to.not.equal('limit_reached');
      expect(await ending(reserveFile(clubId, 1))).to.equal('limit_reached');
    });

    it('of an unknown size needs free storage, and reserves nothing', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 1);
      const { db } = await bucketless();
      const hold = () => ending(db.transaction((tx) => reserveStorage(tx, clubId, 0, 'person')));
      expect([await hold(), await hold()]).to.deep.equal([undefined, undefined]);
      await reserveFile(clubId, 1);
      expect(await hold()).to.equal('limit_reached');
    });

    it('succeeds for 17 of fifty simultaneous calls if the storage has room for 17', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 17 * megabyte - 1);
      const endings = await Promise.all(Array.from({ length: 50 }, () => ending(reserveFile(clubId, megabyte))));
      expect(endings.filter((one) => one === 'limit_reached')).to.have.length(33);
      const source = await testDatabase();
      const [row] = await source.query<object[]>(
        `SELECT count(*)::int AS files, sum(held_bytes)::int AS held FROM media WHERE club_id = $1`,
        [clubId],
      );
      expect(row).to.deep.equal({ files: 17, held: 17 * megabyte });
    });

    it('mentions the plan in its refusal to an administrator, but not to a student (AUTH-10)', async () => {
      await buildPlan(clubId, 'trial');
      await buildStored(clubId, included('trial'));
      const student = await buildStudent(clubId);
      const messageOf = (work: Promise<unknown>) =>
        work.then(
          () => 'reserved',
          (error: Error) => error.message,
        );
      expect(await messageOf(reserveFile(clubId, 1))).to.equal("The plan's allowance of storage is used up.");
      const image = { fileName: 'knot.png', mime: 'image/png', sizeBytes: 1 };
      const owner = { clubId, studentId: student.id };
      expect(await messageOf(reserveAgentImage(await bucketless(), owner, image, now))).to.equal(
        'This club has no room for more files at the moment. Please contact the club.',
      );
    });

    it('can use the storage of an active add-on, but not of an unpaid add-on', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter'));
      await buildAddOn(clubId, { kind: 'storage', adds: megabyte });
      expect(await ending(reserveFile(clubId, 1))).to.equal('limit_reached');
      await buildAddOn(clubId, {
        kind: 'storage',
        adds: megabyte,
        status: 'active',
        payment_id: 'pi_1',
        settled_at: now,
      });
      expect(await ending(reserveFile(clubId, megabyte))).to.not.equal('limit_reached');
      expect((await usage()).limit_bytes).to.equal(included('starter') + megabyte);
    });

    it('cannot use bytes that an open transaction releases', async () => {
      await buildPlan(clubId, 'starter');
      const id = await reserveFile(clubId, 100);
      await buildStored(clubId, included('starter') - 100);
      await withOpenTransaction(
        (tx) => tx.manager.query(`UPDATE media SET removed_at = $2, address_bytes = NULL WHERE id = $1`, [id, now]),
        async () => {
          expect(await ending(reserveFile(clubId, 1))).to.equal('limit_reached');
        },
      );
      expect(await ending(reserveFile(clubId, 100))).to.not.equal('limit_reached');
    });
  });

  describe('after the removal of a file (MED-21)', () => {
    const minute = hour / 60;
    const eraseAt = async (minutes: number) => eraseDue(await bucketless(), new Date(now.getTime() + minutes * minute));
    const reserve = (bytes: number) => ending(reserveFile(clubId, bytes));
    beforeEach(async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 100);
    });

    it('stays in use until five minutes after the upload URL expires', async () => {
      await removeMedia(await bucketless(), clubId, await reserveFile(clubId, 60), now);
      expect(await reserve(41)).to.equal('limit_reached');
      await eraseAt(19.9);
      expect(await reserve(41)).to.equal('limit_reached');
      await eraseAt(20);
      expect(await reserve(100)).to.not.equal('limit_reached');
    });

    it('is counted only once if the bucket fails during the deletion', async () => {
      const id = await reserveFile(clubId, 60);
      const away = await bucketless(() => Promise.reject(new Error('The store is away.')));
      await removeMedia(away, clubId, id, now);
      expect(await reserve(41)).to.equal('limit_reached');
      expect(await reserve(40)).to.not.equal('limit_reached');
    });

    it('stays reserved after the file is erased', async () => {
      const [ready, failed] = [await reserveFile(clubId, 60), await reserveFile(clubId, 30)];
      expect(await settle(clubId, ready, 60)).to.equal('ready');
      expect(await settle(clubId, failed, 200)).to.equal('storage_full');
      await removeMedia(await bucketless(), clubId, ready, now);
      await eraseAt(0);
      expect(await usage()).to.include({ bytes: 0 }); // only the storage that was set without a file
      expect(await reserve(11)).to.equal('limit_reached');
      expect(await reserve(10)).to.not.equal('limit_reached');
    });

    it('has the size of the new content after an exchange (MED-18)', async () => {
      const [one, other] = [await reserveFile(clubId, 60), await reserveFile(clubId, 30)];
      for (const [id, bytes] of [
        [one, 60],
        [other, 30],
      ] as const)
        await settle(clubId, id, bytes);
      const deps = await bucketless();
      await replaceMedia(deps, { clubId, administratorId: newId() }, one, { with: other }, now);
      await removeMedia(deps, clubId, one, now); // with the content of 30 bytes
      expect(await usage()).to.include({ bytes: included('starter') - 100 + 60 });
      expect(await reserve(11)).to.equal('limit_reached');
      expect(await reserve(10)).to.not.equal('limit_reached');
    });

    it('still counts the file as one of 200 open uploads (too_many_uploads)', async () => {
      const { maxLibraryAddresses } = mediaRules;
      const source = await testDatabase();
      const id = await reserveFile(clubId, 1);
      await source.query(
        `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, mime, held_bytes, address_bytes, object_key, upload_expires_at, erases_at, created_at, updated_at)
         SELECT gen_random_uuid(), club_id, purpose, kind, title, provider, status, mime, 0, 0, object_key || n, upload_expires_at, erases_at, created_at, updated_at
           FROM media, generate_series(2, $2::int) n WHERE media.id = $1`,
        [id, maxLibraryAddresses],
      );
      expect(await reserve(1)).to.equal('too_many_uploads');
      await removeMedia(await bucketless(), clubId, id, now);
      expect(await reserve(1)).to.equal('too_many_uploads');
      const later = new Date(now.getTime() + 15 * minute);
      const file = { fileName: 'knots.pdf', mime: 'application/pdf', sizeBytes: 1 };
      expect(await ending(reserveMedia(await bucketless(), clubId, file, later))).to.be.an('object');
    });
  });

  describe('a completion (MED-21)', () => {
    it('records the measured size, which can be smaller than the reservation', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 100);
      expect(await settle(clubId, await reserveFile(clubId, 100), 60)).to.equal('ready');
      expect(await ending(reserveFile(clubId, 41))).to.equal('limit_reached');
      expect(await ending(reserveFile(clubId, 40))).to.not.equal('limit_reached');
    });

    it('fails with storage_full if a larger file has no room', async () => {
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter') - 100);
      const [small, large] = [await reserveFile(clubId, 10), await reserveFile(clubId, 40)];
      expect(await settle(clubId, large, 91)).to.equal('storage_full');
      expect(await settle(clubId, small, 60)).to.equal('ready');
      expect(await ending(reserveFile(clubId, 1))).to.equal('limit_reached');
    });

    it('admits a file that fits into its reservation, even if the plan has become smaller', async () => {
      const id = await reserveFile(clubId, 50);
      await buildPlan(clubId, 'starter');
      await buildStored(clubId, included('starter'));
      expect(await settle(clubId, id, 50)).to.equal('ready');
    });
  });

  describe('on a plan that bills overage (BILL-7)', () => {
    beforeEach(async () => {
      await buildPlan(clubId, 'business');
      await buildStored(clubId, included('business') - 100);
    });

    it('admits every file, and records the month’s highest excess', async () => {
      const [first, second] = [await reserveFile(clubId, 300), await reserveFile(clubId, 50)];
      expect(await overagesOf(clubId)).to.deep.equal([]);
      const march = new Date('2026-03-31T23:30:00Z');
      expect(await settle(clubId, first, 299, march)).to.equal('ready');
      expect(await overagesOf(clubId)).to.deep.equal(['storage_bytes 2026-03-01 199']);
      expect(await settle(clubId, second, 5_000, march)).to.equal('ready');
      expect(await overagesOf(clubId)).to.deep.equal(['storage_bytes 2026-03-01 5199']);
    });

    it('records the total size of files whose sizes become known at the same time', async () => {
      const ids = await Promise.all(Array.from({ length: 10 }, () => reserveFile(clubId, 20)));
      await Promise.all(ids.map((id) => settle(clubId, id, 20)));
      expect(await overagesOf(clubId)).to.deep.equal([`storage_bytes ${now.toISOString().slice(0, 7)}-01 100`]);
    });
  });

  describe('the counted bytes (MED-20)', () => {
    it('include originals until the bucket has erased them', async () => {
      const student = await buildStudent(clubId);
      const file = await buildMedia(clubId, { bytes: null, sizeBytes: 70 });
      await buildMedia(clubId, { bytes: null, sizeBytes: 5, studentId: student.id });
      await buildMedia(clubId); // a file without an object, such as a reference to content outside the bucket
      const both = [
        { kind: 'image', bytes: 5, files: 1 },
        { kind: 'document', bytes: 70, files: 1 },
      ];
      expect(await usage()).to.deep.equal({
        bytes: 75,
        files: 2,
        by_kind: both,
        limit_bytes: included('professional'),
      });
      const away = await bucketless(() => Promise.reject(new Error('The store is away.')));
      await removeMedia(away, clubId, file.id, now);
      expect((await usage()).by_kind).to.deep.equal(both);
      await eraseDue(await bucketless(), now);
      expect((await usage()).by_kind).to.deep.equal([both[0]]);
    });

    it('are released when the bucket has erased the file', async () => {
      const id = await reserveFile(clubId, 20);
      await settle(clubId, id, 20);
      expect(await usage()).to.include({ bytes: 20, files: 1 });
      await removeMedia(await bucketless(), clubId, id, now);
      expect(await usage()).to.include({ bytes: 0, files: 0 });
      const source = await testDatabase();
      const [row] = await source.query<object[]>(`SELECT object_key IS NOT NULL AS kept FROM media WHERE id = $1`, [
        id,
      ]);
      expect(row).to.deep.equal({ kept: true });
    });
  });

  it('does not change when maintenance adds up its changes', async () => {
    for (const sizeBytes of [3, 4, 5]) await buildMedia(clubId, { bytes: null, sizeBytes });
    const before = await usage();
    while ((await rollUpStorage((await mediaDeps()).db)).more);
    const source = await testDatabase();
    const remainingChanges = await source.query<object[]>(`SELECT 1 FROM club_storage_changes`);
    expect([remainingChanges, await usage()]).to.deep.equal([[], before]);
    expect(before).to.include({ bytes: 12, files: 3 });
  });

  it('equals the sum of files and open reservations after any actions', async () => {
    await fc.assert(
      fc.asyncProperty(happenings, async (rounds) => {
        const world = await buildWorld();
        for (const round of rounds) {
          await Promise.all(round.map(async ([act, pick, size]) => acts[act]?.(world, pick, size)));
          const { counted, there } = await storageCounts(world.clubId);
          expect(counted, JSON.stringify(round)).to.deep.equal(there);
          expect(counted.filter((text) => text.includes('-'))).to.deep.equal([]);
        }
      }),
      { numRuns: 40 },
    );
  });
});

interface World {
  clubId: Id;
  studentIds: Id[];
  mediaIds: Id[];
}

async function buildWorld(): Promise<World> {
  const { id: clubId } = await buildClub();
  await buildPlan(clubId, 'trial');
  await buildStored(clubId, 0);
  return { clubId, studentIds: [(await buildStudent(clubId)).id, (await buildStudent(clubId)).id], mediaIds: [] };
}

const died = new Error('The process died.');
const dying = (work: Promise<unknown>) =>
  work.catch((error: unknown) => {
    if (error !== died) throw error;
  });
const picked = <T>(of: readonly T[], pick: number): T | undefined => of[pick % Math.max(1, of.length)];

/** `pick` chooses the file or the student. `size` is in megabytes. */
const acts: Record<string, (world: World, pick: number, size: number) => Promise<unknown>> = {
  async reserve(world, pick, size) {
    const mime = pick % 2 === 0 ? 'application/pdf' : 'image/png';
    const id = await ending(reserveFile(world.clubId, Math.min(size, 20) * megabyte, mime));
    if (id !== 'limit_reached') world.mediaIds.push(id);
  },
  async 'reserve an image'({ clubId, studentIds, mediaIds }, pick, size) {
    const studentId = picked(studentIds, pick) ?? '';
    const announced = { fileName: 'a.png', mime: 'image/png', sizeBytes: size * 1_000 };
    const answer = await ending(reserveAgentImage(await bucketless(), { clubId, studentId }, announced, now));
    if (typeof answer !== 'string') mediaIds.push(answer.data.id);
  },
  async complete({ clubId, mediaIds }, pick, size) {
    const id = picked(mediaIds, pick);
    if (id !== undefined) await settle(clubId, id, size * megabyte + (pick % 2));
  },
  async 'complete a file that is too large'({ clubId, mediaIds }, pick) {
    const id = picked(mediaIds, pick);
    if (id !== undefined) await settle(clubId, id, 2 * included('trial'));
  },
  async 'die before the commit of a completion'({ clubId, mediaIds }, pick, size) {
    const id = picked(mediaIds, pick);
    if (id !== undefined) await dying(settle(clubId, id, size * megabyte, now, () => Promise.reject(died)));
  },
  async delete({ clubId, mediaIds }, pick) {
    const id = picked(mediaIds, pick);
    if (id !== undefined) await ending(removeMedia(await bucketless(), clubId, id, now));
  },
  async 'delete while the bucket is away'({ clubId, mediaIds }, pick) {
    const id = picked(mediaIds, pick);
    if (id !== undefined) await ending(removeMedia(await bucketless(() => Promise.reject(died)), clubId, id, now));
  },
  async replace({ clubId, mediaIds }, pick) {
    const { db } = await bucketless();
    await db.transaction((tx) =>
      tx.manager.query(
        `WITH pair AS (SELECT id, size_bytes, object_key, address_bytes, lead(id) OVER w AS other FROM media
                      WHERE club_id = $1 AND status = 'ready' AND removed_at IS NULL AND id = ANY ($2) WINDOW w AS (PARTITION BY kind ORDER BY id) LIMIT 2)
       UPDATE media SET size_bytes = given.size_bytes, object_key = given.object_key, address_bytes = given.address_bytes FROM pair, media given
        WHERE pair.other IS NOT NULL AND (media.id, given.id) IN ((pair.id, pair.other), (pair.other, pair.id))`,
        [clubId, [picked(mediaIds, pick), picked(mediaIds, pick + 1)].filter((id) => id !== undefined)],
      ),
    );
  },
  async expire() {
    await eraseDue(await bucketless(), new Date(now.getTime() + 2 * hour));
  },
  async 'expire while the bucket is away'() {
    await eraseDue(await bucketless(() => Promise.reject(died)), new Date(now.getTime() + 2 * hour));
  },
  async 'the addresses have expired'() {
    await eraseDue(await bucketless(), new Date(now.getTime() + hour / 3));
  },
  async 'a day later'() {
    await eraseDue(await bucketless(), new Date(now.getTime() + 26 * hour));
  },
  async 'remove a student'({ studentIds }, pick) {
    const { db } = await bucketless();
    const studentId = picked(studentIds, pick) ?? '';
    await db.transaction((tx) => purgeStudentFromMedia(tx, studentId, now));
  },
  async 'delete a row'({ mediaIds }, pick) {
    await (await testDatabase()).query(`DELETE FROM media WHERE id = $1`, [picked(mediaIds, pick)]);
  },
  async 'roll up'() {
    await rollUpStorage((await bucketless()).db);
  },
};

const happenings = fc.array(
  fc.array(fc.tuple(fc.constantFrom(...Object.keys(acts)), fc.nat(20), fc.integer({ min: 1, max: 300 })), {
    minLength: 1,
    maxLength: 6,
  }),
  { minLength: 2, maxLength: 6 },
);
