/** Tests students who are removed while an import is open. */
import { expect } from 'chai';
import { removeStudent, updateStudent } from '../../../../domain/students/students.ts';
import type { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { studentsOf } from '../../../toolkit/assert/students.ts';
import { buildClub, buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { callsOf } from '../../../toolkit/drive/club-calls.ts';
import { columnsHolding, depsOn, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import {
  importFile,
  importDeps,
  readImport,
  runImport,
  shortReport,
  step,
  storedOf,
  upload,
} from '../../../toolkit/drive/imports.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { databaseOf, recordingEnds } from '../../../toolkit/fakes/databases.ts';

const header = 'email,name\n';
const person = { name: 'Quirina Holloway', email: 'quirina.holloway@example.com' };
const row = `${person.email},${person.name}\n`;
const others = (count: number) => Array.from({ length: count }, (_, at) => `s${at}@example.com,S\n`).join('');

describe('an open import of students', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const begin = async (file: string, query = ''): Promise<string> => (await upload(club, file, query)).body.data.id;
  const remove = async (studentId: string) => removeStudent(await testDeps(), club.id, studentId, new Date());
  const emails = async () => (await studentsOf(club)).map(({ email }) => email);

  async function expectNothingLeft(): Promise<void> {
    for (const text of [person.name, person.email]) expect(await columnsHolding(text), text).to.deep.equal([]);
    expect(await storedOf(club)).to.deep.equal([]);
    const source = await testDatabase();
    const notes = await source.query<unknown[]>(
      `SELECT 1 FROM student_import_addresses noted JOIN student_imports import ON import.id = noted.import_id WHERE club_id = $1`,
      [club.id],
    );
    expect(notes).to.deep.equal([]);
  }

  describe('when a student is removed', () => {
    for (const status of ['uploading', 'pending']) {
      it(`fails the rows of a student who was removed while the import was ${status}`, async () => {
        const student = await buildStudent(club.id, person);
        const importId = await begin(
          `${header}a@example.com,A\n${row.toUpperCase()}b@example.com,B\n${row}`,
          'invite=true',
        );
        const source = await testDatabase();
        await source.query(`UPDATE student_imports SET status = $2 WHERE id = $1`, [importId, status]);
        await remove(student.id);
        await source.query(`UPDATE student_imports SET status = 'pending' WHERE id = $1`, [importId]);
        await runImport(importId);
        expect(await shortReport(club, importId)).to.deep.equal([
          '2 created',
          '3 failed student_removed',
          '4 created',
          '5 failed student_removed',
        ]);
        expect(await readImport(club, importId)).to.include({
          status: 'completed',
          created: 2,
          existing: 0,
          failed: 2,
        });
        expect(await emails()).to.deep.equal(['a@example.com', 'b@example.com']);
        await expectNothingLeft();
      });
    }

    it('fails a later row of a student whom it created before the removal', async () => {
      const importId = await begin(`${header}${row}${others(600)}${row}`);
      await step(importId);
      const { body } = await callsOf(club)('GET', `/students?q=${person.email}`);
      await remove(body.data[0].id);
      await runImport(importId);
      expect(await readImport(club, importId)).to.include({ status: 'completed', created: 601, failed: 1 });
      expect((await shortReport(club, importId)).at(-1)).to.equal('603 failed student_removed');
      expect(await emails()).to.have.length(600);
      await expectNothingLeft();
    });

    for (const [when, rows] of [
      ['before the import read the row', ''],
      ['after the import read the row', others(600)],
    ] as const)
      it(`leaves no trace of the student if the student was removed ${when} (DEC-57)`, async () => {
        const student = await buildStudent(club.id, person);
        const file = `email,name,${person.name}\n${`${row}${rows}`.replaceAll('\n', ',x\n')}`;
        const importId = await begin(file, `file_name=${encodeURIComponent(`${person.name}.csv`)}`);
        if (rows !== '') await step(importId);
        await remove(student.id);
        expect(await readImport(club, importId)).to.deep.include({ file_name: `${person.name}.csv` });
        await runImport(importId);
        const ended = await readImport(club, importId);
        expect(ended).to.deep.include({ status: 'completed', ignored_columns: [] });
        expect(ended).not.to.have.property('file_name');
        await expectNothingLeft();
      });

    for (const [when, isRemovedFirst] of [
      ['before the import was canceled', true],
      ['after the import was canceled', false],
    ] as const)
      it(`leaves no trace of the student if the student was removed ${when} (DEC-57)`, async () => {
        const student = await buildStudent(club.id, person);
        const file = `email,name,${person.name}\n${row.replaceAll('\n', ',x\n')}`;
        const importId = await begin(file, `file_name=${encodeURIComponent(`${person.name}.csv`)}`);
        if (isRemovedFirst) await remove(student.id);
        await callsOf(club)('POST', `/student-imports/${importId}/cancel`);
        await runImport(importId);
        if (!isRemovedFirst) await remove(student.id);
        expect(await readImport(club, importId)).to.include({ status: 'canceled' });
        await expectNothingLeft();
      });

    it('imports neither the old nor the new address of a removed student', async () => {
      const student = await buildStudent(club.id, { ...person, email: 'former@example.com' });
      const importId = await begin(`${header}${row}former@example.com,${person.name}\n`);
      await updateStudent(await testDeps(), club.id, student.id, { email: person.email }, 'owner', new Date());
      await remove(student.id);
      await runImport(importId);
      expect(await shortReport(club, importId)).to.deep.equal(['2 failed student_removed', '3 failed student_removed']);
      expect(await emails()).to.deep.equal([]);
      await expectNothingLeft();
    });

    it('imports both the old and the new address of a student who was not removed', async () => {
      const student = await buildStudent(club.id, { email: 'former@example.com' });
      const importId = await begin(`${header}now@example.com,N\nformer@example.com,Somebody Else\n`);
      await updateStudent(await testDeps(), club.id, student.id, { email: 'now@example.com' }, 'owner', new Date());
      await runImport(importId);
      expect(await shortReport(club, importId)).to.deep.equal(['2 existing', '3 created']);
    });

    it('makes the removal wait for the batch, and the removal then deletes the new access', async () => {
      const student = await buildStudent(club.id, person);
      const importId = await begin(`${header}${row}new@example.com,N\n`);
      let removal: Promise<void> = Promise.resolve();
      const deps = await importDeps(() => ({
        failpoint: async (name) => {
          if (name !== 'batch_written') return;
          removal = remove(student.id);
          await untilWaitingForLocks(1);
        },
      }));
      await runImport(importId, deps);
      await removal;
      expect(await shortReport(club, importId)).to.deep.equal(['2 existing', '3 created']);
      expect(await emails()).to.deep.equal(['new@example.com']);
      for (const text of [person.name, person.email]) expect(await columnsHolding(text), text).to.deep.equal([]);
    });

    for (const [what, more] of [
      ['the row is alone in its batch', ''],
      ['the row is beside the row of a new student', 'new@example.com,N\n'],
    ] as const) {
      it(`restarts a batch that waited for the removal, and fails the student’s row (${what})`, async () => {
        const student = await buildStudent(club.id, person);
        const importId = await begin(`${header}${row}${more}`);
        const usual = await testDeps();
        const db = recordingEnds(usual.db);
        const deps = await importDeps(() => ({ db }));
        let running: Promise<unknown> = Promise.resolve();
        let removing: Transaction | undefined;
        await withOpenTransaction(
          async (tx) => {
            removing = tx;
            await tx.manager.query(`SELECT FROM students WHERE id = $1 FOR NO KEY UPDATE`, [student.id]);
          },
          async () => {
            running = runImport(importId, deps);
            await untilWaitingForLocks(1);
            if (removing) await removeStudent(depsOn(databaseOf(removing)), club.id, student.id, new Date());
          },
        );
        await running;
        expect((await shortReport(club, importId))[0]).to.equal('2 failed student_removed');
        expect(await emails()).to.deep.equal(more === '' ? [] : ['new@example.com']);
        expect(db.ends).to.deep.equal([]);
        await expectNothingLeft();
      });
    }

    it('does not create the student again, even if two imports contain the student', async () => {
      for (let round = 0; round < 5; round++) {
        club = await buildClub();
        const leaving = await Promise.all(
          Array.from({ length: 6 }, (_, at) => buildStudent(club.id, { email: `leaving-${at}@example.com` })),
        );
        const file = header + leaving.map(({ email }) => `${email},L\n`).join('') + others(20);
        const ids = await Promise.all([begin(file), begin(file)]);
        await Promise.all([...ids.map((id) => runImport(id)), ...leaving.map(({ id }) => remove(id))]);
        expect(
          (await emails()).filter((email) => email.startsWith('leaving')),
          `round ${round}`,
        ).to.deep.equal([]);
        expect(await emails(), `round ${round}`).to.have.length(20);
      }
    });

    it('lets a later import or another club create the student again', async () => {
      const student = await buildStudent(club.id, person);
      const other = await buildClub();
      const elsewhere = (await upload(other, header + row)).body.data.id;
      await remove(student.id);
      await runImport(elsewhere);
      expect(await readImport(other, elsewhere)).to.include({ created: 1, failed: 0 });
      expect(await importFile(club, header + row)).to.include({ created: 1, failed: 0 });
    });
  });
});
