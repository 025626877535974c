/** Uploads as they are completed: one inspection of each, whoever calls and whatever dies. */
import { expect } from 'chai';
import { availableParallelism } from 'node:os';
import { completeMedia, inspectLeft } from '../../../domain/media/completion.ts';
import { inPlace } from '../../../domain/media/inspection.ts';
import type { MediaDeps } from '../../../domain/media/media.ts';
import { inspectionPlaces, inspectionRules } from '../../../domain/media/media.policy.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { archiveOfManyEntries, jpegOfManySegments, png } from '../../toolkit/builders/pictures.ts';
import { completed, eraseAll, mediaState, uploadBytes } from '../../toolkit/drive/erasure.ts';
import { mediaDeps, reserve, type TestFile } from '../../toolkit/drive/media.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

const minute = 60_000;
const image: TestFile = { fileName: 'knot.png', mime: 'image/png', bytes: png() };

describe('the completion of an upload (DEC-54)', function () {
  this.timeout(30_000);
  let club: TestClub;
  let student: TestStudent;
  let owner: { clubId: string; studentId: string };
  beforeEach(async () => {
    club = await buildClub();
    student = await buildStudent(club.id);
    owner = { clubId: club.id, studentId: student.id };
  });

  const upload = async (file: TestFile = image) => (await uploadBytes({ club, student }, file)).media.id;
  const left = async (): Promise<number> => (await inspectLeft(await mediaDeps(), new Date())).inspected;
  const claimRow = async (id: string) => {
    const source = await testDatabase();
    const [row] = await source.query<object[]>(
      `SELECT fence, interruptions, lease_until IS NOT NULL AS leased FROM media WHERE id = $1`,
      [id],
    );
    return row;
  };
  /** A process that dies while it inspects gives nothing back; its lease runs out. */
  async function dieWhileInspecting(id: string): Promise<void> {
    class LastWords extends Database {
      override run(): Promise<never> {
        return Promise.reject(new Error('The process died.'));
      }
    }
    const { db, ...deps } = await mediaDeps(() => ({
      read: () => Promise.reject(new Error('The process died.')),
    }));
    const dying = { ...deps, db: new LastWords(db.source, db.notifier) };
    expect(await completed(owner, id, { deps: dying })).to.equal('The process died.');
    await db.source.query(`UPDATE media SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [id]);
  }
  /** Begins an inspection that lasts until the test ends. */
  async function inspectWhileTested(id: string, now = new Date()): Promise<void> {
    const reading = Promise.withResolvers<void>();
    const deps = await mediaDeps(() => ({
      read: () => {
        reading.resolve();
        return testEnds.promise;
      },
    }));
    inspections.push(completeMedia(deps, owner, id, now).catch(() => {}));
    await reading.promise;
  }
  let testEnds = Promise.withResolvers<never>();
  let inspections: Promise<unknown>[] = [];
  afterEach(async () => {
    testEnds.promise.catch(() => {});
    testEnds.reject(new Error('The test has ended.'));
    await Promise.all(inspections);
    testEnds = Promise.withResolvers<never>();
    inspections = [];
  });

  it('of ten calls at once one inspects, and the others answer processing, whatever the file is', async () => {
    const hostile: Record<string, Buffer> = {
      'an archive of many entries': archiveOfManyEntries(),
      'a JPEG of many segments': jpegOfManySegments(),
      'a cut PNG': png(900, 900, { extra: 9_000 }).subarray(0, -20),
    };
    const outcomes: Record<string, unknown> = {};
    for (const [name, bytes] of Object.entries(hostile)) {
      const id = await upload({ ...image, bytes });
      const beginnings: number[] = [];
      const othersAnswered = Promise.withResolvers<void>();
      const deps = await mediaDeps((storage) => ({
        async read(key, offset, length) {
          beginnings.push(offset);
          await othersAnswered.promise;
          return storage.read(key, offset, length);
        },
      }));
      const answers: string[] = [];
      const calls = Array.from({ length: 10 }, async () => answers.push(await completed(owner, id, { deps })));
      await until('nine answers', { timeoutMs: 10_000 }, async () => answers.length === 9 && beginnings.length > 0);
      expect(beginnings, 'reads while they answered').to.deep.equal([0]);
      othersAnswered.resolve();
      await Promise.all(calls);
      outcomes[name] = [new Set(answers.slice(0, 9)), answers[9], await claimRow(id)];
    }
    const inspectedOnce = { fence: 1, interruptions: 0, leased: false };
    expect(outcomes).to.deep.equal({
      'an archive of many entries': [new Set(['processing']), 'failed content_not_allowed', inspectedOnce],
      'a JPEG of many segments': [new Set(['processing']), 'failed image_broken', inspectedOnce],
      'a cut PNG': [new Set(['processing']), 'failed image_broken', inspectedOnce],
    });
  });

  it('by a process that died is taken up by the next call once the lease has run out, and not before', async () => {
    const id = await upload();
    const source = await testDatabase();
    await dieWhileInspecting(id);
    await source.query(`UPDATE media SET lease_until = clock_timestamp() + interval '1 minute' WHERE id = $1`, [id]);
    expect([await completed(owner, id), await left()]).to.deep.equal(['processing', 0]);
    await source.query(`UPDATE media SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [id]);
    expect(await completed(owner, id)).to.equal('ready');
    expect(await claimRow(id)).to.deep.equal({ fence: 2, interruptions: 1, leased: false });
  });

  it('by a process that died is taken up by upkeep, where nobody calls again', async () => {
    const id = await upload();
    await dieWhileInspecting(id);
    expect(await left()).to.equal(1);
    expect(await mediaState(id)).to.equal('ready key due');
  });

  it('fails a file that three processes have died of, without a fourth look', async () => {
    const id = await upload();
    for (let died = 0; died < inspectionRules.maxInterruptions; died++) await dieWhileInspecting(id);
    await dieWhileInspecting(id);
    const unread = await mediaDeps(() => ({ read: () => Promise.reject(new Error('It was read.')) }));
    expect(await completed(owner, id, { deps: unread })).to.equal('failed inspection_failed');
  });

  it('that began in time does not expire while it waits for upkeep', async () => {
    const id = await upload();
    await inspectWhileTested(id, new Date(Date.now() + 74 * minute));
    await eraseAll(new Date(Date.now() + 76 * minute));
    expect(await mediaState(id)).to.equal('processing key due');
  });

  it('is left to upkeep where too many wait for a place', async () => {
    const id = await upload();
    const release = Promise.withResolvers<void>();
    const places = Array.from({ length: inspectionPlaces(availableParallelism()) + inspectionRules.maxWaiting }, () =>
      inPlace(() => release.promise),
    );
    expect(await completed(owner, id)).to.equal('processing');
    expect(await claimRow(id)).to.deep.equal({ fence: 0, interruptions: 0, leased: false });
    release.resolve();
    await Promise.all(places);
    expect(await left()).to.equal(1);
    expect(await mediaState(id)).to.equal('ready key due');
  });

  describe('charges the club', () => {
    /** Completes the image. @returns what it became, and how often the club was charged */
    async function charged(id: string, charge: () => Promise<void> = async () => {}, deps?: MediaDeps) {
      let charges = 0;
      const outcome = await completeMedia(deps ?? (await mediaDeps()), owner, id, new Date(), async () => {
        charges += 1;
        await charge();
      }).then(
        ({ status }) => status as string,
        (error: Error & { code?: string }) => error.code ?? error.message,
      );
      return `${outcome}, charged ${charges}`;
    }

    it('once, for the call that inspects', async () => {
      const id = await upload();
      expect(await charged(id)).to.equal('ready, charged 1');
      expect(await charged(id)).to.equal('ready, charged 0');
    });

    it('never for what changes nothing: an unknown image, none that has arrived, one that is inspected', async () => {
      expect(await charged(newId())).to.equal('not_found, charged 0');
      const { media } = await reserve({ club, student }, image);
      expect(await charged(media.id)).to.equal('upload_missing, charged 0');
      const id = await upload();
      await inspectWhileTested(id);
      expect(await charged(id)).to.equal('processing, charged 0');
    });

    it('and leaves the upload as it was where the club has spent its limit', async () => {
      const id = await upload();
      const spent = () => Promise.reject(new DomainError('rate_limited', 'Later.', { retryAfterSeconds: 60 }));
      expect(await charged(id, spent)).to.equal('rate_limited, charged 1');
      expect(await mediaState(id)).to.equal('uploading key due');
      expect(await completed(owner, id)).to.equal('ready');
    });
  });
});
