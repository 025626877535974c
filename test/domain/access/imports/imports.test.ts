/** Tests imports when workers die, steps are repeated, or other changes run at the same time. */
import type { ImportDeps } from '../../../../domain/access/imports/step.ts';
import { importRules } from '../../../../domain/access/imports/imports.policy.ts';
import { rescueOverdue } from '../../../../platform/engine/sweeper.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { studentsOf } from '../../../toolkit/assert/students.ts';
import { buildAccessDelivery, buildEnrollment } from '../../../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../../../toolkit/builders/courses.ts';
import { call, clock, expectError } from '../../../toolkit/drive/api.ts';
import {
  importFile,
  importDeps,
  readImport,
  reportOf,
  runImport,
  shortReport,
  step,
  storedOf,
  upload,
} from '../../../toolkit/drive/imports.ts';
import { columnsHolding, factsOf, depsOn, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { countingStatements } from '../../../toolkit/fakes/databases.ts';
import { expect } from 'chai';
import fc from 'fast-check';

const header = 'email,name\n';
const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => `s${from + at}@example.com,S ${from + at}\n`).join('');

describe('an import of students', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const begin = async (file: string, query = ''): Promise<string> => (await upload(club, file, query)).body.data.id;

  async function outcome() {
    const facts = (await factsOf(club.id)).map(({ type, studentId }) => `${type} ${studentId}`);
    return { students: await studentsOf(club), facts: facts.length, distinctFacts: new Set(facts).size };
  }

  describe('when the worker dies', () => {
    for (const place of ['batch_read', 'batch_written', 'batch_recorded']) {
      it(`imports each row once if the worker dies at ${place} in every batch`, async () => {
        const { id: deliveryId } = await buildAccessDelivery(club.id);
        const importId = await begin(header + people(1_200), `delivery_ids=${deliveryId}`);
        let deaths = 0;
        const dying = await importDeps(() => ({
          failpoint: async (name) => {
            if (name !== place) return;
            deaths += 1;
            throw new Error('The worker died');
          },
        }));
        for (let batch = 0; batch < 3; batch++) {
          const before = await readImport(club, importId);
          await step(importId, dying).catch(() => {});
          const after = await readImport(club, importId);
          if (place === 'batch_recorded') expect(after.rows_done).to.equal(Math.min(1_200, before.rows_done + 500));
          else {
            expect(after).to.deep.equal(before);
            await step(importId);
          }
        }
        expect(deaths).to.equal(3);
        await runImport(importId);
        expect(await readImport(club, importId)).to.include({
          status: 'completed',
          created: 1_200,
          existing: 0,
          failed: 0,
        });
        const { students, facts, distinctFacts } = await outcome();
        expect([students.length, facts, distinctFacts]).to.deep.equal([1_200, 2_400, 2_400]);
        expect(await reportOf(club, importId)).to.have.length(1_200);
        expect(await storedOf(club)).to.deep.equal([]);
      });
    }

    it('removes the file in the next step if the worker died after the last batch', async () => {
      const importId = await begin(header + people(3));
      await step(importId);
      expect(await readImport(club, importId)).to.include({ status: 'completed' });
      expect(await storedOf(club)).to.have.length(1);
      expect(await step(importId)).to.deep.equal({ done: true, outcome: 'completed' });
      expect(await storedOf(club)).to.deep.equal([]);
    });

    it('is woken only after it has made no progress for the allowed time', async () => {
      const importId = await begin(header + people(600));
      await step(importId);
      const source = await testDatabase();
      await source.query(`DELETE FROM wakes`);
      const isWoken = async (afterMs: number) => {
        const { db } = await testDeps();
        await rescueOverdue(db, new Date(Date.now() + afterMs));
        const rows = await source.query<unknown[]>(`SELECT 1 FROM wakes WHERE subject_id = $1`, [importId]);
        return rows.length > 0;
      };
      expect(await isWoken(importRules.silenceMs)).to.equal(false);
      expect(await isWoken(importRules.silenceMs + 180_000)).to.equal(true);
    });
  });

  describe('with repetitions and concurrent changes', () => {
    it('imports each row once if several workers run it at the same time', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const importId = await begin(header + people(1_100), `delivery_ids=${deliveryId}`);
      await Promise.all([1, 2, 3].map(() => runImport(importId)));
      expect(await readImport(club, importId)).to.include({ status: 'completed', created: 1_100, rows_done: 1_100 });
      const { students, facts, distinctFacts } = await outcome();
      expect([students.length, facts, distinctFacts]).to.deep.equal([1_100, 2_200, 2_200]);
    });

    it('imports each student once if three imports contain the rows in different orders', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const lines = people(900).split('\n').slice(0, -1);
      const orders = [lines, lines.toReversed(), [...lines.slice(450), ...lines.slice(0, 450)]];
      const ids = await Promise.all(
        orders.map((order) => begin(header + order.join('\n'), `delivery_ids=${deliveryId}`)),
      );
      const patient = async (id: string): Promise<unknown> => runImport(id).catch(() => patient(id)); // Temporal would repeat a failed import
      await Promise.all(ids.map(patient));
      const records = await Promise.all(ids.map((id) => readImport(club, id)));
      expect(records.reduce((sum, { created }) => sum + created, 0)).to.equal(900);
      expect(records.map(({ rows_done: done, failed }) => [done, failed])).to.deep.equal([
        [900, 0],
        [900, 0],
        [900, 0],
      ]);
      const { students, facts, distinctFacts } = await outcome();
      expect([students.length, facts, distinctFacts]).to.deep.equal([900, 1_800, 1_800]);
      expect(students.filter(({ deliveries }) => deliveries.join() !== deliveryId)).to.deep.equal([]);
    });

    it('waits until the club’s other import has ended', async () => {
      const source = await testDatabase();
      const [first, second, third] = [
        await begin(header + people(600)),
        await begin(header + people(1, 700)),
        await begin(header + people(1, 800)),
      ];
      const woken = async () =>
        (await source.query<{ id: string }[]>(`DELETE FROM wakes RETURNING subject_id AS id`)).flat();
      const isWoken = async (id: string) => JSON.stringify(await woken()).includes(id);
      await woken();
      await step(first);
      const startedAt = clock.now().getTime();
      const { at, ...waits } = { at: undefined, ...(await step(second)) };
      expect(waits).to.deep.equal({ done: false, status: 'pending', rowsDone: 0, rowsTotal: 1 });
      expect(at).to.be.within(startedAt + importRules.turnMs, clock.now().getTime() + importRules.turnMs);
      expect(await readImport(club, second)).to.include({ status: 'pending', rows_done: 0 });
      const rescuer = (await testDeps()).db;
      await rescueOverdue(rescuer, new Date(clock.now().getTime() + importRules.turnMs));
      expect(await isWoken(second), 'a waiting import is not overdue').to.equal(false);
      await step(first);
      expect(await readImport(club, first)).to.include({ status: 'completed', created: 600 });
      expect(await isWoken(second)).to.equal(true);
      await call('POST', `/v1/clubs/${club.id}/student-imports/${second}/cancel`, { token: club.owner.token });
      expect(await readImport(club, second)).to.include({ status: 'canceled' });
      expect(await isWoken(third), 'canceled ones too').to.equal(true);
      await runImport(third);
      expect(await readImport(club, third)).to.include({ status: 'completed', created: 1 });
    });

    it('uses no more SQL statements to invite 400 students than to invite one', async () => {
      const invite = async (file: string) => {
        const importId = await begin(header + file, 'invite=true');
        const { db } = await testDeps();
        const counting = countingStatements(db);
        await step(importId, await importDeps(() => ({ db: counting })));
        return counting.statements();
      };
      const ofOne = await invite(people(1, 1_000));
      expect(ofOne).to.be.within(5, 30);
      expect(await invite(people(400))).to.equal(ofOne);
      const [row] = await (
        await testDatabase()
      ).query<object[]>(
        `SELECT count(*)::int AS mails, count(DISTINCT token_id)::int AS tokens, count(DISTINCT mail.student_id)::int AS students,
                min(mail.priority) AS priority, count(wakes)::int AS wakes
           FROM transactional_mails mail JOIN one_time_tokens token ON token.id = mail.token_id AND token.student_id = mail.student_id
           LEFT JOIN wakes ON wakes.subject_id = mail.id::text
          WHERE mail.club_id = $1 AND template = 'student_invitation' AND status = 'pending'`,
        [club.id],
      );
      expect(row).to.deep.equal({ mails: 401, tokens: 401, students: 401, priority: 2, wakes: 401 });
    });

    it('opens one account for each address, even if students sign up during the import', async () => {
      const importId = await begin(header + people(60));
      const signUp = (at: number) =>
        call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
          body: { name: 'Signed Up', email: `s${at * 6}@example.com`, password: 'long enough' },
        });
      await Promise.all([runImport(importId), ...Array.from({ length: 10 }, (_, at) => signUp(at))]);
      expect(await readImport(club, importId)).to.include({ status: 'completed', failed: 0, rows_done: 60 });
      const { students, facts, distinctFacts } = await outcome();
      expect([students.length, facts, distinctFacts]).to.deep.equal([60, 60, 60]);
    });

    it('imports each valid row once, even if rows are repeated or in another order (model)', async () => {
      const address = fc.integer({ min: 0, max: 15 });
      const row = fc.tuple(
        address,
        fc.boolean(),
        fc.constantFrom('ok', 'ok', 'ok', 'bad e-mail', 'no name', 'columns'),
      );
      const text = ([who, upper, kind]: [number, boolean, string]) => {
        const email = upper ? `M${who}@Example.com` : `m${who}@example.com`;
        if (kind === 'bad e-mail') return `${email}@,M`;
        if (kind === 'no name') return `${email},`;
        return kind === 'columns' ? `${email},M,x` : `${email},M`;
      };
      await fc.assert(
        fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 40 }), async (rows) => {
          club = await buildClub();
          const { id: own } = await buildAccessDelivery(club.id);
          const file = header + rows.map((each) => text(each as [number, boolean, string])).join('\n');
          const expected = [...new Set(rows.filter(([, , kind]) => kind === 'ok').map(([who]) => who))];
          const first = await importFile(club, file, `delivery_ids=${own}`);
          const again = await importFile(club, file, `delivery_ids=${own}`);
          expect([first.created, first.existing, first.failed]).to.deep.equal([
            expected.length,
            0,
            rows.length - expected.length,
          ]);
          expect([again.created, again.existing, again.failed]).to.deep.equal([0, expected.length, first.failed]);
          const reportedRows = new Set<number>();
          const codes = rows.map(([who, , kind], at) => {
            const code = {
              'bad e-mail': 'email_invalid email',
              'no name': 'name_missing name',
              columns: 'wrong_column_count',
            };
            if (kind !== 'ok') return `${at + 2} failed ${code[kind]}`;
            if (reportedRows.has(who)) return `${at + 2} failed duplicate email`;
            reportedRows.add(who);
            return `${at + 2} created`;
          });
          expect(await shortReport(club, first.id)).to.deep.equal(codes);
          const { students, facts, distinctFacts } = await outcome();
          const members = expected.map((who) => `m${who}@example.com`).toSorted();
          expect(students).to.deep.equal(members.map((email) => ({ email, name: 'M', deliveries: [own] })));
          expect([facts, distinctFacts]).to.deep.equal([2 * expected.length, 2 * expected.length]);
        }),
        { numRuns: 25 },
      );
    });

    it('fails a row that repeats a row of an earlier batch', async () => {
      const { id } = await importFile(club, `${header}${people(700)}S3@example.com,Again\n`);
      expect(await readImport(club, id)).to.include({ created: 700, failed: 1 });
      expect((await shortReport(club, id)).at(-1)).to.equal('702 failed duplicate email');
    });
  });

  describe('for existing students', () => {
    it('grants new access if the old access ended, was revoked or was bought', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id, { accessDays: 30 });
      const [has, ended, bought, revoked] = await Promise.all([1, 2, 3, 4].map(() => buildStudent(club.id)));
      const enroll = (student: typeof has, more: object) =>
        buildEnrollment(club.id, { studentId: student?.id ?? '', deliveryId, ...more });
      await enroll(has, {});
      await enroll(ended, { startsAt: new Date(Date.now() - 20_000), endsAt: new Date(Date.now() - 10_000) });
      await enroll(bought, { source: 'purchase', originId: crypto.randomUUID() });
      await enroll(revoked, { revoked: 'revocation' });
      const file = [has, ended, bought, revoked].map((student) => `${student?.email},X`).join('\n');
      await importFile(club, header + file, `delivery_ids=${deliveryId}`);
      expect((await factsOf(club.id)).map(({ studentId }) => studentId)).to.have.members(
        [ended, bought, revoked].map((student) => student?.id),
      );
      const source = await testDatabase();
      const rows = await source.query<{ source: string; days: number; superseded: number }[]>(
        `SELECT student_id AS who, source, (extract(epoch FROM ends_at - starts_at) / 86400)::int AS days,
              (SELECT count(*)::int FROM enrollments old WHERE old.student_id = new.student_id AND superseded_at IS NOT NULL) AS superseded
         FROM enrollments new WHERE club_id = $1 AND source = 'import' ORDER BY superseded`,
        [club.id],
      );
      expect(rows.map(({ source: cause, days, superseded }) => [cause, days, superseded])).to.deep.equal([
        ['import', 30, 0],
        ['import', 30, 0],
        ['import', 30, 1],
      ]);
    });

    it('is refused if the cohort has ended, and fails if the cohort ends before the import runs', async () => {
      const course = await buildCourse(club.id);
      const cohort = async (endsAt: Date) => (await buildCohort(club.id, course.id, { endsAt })).id;
      const delivery = async (cohortId: string) =>
        (await buildAccessDelivery(club.id, { courseId: course.id, cohortId })).id;
      const over = await delivery(await cohort(new Date(Date.now() - 1_000)));
      expectError(await upload(club, header + people(1), `delivery_ids=${over}`), 'invalid_request');

      const importId = await begin(
        header + people(1),
        `delivery_ids=${await delivery(await cohort(new Date(Date.now() + 60_000)))}`,
      );
      clock.advance(120_000);
      expect(await runImport(importId)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await readImport(club, importId)).to.include({ error: 'delivery_not_grantable', rows_done: 0 });
      expect([await studentsOf(club), await storedOf(club)]).to.deep.equal([[], []]);
    });
  });

  it('gives bulk priority to its facts, invitations and wakes', async () => {
    await importFile(club, `${header}bulk@example.com,Bulk\n`, 'invite=true');
    const source = await testDatabase();
    const priorities = await source.query<unknown[]>(
      `SELECT 'fact' AS of, priority FROM facts WHERE club_id = $1
       UNION SELECT 'mail', priority FROM transactional_mails WHERE club_id = $1
       UNION SELECT 'wake', priority FROM wakes WHERE club_id = $1 AND workflow_type = 'transactionalMail' ORDER BY 1`,
      [club.id],
    );
    expect(priorities).to.deep.equal(['fact', 'mail', 'wake'].map((of) => ({ of, priority: 2 })));
  });

  describe('after the removal of an imported student', () => {
    it('keeps only the student’s id, and deletes the file', async () => {
      const [name, email] = ['Quintessa Rowbottom', 'quintessa.rowbottom@example.com'];
      const { id } = await importFile(club, `${header}${email},${name}\nnobody,Quintessa Rowbottom\n`, 'invite=true');
      const [row] = await reportOf(club, id);
      const { db } = await testDeps();
      await removeStudent(depsOn(db), club.id, row?.student_id ?? '', new Date());
      for (const text of [name, email]) expect(await columnsHolding(text), text).to.deep.equal([]);
      expect(await storedOf(club)).to.deep.equal([]);
      expect(await reportOf(club, id)).to.deep.equal([
        row,
        { row: 3, outcome: 'failed', code: 'email_invalid', column: 'email' },
      ]);
    });
  });

  describe('when the object store fails', () => {
    const without = (method: 'read' | 'remove', times: number): Promise<ImportDeps> => {
      let remainingFailures = times;
      return importDeps(({ storage }) => ({
        storage: {
          ...storage,
          [method]: async (...args: never[]) => {
            if (remainingFailures-- > 0) throw new Error('The store is unreachable');
            return (storage[method] as (...all: never[]) => unknown)(...args);
          },
        },
      }));
    };

    it('repeats a failed step and loses no row if the store is unreachable for a while', async () => {
      const importId = await begin(header + people(600));
      for (const method of ['read', 'remove'] as const) {
        const deps = await without(method, 2);
        for (let times = 0; times < 2; times++) {
          const failed = await runImport(importId, deps).catch((error: unknown) => error);
          expect(failed, method).to.have.property('message', 'The store is unreachable');
        }
      }
      expect(await runImport(importId)).to.deep.equal({ done: true, outcome: 'completed' });
      expect(await readImport(club, importId)).to.include({ created: 600, failed: 0 });
      expect(await storedOf(club)).to.deep.equal([]);
    });

    it('fails with file_missing if the object store has lost the file', async () => {
      const importId = await begin(header + people(600));
      await step(importId);
      const { storage } = await importDeps();
      await storage.remove((await storedOf(club))[0] ?? '');
      expect(await runImport(importId)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await readImport(club, importId)).to.include({ error: 'file_missing', created: 500 });
    });
  });
});
