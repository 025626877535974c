/** Tests the command that erases again what a restore of Postgres brought back (ERS-25). */
import { expect } from 'chai';
import { eraseAllAgain, erasersOf, optionsOf } from '../../commands/erase-again.ts';
import { writeMarker } from '../../domain/erasures/markers.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { Erasure } from '../../entities/erasures/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { wakesOf } from '../toolkit/assert/wakes.ts';
import { buildAdministrator, buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, testConfig } from '../toolkit/drive/api.ts';
import { factsOf, rowCounts, testDeps } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';

/** No other test writes markers of this day. */
const day = new Date('2032-02-03T00:00:00Z');
const since = new Date('2032-02-03T09:41:00Z');

describe('the command erase-again', () => {
  let club: TestClub;
  let studentId: Id;
  beforeEach(async () => {
    club = await buildClub();
    studentId = (await buildStudent(club.id)).id;
  });
  afterEach('delete the markers', async () => (await testObjectStore()).removeUnder('erasures/2032-'));

  const run = async (options: { isDry?: boolean; erasers?: ReturnType<typeof erasersOf> } = {}) => {
    const lines: string[] = [];
    const { erasers, isDry = false } = options;
    const code = await eraseAllAgain(await testConfig(), { since, isDry }, (line) => lines.push(line), erasers);
    return { code, lines };
  };
  const mark = async (kind: 'student' | 'administrator' | 'club', subjectId: Id, clubId: Id | null, at = day) =>
    writeMarker(await testObjectStore(), { kind, subjectId, clubId }, at);
  const rowOf = async (subjectId: Id) => (await testDeps()).db.manager.findOneBy(Erasure, { subjectId });
  const isStudent = async (id: Id) => {
    const { db } = await testDeps();
    return (await db.one(sql`SELECT 1 FROM students WHERE id = ${id} AND removed_at IS NULL`)) !== undefined;
  };

  it('removes a student whom a restore brought back, tells receivers, and wakes the run', async () => {
    await mark('student', studentId, club.id);
    expect(await run()).to.deep.equal({ code: 0, lines: ['markers 1, alive 1, erased 1, clubs begun 0'] });
    expect(await isStudent(studentId)).to.equal(false);
    expect(await rowOf(studentId)).to.include({ kind: 'student', requestedBy: null, status: 'objects' });
    expect(await factsOf(club.id)).to.deep.include({ type: 'student.removed', studentId });
    const wakes = (await wakesOf(club.id)).map(({ workflowId }) => workflowId);
    expect(wakes).to.include(workflowIdOf('personErasure', studentId));
  });

  it('writes an entry of an operator to the audit log of the club', async () => {
    await mark('student', studentId, club.id);
    const operationId = newId();
    await run({ erasers: erasersOf(operationId) });
    const { body } = await call('GET', `/v1/clubs/${club.id}/audit-log`, { token: club.owner.token });
    expect(body.data[0]).to.deep.include({
      actor: { kind: 'operator', id: operationId },
      operation: 'erase-again',
      records: [{ kind: 'student', id: studentId }],
    });
  });

  it('changes nothing when it is repeated', async () => {
    await mark('student', studentId, club.id);
    await run();
    const before = await rowCounts();
    expect(await run()).to.deep.equal({ code: 0, lines: ['markers 1, alive 0, erased 0, clubs begun 0'] });
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('leaves students without a marker, and markers of earlier days', async () => {
    const other = (await buildStudent(club.id)).id;
    await mark('student', studentId, club.id, new Date('2032-02-02T23:59:59Z'));
    await mark('student', newId(), club.id);
    expect((await run()).lines).to.deep.equal(['markers 1, alive 0, erased 0, clubs begun 0']);
    expect([await isStudent(studentId), await isStudent(other)]).to.deep.equal([true, true]);
  });

  it('erases a student only in the club of the marker', async () => {
    await mark('student', studentId, (await buildClub()).id);
    expect((await run()).lines).to.deep.equal(['markers 1, alive 0, erased 0, clubs begun 0']);
    expect(await isStudent(studentId)).to.equal(true);
  });

  it('only lists with --dry-run', async () => {
    await mark('student', studentId, club.id);
    await mark('student', studentId, club.id, new Date('2032-02-04T00:00:00Z'));
    await mark('club', club.id, club.id);
    const before = await rowCounts();
    const { code, lines } = await run({ isDry: true });
    expect(code).to.equal(0);
    expect(lines).to.deep.equal([
      `club ${club.id} would be erased`,
      `student ${studentId} would be erased`,
      'markers 3, alive 2, erased 0, clubs begun 0',
    ]);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('begins the erasure of a club, also if an erasure of the club is planned', async () => {
    const planned = await buildClub();
    const { db } = await testDeps();
    const erasesAt = new Date('2032-02-20T00:00:00Z');
    await db.manager.insert(Erasure, {
      id: newId(),
      kind: 'club',
      subjectId: planned.id,
      clubId: planned.id,
      requestedBy: planned.owner.id,
      requestedAt: day,
      erasesAt,
      status: 'planned',
      looksAt: erasesAt,
    });
    for (const { id } of [club, planned]) await mark('club', id, id);
    expect((await run()).lines).to.deep.equal(['markers 2, alive 2, erased 0, clubs begun 2']);
    for (const { id } of [club, planned]) {
      const row = await rowOf(id);
      expect(row?.status).to.equal('closing');
      expect(row?.looksAt?.getTime()).to.be.within(Date.now() - 60_000, Date.now());
    }
    expect((await run()).lines).to.deep.equal(['markers 2, alive 0, erased 0, clubs begun 0']);
  });

  it('reports what could not be erased, erases the rest, and ends with code 1', async () => {
    const { id } = await buildAdministrator();
    await mark('administrator', id, null);
    await mark('student', studentId, club.id);
    const administrator = () => Promise.reject(new DomainError('forbidden', 'There is no other owner.'));
    const { code, lines } = await run({ erasers: { ...erasersOf(newId()), administrator } });
    expect(code).to.equal(1);
    expect(lines).to.deep.equal([
      `administrator ${id} could not be erased: forbidden (There is no other owner.)`,
      'markers 2, alive 2, erased 1, clubs begun 0, failed 1',
    ]);
  });

  it('knows an erased administrator, also when the row of the erasure is deleted before the marker', async () => {
    const { id } = await buildAdministrator();
    const { db } = await testDeps();
    await mark('administrator', id, null);
    expect((await run({ isDry: true })).lines.at(-1)).to.match(/^markers 1, alive 1/);
    await db.run(sql`UPDATE administrators SET email = NULL, password_hash = NULL, verified_at = NULL, has_second_factor = false,
                            removed_at = now() WHERE id = ${id}`);
    expect((await run({ isDry: true })).lines.at(-1)).to.match(/^markers 1, alive 0/);
  });

  it('counts a record as erased if another run erases it at the same time', async () => {
    await mark('student', studentId, club.id);
    const deps = await testDeps();
    const erasers = erasersOf(newId());
    const student: typeof erasers.student = async (commandDeps, erasure, now) => {
      await removeStudent(deps, club.id, studentId, now);
      await erasers.student(commandDeps, erasure, now);
    };
    expect(await run({ erasers: { ...erasers, student } })).to.deep.equal({
      code: 0,
      lines: ['markers 1, alive 1, erased 1, clubs begun 0'],
    });
  });

  it('names objects that are no markers, and continues', async () => {
    await (await testBucket()).store('erasures/2032-02-03/a-note', Buffer.alloc(0));
    await mark('student', studentId, club.id);
    expect((await run()).lines).to.deep.equal([
      'erasures/2032-02-03/a-note is no marker; it was skipped',
      'markers 1, alive 1, erased 1, clubs begun 0',
    ]);
  });

  it('reads its options, and refuses wrong ones', () => {
    const now = new Date('2032-03-01T00:00:00Z');
    expect(optionsOf(['--since', '2032-02-03T09:41:00Z'], now)).to.deep.equal({ since, isDry: false });
    expect(optionsOf(['--dry-run', '--since=2032-02-03T09:41:00Z'], now)).to.deep.equal({ since, isDry: true });
    const refused: readonly (readonly string[])[] = [
      [],
      ['--since'],
      ['2032-02-03'],
      ['--since', 'yesterday'],
      ['--since', '2032-04-01'],
      ['--since', '2032-02-03', '--all'],
    ];
    for (const args of refused) expect(() => optionsOf(args, now), args.join(' ')).to.throw(StartProblem);
  });
});
