/** Tests bulk jobs when workers die, steps are repeated, or other changes run at the same time (BULK-2 to BULK-6). */
import { expect } from 'chai';
import { setTimeout as pause } from 'node:timers/promises';
import { bulkRules } from '../../../domain/bulk/bulk.policy.ts';
import { retainJobs } from '../../../domain/bulk/retention.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { rescueOverdue } from '../../../platform/engine/sweeper.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../../toolkit/builders/access.ts';
import { buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { buildManyStudents } from '../../toolkit/builders/many-students.ts';
import { clock } from '../../toolkit/drive/api.ts';
import {
  beginBulk,
  bulkJobDeps,
  bulkReportOf,
  readBulk,
  runBulk,
  shortBulkReport,
  stepBulk,
  type BulkRequest,
} from '../../toolkit/drive/bulk.ts';
import { callsOf } from '../../toolkit/drive/club-calls.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../toolkit/drive/races.ts';
import { standingCalls } from '../../toolkit/drive/standing-calls.ts';
import { columnsHolding, mailsTo, testDatabase, testDeps } from '../../toolkit/stack/database.ts';

const day = 86_400_000;

describe('a bulk job', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });

  const addStudents = (count: number, of: TestClub = club) => buildManyStudents(of.id, count);
  const byId = (ids: readonly Id[]) => ids.map((id) => ({ student_id: id }));
  const begin = (request: BulkRequest, ids: readonly Id[]) => beginBulk(club, request, byId(ids));
  const awarding: BulkRequest = { path: '/points/bulk-award', body: { points: 7, note: 'Helped' } };
  const remove = async (studentId: Id) => removeStudent(await testDeps(), club.id, studentId, clock.now());

  const awards = async () => {
    const rows = await (
      await testDatabase()
    ).query<{ awards: number; points: number }[]>(
      `SELECT count(award.student_id)::int AS awards, coalesce(sum(award.points), 0)::int AS points
         FROM students student LEFT JOIN point_awards award ON award.student_id = student.id WHERE student.club_id = $1`,
      [club.id],
    );
    return rows[0];
  };
  const totals = async () => {
    const [row] = await (
      await testDatabase()
    ).query<{ points: number }[]>(`SELECT coalesce(sum(points), 0)::int AS points FROM students WHERE club_id = $1`, [
      club.id,
    ]);
    return row?.points;
  };

  describe('when the worker dies', () => {
    for (const place of ['bulk_batch_written', 'bulk_batch_recorded'])
      it(`gives each student the points once if the worker dies at ${place} in every batch`, async () => {
        const level = await standingCalls(club).buildLevel('Bosun', 5);
        const students = await addStudents(120);
        const jobId = await begin(awarding, students);
        let deaths = 0;
        const dying = await bulkJobDeps(async (name) => {
          if (name !== place) return;
          deaths += 1;
          throw new Error('The worker died');
        });
        for (let batch = 0; batch < 3; batch++) {
          const before = await readBulk(club, jobId);
          await stepBulk(jobId, dying).catch(() => {});
          const after = await readBulk(club, jobId);
          if (place === 'bulk_batch_recorded') expect(after.rows_done).to.be.above(before.rows_done);
          else {
            expect(after).to.deep.equal(before);
            await stepBulk(jobId);
          }
        }
        expect(deaths).to.equal(3);
        expect(await runBulk(jobId)).to.deep.equal({ done: true, outcome: 'completed' });
        expect(await readBulk(club, jobId)).to.include({ status: 'completed', applied: 120, failed: 0 });
        expect(await awards()).to.deep.equal({ awards: 120, points: 840 });
        expect(await totals()).to.equal(840);
        const facts = await (
          await testDatabase()
        ).query<{ facts: number; students: number }[]>(
          `SELECT count(*)::int AS facts, count(DISTINCT student_id)::int AS students FROM facts
            WHERE club_id = $1 AND type = 'student.level_reached' AND subject_id = $2`,
          [club.id, level],
        );
        expect(facts).to.deep.equal([{ facts: 120, students: 120 }]);
      });

    it('is woken only after it made no progress for the allowed time', async () => {
      const jobId = await begin(awarding, await addStudents(60));
      await stepBulk(jobId);
      const source = await testDatabase();
      await source.query(`DELETE FROM wakes`);
      const isWoken = async (afterMs: number) => {
        const { db } = await testDeps();
        await rescueOverdue(db, new Date(clock.now().getTime() + afterMs));
        const rows = await source.query<unknown[]>(`SELECT 1 FROM wakes WHERE subject_id = $1`, [jobId]);
        return rows.length > 0;
      };
      expect(await isWoken(bulkRules.silenceMs)).to.equal(false);
      expect(await isWoken(bulkRules.silenceMs + 180_000)).to.equal(true);
    });
  });

  describe('with concurrent changes', () => {
    it('gives each student the points once when several workers run it at the same time', async () => {
      const jobId = await begin(awarding, await addStudents(130));
      await Promise.all([1, 2, 3].map(() => runBulk(jobId)));
      expect(await readBulk(club, jobId)).to.include({ status: 'completed', applied: 130 });
      expect(await awards()).to.deep.equal({ awards: 130, points: 910 });
      expect(await totals()).to.equal(910);
    });

    it('applies each change once if three jobs and single calls run together', async function () {
      this.timeout(30_000);
      const students = await addStudents(110);
      const tagId = await standingCalls(club).buildTag('Sailors');
      const first = await begin(awarding, students);
      const second = await begin(awarding, students.toReversed());
      const third = await begin({ path: `/tags/${tagId}/bulk-tag` }, students);
      /** Does not wait for the time of the next step, so that two jobs overlap. */
      const stepOften = async (jobId: Id) => {
        while (!(await stepBulk(jobId)).done) await pause(50);
      };
      await Promise.all([
        stepOften(first),
        stepOften(second),
        stepOften(third),
        ...students.slice(0, 5).map((id) => standingCalls(club).tag(id, tagId)),
      ]);
      expect(await awards()).to.deep.equal({ awards: 220, points: 1_540 });
      expect(await totals()).to.equal(1_540);
      const { applied, unchanged } = await readBulk(club, third);
      expect(applied + unchanged).to.equal(110);
      const [{ tagged } = { tagged: 0 }] = await (
        await testDatabase()
      ).query<{ tagged: number }[]>(
        `SELECT count(*)::int AS tagged FROM facts WHERE club_id = $1 AND type = 'student.tagged'`,
        [club.id],
      );
      expect(tagged).to.equal(110);
    });

    it('runs after the earlier jobs of its club, which wake it when they end', async () => {
      const students = await addStudents(2);
      const first = await begin(awarding, students);
      clock.advance(1_000);
      const second = await begin(awarding, students);
      const startedAt = clock.now().getTime();
      const waiting = await stepBulk(second);
      if (waiting.done) throw new Error('The second job did not wait');
      expect(waiting.at).to.be.within(startedAt + bulkRules.turnMs, clock.now().getTime() + bulkRules.turnMs);
      const source = await testDatabase();
      await source.query(`DELETE FROM wakes`);
      await runBulk(first);
      expect(
        await source.query(`SELECT subject_id AS id, priority FROM wakes WHERE workflow_type = 'bulkJob'`),
      ).to.deep.equal([{ id: second, priority: 2 }]);
      expect(await runBulk(second)).to.deep.equal({ done: true, outcome: 'completed' });
    });

    it('does not wait for the jobs of another club', async () => {
      await begin(awarding, await addStudents(1));
      const other = await buildClub();
      const jobId = await beginBulk(other, awarding, byId(await addStudents(1, other)));
      expect(await runBulk(jobId)).to.deep.equal({ done: true, outcome: 'completed' });
    });

    it('fails the remaining rows after the tag is deleted or the delivery is archived', async () => {
      const tagId = await standingCalls(club).buildTag('Sailors');
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const students = await addStudents(2);
      const tagging = await begin({ path: `/tags/${tagId}/bulk-tag` }, students);
      const granting = await begin({ path: `/deliveries/${deliveryId}/bulk-grant` }, students);
      await standingCalls(club).deleteTag(tagId);
      await callsOf(club)('POST', `/deliveries/${deliveryId}/archive`);
      await runBulk(tagging);
      await runBulk(granting);
      expect(await shortBulkReport(club, tagging)).to.deep.equal([
        '1 failed target_not_found',
        '2 failed target_not_found',
      ]);
      expect(await shortBulkReport(club, granting)).to.deep.equal([
        '1 failed delivery_archived',
        '2 failed delivery_archived',
      ]);
    });
  });

  describe('of grants', () => {
    it('confirms and invites a pending sign-up, with a mail of bulk priority', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const [pending] = await addStudents(1);
      const source = await testDatabase();
      await source.query(`UPDATE students SET opened_by = 'sign_up', verified_at = NULL WHERE id = $1`, [pending]);
      const jobId = await begin({ path: `/deliveries/${deliveryId}/bulk-grant` }, [pending ?? '']);
      await runBulk(jobId);
      expect(await shortBulkReport(club, jobId)).to.deep.equal(['1 applied']);
      expect(await mailsTo(pending ?? '')).to.deep.equal(['student_invitation']);
      expect(
        await source.query(
          `SELECT opened_by, (SELECT priority FROM transactional_mails WHERE student_id = $1) AS priority
                              FROM students WHERE id = $1`,
          [pending],
        ),
      ).to.deep.equal([{ opened_by: 'club', priority: 2 }]);
    });

    it('writes nothing for a row that fails after the sign-up was confirmed', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const students = await addStudents(2);
      const source = await testDatabase();
      await source.query(`UPDATE students SET opened_by = 'sign_up', verified_at = NULL WHERE id = $1`, [students[0]]);
      const jobId = await begin({ path: `/deliveries/${deliveryId}/bulk-grant` }, students);
      await callsOf(club)('POST', `/deliveries/${deliveryId}/archive`);
      await runBulk(jobId);
      expect((await readBulk(club, jobId)).failed).to.equal(2);
      expect(await source.query(`SELECT opened_by FROM students WHERE id = $1`, [students[0]])).to.deep.equal([
        { opened_by: 'sign_up' },
      ]);
      expect(await mailsTo(students[0] ?? '')).to.deep.equal([]);
    });
  });

  describe('compared with single operations', () => {
    interface Twin {
      bulk: (target: Target) => BulkRequest;
      single: (target: Target, studentId: Id) => Promise<{ status: number }>;
    }
    interface Target {
      club: TestClub;
      tagId: Id;
      deliveryId: Id;
    }
    const at = (target: Target) => standingCalls(target.club);
    const twins: Readonly<Record<string, Twin>> = {
      tag: {
        bulk: ({ tagId }) => ({ path: `/tags/${tagId}/bulk-tag` }),
        single: (target, studentId) => at(target).tag(studentId, target.tagId),
      },
      untag: {
        bulk: ({ tagId }) => ({ path: `/tags/${tagId}/bulk-untag` }),
        single: (target, studentId) => at(target).untag(studentId, target.tagId),
      },
      grant: {
        bulk: ({ deliveryId }) => ({
          path: `/deliveries/${deliveryId}/bulk-grant`,
          body: { ends_at: '2990-01-01T00:00:00Z' },
        }),
        single: (target, studentId) =>
          callsOf(target.club)('POST', '/enrollments', {
            student_id: studentId,
            delivery_id: target.deliveryId,
            ends_at: '2990-01-01T00:00:00Z',
          }),
      },
      revoke: {
        bulk: ({ deliveryId }) => ({ path: `/deliveries/${deliveryId}/bulk-revoke` }),
        async single(target, studentId) {
          const rows = await (
            await testDatabase()
          ).query<{ id: Id }[]>(`SELECT id FROM enrollments WHERE student_id = $1 AND delivery_id = $2`, [
            studentId,
            target.deliveryId,
          ]);
          for (const { id } of rows) await callsOf(target.club)('POST', `/enrollments/${id}/revoke`);
          return { status: 200 };
        },
      },
      award_points: {
        bulk: () => awarding,
        single: (target, studentId) =>
          callsOf(target.club)('POST', `/students/${studentId}/points`, { id: newId(), points: 7, note: 'Helped' }),
      },
    };

    /** The first student has the tag and access, and the third is removed. The club has a level at 5 points. */
    async function furnish(): Promise<Target & { students: Id[] }> {
      const target = await buildClub();
      const calls = standingCalls(target);
      const tagId = await calls.buildTag('Sailors');
      await calls.buildLevel('Bosun', 5);
      const { id: deliveryId } = await buildAccessDelivery(target.id);
      const students = await addStudents(3, target);
      await calls.tag(students[0] ?? '', tagId);
      await buildEnrollment(target.id, { studentId: students[0] ?? '', deliveryId });
      await removeStudent(await testDeps(), target.id, students[2] ?? '', clock.now());
      await (await testDatabase()).query(`DELETE FROM facts WHERE club_id = $1`, [target.id]);
      return { club: target, tagId, deliveryId, students };
    }

    /** Without ids and times. */
    async function stateOf({ club: { id }, students }: { club: TestClub; students: readonly Id[] }) {
      const source = await testDatabase();
      return source.query<object[]>(
        `SELECT array_position($2::uuid[], student.id) AS student, student.points::int, student.opened_by,
                (SELECT count(*)::int FROM student_tags WHERE student_id = student.id) AS tags,
                (SELECT count(*)::int FROM student_levels WHERE student_id = student.id) AS levels,
                (SELECT jsonb_agg(jsonb_build_array(cause_kind, points, note)) FROM point_awards WHERE student_id = student.id) AS awards,
                (SELECT jsonb_agg(jsonb_build_array(source, cohort_id, ends_at, revoked_at IS NULL, revoked_reason, superseded_at)
                          ORDER BY created_at) FROM enrollments WHERE student_id = student.id) AS enrollments,
                (SELECT jsonb_agg(jsonb_build_array(type, subject_id IS NULL, details) ORDER BY seq) FROM facts
                  WHERE facts.student_id = student.id AND facts.club_id = $1) AS facts
           FROM students student WHERE student.club_id = $1 ORDER BY 1`,
        [id, students],
      );
    }

    for (const [action, twin] of Object.entries(twins))
      it(`leaves equal rows and facts for ${action}`, async () => {
        const [bulk, single] = [await furnish(), await furnish()];
        const jobId = await beginBulk(bulk.club, twin.bulk(bulk), byId(bulk.students));
        await runBulk(jobId);
        for (const id of single.students) await twin.single(single, id);
        const state = await stateOf(bulk);
        expect(state).to.deep.equal(await stateOf(single));
        const report = await shortBulkReport(bulk.club, jobId);
        expect(report[2]).to.equal('3 failed student_not_found');
        const changes = (await bulkReportOf(bulk.club, jobId)).filter(({ outcome }) => outcome === 'applied').length;
        expect(changes).to.equal(action === 'award_points' ? 2 : 1);
        const priorities = await (
          await testDatabase()
        ).query<object[]>(`SELECT DISTINCT priority FROM facts WHERE club_id = $1`, [bulk.club.id]);
        expect(priorities).to.deep.equal([{ priority: 2 }]);
      });
  });

  describe('when a student is removed', () => {
    const rowsNaming = async (studentId: Id) =>
      (await columnsHolding(studentId)).filter((name) => name.startsWith('bulk_'));

    it('fails a pending row as student_removed, and erases the student from every row', async () => {
      const students = await addStudents(bulkRules.batchRows + 1);
      const [first = '', last = ''] = [students[0], students.at(-1)];
      const ended = await begin(awarding, [first]);
      await runBulk(ended);
      const jobId = await begin(awarding, students);
      await stepBulk(jobId);
      await remove(first);
      await remove(last);
      await eachCase([first, last], async (id) => expect(await rowsNaming(id)).to.deep.equal([]));
      await runBulk(jobId);
      const report = await bulkReportOf(club, jobId);
      expect(report[0]).to.deep.equal({ row: 1, outcome: 'applied' });
      expect(report.at(-1)).to.deep.equal({
        row: bulkRules.batchRows + 1,
        outcome: 'failed',
        code: 'student_removed',
      });
      expect(await bulkReportOf(club, ended)).to.deep.equal([{ row: 1, outcome: 'applied' }]);
    });

    it('keeps no row of a student who is removed while the job is requested', async () => {
      const [studentId = ''] = await addStudents(1);
      let requested: Promise<Id> | undefined;
      await withOpenTransaction(
        (tx) => tx.manager.query(`UPDATE students SET removed_at = now(), email = NULL WHERE id = $1`, [studentId]),
        async () => {
          requested = begin(awarding, [studentId]);
          await untilWaitingForLocks(1);
        },
      );
      const report = await shortBulkReport(club, (await requested) ?? '');
      expect(report).to.deep.equal(['1 failed student_not_found']);
      expect(await rowsNaming(studentId)).to.deep.equal([]);
    });

    it('stores no address of the request, and no note of an ended job', async () => {
      await buildStudent(club.id, { email: 'known@example.com' });
      const noted = { ...awarding, body: { points: 7, note: 'Helped Wilhelmina' } };
      const jobId = await beginBulk(club, noted, [{ email: 'known@example.com' }, { email: 'stranger@example.com' }]);
      expect(await columnsHolding('Wilhelmina')).to.deep.equal(['bulk_jobs.action']);
      expect(await columnsHolding('stranger@example.com')).to.deep.equal([]);
      expect(await columnsHolding('known@example.com')).to.deep.equal(['students.email']);
      await runBulk(jobId);
      expect(await columnsHolding('Wilhelmina')).to.deep.equal(['point_awards.note']);
    });
  });

  it('is deleted with its report 90 days after its end', async () => {
    const jobId = await begin(awarding, await addStudents(1));
    await runBulk(jobId);
    const { db } = await testDeps();
    const after = (days: number) => retainJobs(db, new Date(clock.now().getTime() + days * day));
    expect(await after(89)).to.deep.equal({ rows: { bulkJobs: 0 }, more: false });
    expect((await after(91)).rows.bulkJobs).to.be.above(0);
    expect((await callsOf(club)('GET', `/bulk-jobs/${jobId}`)).status).to.equal(404);
    const rows = await (await testDatabase()).query(`SELECT 1 FROM bulk_job_rows WHERE job_id = $1`, [jobId]);
    expect(rows).to.deep.equal([]);
  });
});
