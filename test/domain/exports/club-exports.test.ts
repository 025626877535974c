/** Tests the steps of exports of clubs: repetition, cancelation, erasure, removed students and memory (EXP-11, EXP-15, EXP-16). */
import { expect } from 'chai';
import { removeStudent } from '../../../domain/students/students.ts';
import { recordTypes } from '../../../domain/exports/clubs/record-types.ts';
import { retainExports } from '../../../domain/exports/clubs/retention.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { buildManyStudents } from '../../toolkit/builders/many-students.ts';
import { clock } from '../../toolkit/drive/api.ts';
import { callsOf } from '../../toolkit/drive/club-calls.ts';
import {
  beginClubExport,
  clubExportDeps,
  exportClub,
  readArchiveOf,
  readClubExport,
  runClubExport,
  stepExport,
} from '../../toolkit/drive/club-exports.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { testBucket } from '../../toolkit/stack/storage.ts';

const hour = 3_600_000;
const day = 24 * hour;

const objectsOf = async (club: TestClub) => (await testBucket()).objects(`exports/${club.id}/`);

/** Ends the lease of a worker that died. */
const expireLease = async (exportId: Id) =>
  (await testDatabase()).query(`UPDATE club_exports SET lease_until = NULL WHERE id = $1`, [exportId]);

const students = recordTypes.filter(({ name }) => name === 'Student');
const idsIn = (lines: readonly { record: object }[] = []) => lines.map(({ record }) => (record as { id: Id }).id);

describe('the steps of an export of a club', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  /** A step ends after one page. */
  const pageByPage = { types: students, beginStep: () => () => true };

  for (const failpoint of ['club_export_piece_stored', 'club_export_piece_recorded', 'club_export_archive_stored'])
    it(`exports each record once if the worker dies at ${failpoint}`, async () => {
      const ids = await buildManyStudents(club.id, 250);
      const exportId = await beginClubExport(club);
      let deaths = 0;
      const deps = await clubExportDeps({
        ...pageByPage,
        async failpoint(name) {
          if (name === failpoint && deps.storage && ++deaths % 2 === 1) throw new Error('The worker died.');
        },
      });
      for (let isOver = false; !isOver;) {
        const next = await stepExport(exportId, deps).catch(() => undefined);
        await expireLease(exportId);
        isOver = next?.done === false && next.at !== undefined;
      }
      const { lines } = await readArchiveOf(club, exportId);
      expect(deaths).to.be.greaterThan(0);
      expect(idsIn(lines['Student']).toSorted()).to.deep.equal([...ids].toSorted());
    });

  it('leaves only the archive when it is ready', async () => {
    await buildStudent(club.id);
    await exportClub(club);
    expect((await objectsOf(club)).map((key) => key.replace(/^.*\/(\w+)-\d+/, '$1'))).to.deep.equal(['archive.zip']);
  });

  it('leaves nothing if it is canceled while a step runs', async () => {
    await buildStudent(club.id);
    const exportId = await beginClubExport(club);
    const deps = await clubExportDeps({
      ...pageByPage,
      async failpoint(name) {
        if (name === 'club_export_piece_stored') await callsOf(club)('DELETE', `/exports/${exportId}`);
      },
    });
    await stepExport(exportId, deps);
    await expireLease(exportId);
    await runClubExport(exportId);
    expect(await objectsOf(club)).to.deep.equal([]);
    expect((await readClubExport(club, exportId)).status).to.equal('expired');
  });

  it('erases the archive after 7 days, and looks once more an hour later', async () => {
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    const start = clock.now().getTime();
    const at = (ms: number) => runClubExport(exportId, undefined, new Date(start + ms));
    expect(await at(2 * hour)).to.include({ status: 'ready' });
    expect(await objectsOf(club)).to.have.lengthOf(1);
    expect(await at(7 * day + hour)).to.include({ done: false, status: 'expired' });
    expect(await objectsOf(club)).to.deep.equal([]);
    expect(await at(7 * day + 3 * hour)).to.deep.equal({ done: true, outcome: 'expired' });
  });

  it('fails after 24 hours, and leaves nothing', async () => {
    await buildStudent(club.id);
    const exportId = await beginClubExport(club);
    await stepExport(exportId, await clubExportDeps(pageByPage));
    expect(await objectsOf(club)).not.to.deep.equal([]);
    await runClubExport(exportId, undefined, new Date(clock.now().getTime() + day + hour));
    expect(await objectsOf(club)).to.deep.equal([]);
    expect((await readClubExport(club, exportId)).status).to.equal('failed');
  });

  it('begins again without a student who is removed while it runs', async () => {
    const [first = '', ...others] = await buildManyStudents(club.id, 150);
    const exportId = await beginClubExport(club);
    const deps = await clubExportDeps(pageByPage);
    await stepExport(exportId, deps);
    await removeStudent(await testDeps(), club.id, first, clock.now());
    await runClubExport(exportId, deps);
    const { lines } = await readArchiveOf(club, exportId);
    expect(idsIn(lines['Student']).toSorted()).to.deep.equal(others.toSorted());
    expect(await objectsOf(club)).to.have.lengthOf(1);
  });

  it('erases a ready archive when a student is removed', async () => {
    const student = await buildStudent(club.id);
    const exportId = await beginClubExport(club);
    await runClubExport(exportId);
    await removeStudent(await testDeps(), club.id, student.id, clock.now());
    await runClubExport(exportId);
    expect(await objectsOf(club)).to.deep.equal([]);
    expect((await readClubExport(club, exportId)).status).to.equal('expired');
  });

  it('deletes the row 90 days after the request', async () => {
    const exportId = await beginClubExport(club);
    await callsOf(club)('DELETE', `/exports/${exportId}`);
    const start = clock.now().getTime();
    for (const ms of [0, 2 * hour]) await runClubExport(exportId, undefined, new Date(start + ms));
    const { db, storage } = await testDeps();
    const countAt = async (ms: number) => {
      await retainExports({ db, storage }, new Date(start + ms));
      return (await (await testDatabase()).query<unknown[]>(`SELECT FROM club_exports WHERE id = $1`, [exportId]))
        .length;
    };
    expect([await countAt(89 * day), await countAt(91 * day)]).to.deep.equal([1, 0]);
  });

  it('exports 10,000 students with bounded memory', async function () {
    this.timeout(120_000);
    await buildManyStudents(club.id, 10_000);
    const exportId = await beginClubExport(club);
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    let most = 0;
    const deps = await clubExportDeps({
      types: students,
      async failpoint() {
        const now = process.memoryUsage();
        most = Math.max(most, now.heapUsed + now.arrayBuffers - heapUsed - arrayBuffers);
      },
    });
    await runClubExport(exportId, deps);
    expect((await readClubExport(club, exportId)).progress.records).to.equal(10_000);
    expect(most).to.be.lessThan(100 * 1_024 * 1_024);
  });
});
