/** Tests the requests, records and refusals of bulk jobs (BULK-1 to BULK-6). */
import { expect } from 'chai';
import fc from 'fast-check';
import { bulkRules } from '../../domain/bulk/bulk.policy.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildManyStudents } from '../toolkit/builders/many-students.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import {
  beginBulk,
  bulkReportOf,
  readBulk,
  requestBulk,
  runBulk,
  shortBulkReport,
  stepBulk,
  type BulkRequest,
} from '../toolkit/drive/bulk.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { allAtOnce } from '../toolkit/drive/races.ts';
import { standingCalls } from '../toolkit/drive/standing-calls.ts';
import { factsOf, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('bulk jobs', () => {
  let club: TestClub;
  let tagId: Id;
  let tagging: BulkRequest;
  beforeEach(async () => {
    club = await buildClub();
    tagId = await standingCalls(club).buildTag('Sailors');
    tagging = { path: `/tags/${tagId}/bulk-tag` };
  });

  const run = async (request: BulkRequest, students: Parameters<typeof beginBulk>[2]) => {
    const jobId = await beginBulk(club, request, students);
    await runBulk(jobId);
    return jobId;
  };
  const tagged = async () => {
    const source = await testDatabase();
    const rows = await source.query<{ id: Id }[]>(`SELECT student_id AS id FROM student_tags WHERE tag_id = $1`, [
      tagId,
    ]);
    return rows.map(({ id }) => id).toSorted();
  };

  describe('a request', () => {
    it('returns 202 with the pending job, and lists it', async () => {
      const student = await buildStudent(club.id);
      const accepted = await requestBulk(club, tagging, [{ student_id: student.id }]);
      expect(accepted.status).to.equal(202);
      expect(accepted.body.data).to.include({
        action: 'tag',
        tag_id: tagId,
        status: 'pending',
        rows_total: 1,
        rows_done: 0,
      });
      expect(await readBulk(club, accepted.body.data.id)).to.deep.equal(accepted.body.data);
      expect((await callsOf(club)('GET', '/bulk-jobs')).body.data).to.deep.equal([accepted.body.data]);
    });

    it('finds students by id and by e-mail in any case, and reports each row', async () => {
      const [ada, bea, cy] = [
        await buildStudent(club.id, { email: 'ada@example.com' }),
        await buildStudent(club.id),
        await buildStudent(club.id, { email: 'cy@example.com' }),
      ];
      await standingCalls(club).tag(bea.id, tagId);
      const stranger = await buildStudent((await buildClub()).id, { email: 'elsewhere@example.com' });
      const jobId = await run(tagging, [
        { email: 'ADA@example.com' },
        { student_id: bea.id.toUpperCase() },
        { student_id: stranger.id },
        { email: 'elsewhere@example.com' },
        { student_id: newId() },
        { student_id: cy.id },
        { email: 'cy@example.com' },
      ]);
      expect(await shortBulkReport(club, jobId)).to.deep.equal([
        '1 applied',
        '2 unchanged',
        '3 failed student_not_found',
        '4 failed student_not_found',
        '5 failed student_not_found',
        '6 applied',
        '7 unchanged duplicate',
      ]);
      expect(await readBulk(club, jobId)).to.include({
        status: 'completed',
        rows_total: 7,
        rows_done: 7,
        applied: 2,
        unchanged: 2,
        failed: 3,
      });
      expect(await tagged()).to.deep.equal([ada.id, bea.id, cy.id].toSorted());
      expect((await bulkReportOf(club, jobId, '&outcome=applied')).map(({ row }) => row)).to.deep.equal([1, 6]);
    });

    it('completes a job even if all its rows failed', async () => {
      const jobId = await run(tagging, [{ email: 'nobody@example.com' }]);
      expect(await readBulk(club, jobId)).to.include({ status: 'completed', failed: 1 });
    });

    it('accepts 1,000 students and refuses 1,001', async () => {
      const many = (count: number) => Array.from({ length: count }, () => ({ student_id: newId() }));
      expect((await requestBulk(club, tagging, many(bulkRules.maxStudents))).status).to.equal(202);
      expectError(await requestBulk(club, tagging, many(bulkRules.maxStudents + 1)), 'invalid_request');
    });

    it('refuses bad input, and leaves nothing behind', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const { id: archived } = await buildAccessDelivery(club.id);
      await callsOf(club)('POST', `/deliveries/${archived}/archive`);
      const student = await buildStudent(club.id, { email: 'ada@example.com' });
      const one = [{ student_id: student.id }];
      const before = await rowCounts();
      const cases: readonly [BulkRequest, object[], Parameters<typeof expectError>[1]][] = [
        [tagging, [], 'invalid_request'],
        [tagging, [{}], 'invalid_request'],
        [tagging, [{ student_id: student.id, email: 'ada@example.com' }], 'invalid_request'],
        [tagging, [{ email: 'no address' }], 'invalid_request'],
        [{ path: `/tags/${newId()}/bulk-tag` }, one, 'not_found'],
        [{ path: `/tags/${newId()}/bulk-untag` }, one, 'not_found'],
        [{ path: `/deliveries/${newId()}/bulk-grant` }, one, 'not_found'],
        [{ path: `/deliveries/${deliveryId}/bulk-grant`, body: { cohort_id: newId() } }, one, 'not_found'],
        [{ path: `/deliveries/${archived}/bulk-grant` }, one, 'delivery_archived'],
        [
          { path: `/deliveries/${deliveryId}/bulk-grant`, body: { ends_at: '2020-01-01T00:00:00Z' } },
          one,
          'invalid_request',
        ],
        [{ path: `/deliveries/${newId()}/bulk-revoke` }, one, 'not_found'],
        [{ path: '/points/bulk-award', body: { points: 0 } }, one, 'invalid_request'],
      ];
      await eachCase(cases, async ([request, students, code]) =>
        expectError(await requestBulk(club, request, students as never), code),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 too_many_bulk_jobs above twenty open jobs, even simultaneously, until one ends', async () => {
      const student = await buildStudent(club.id);
      const one = () => requestBulk(club, tagging, [{ student_id: student.id }]);
      for (let open = 0; open < bulkRules.maxOpen - 2; open++) {
        clock.advance(1_100); // the rate limit counts writes of a minute
        expect((await one()).status).to.equal(202);
      }
      const answers = await allAtOnce(club.id, () => [one(), one(), one(), one()]);
      expect(answers.map(({ status }) => String(status)).toSorted()).to.deep.equal(['202', '202', '409', '409']);
      const [newest] = (await callsOf(club)('GET', '/bulk-jobs')).body.data;
      await callsOf(club)('POST', `/bulk-jobs/${newest.id}/cancel`);
      expect((await one()).status).to.equal(202);
      expectError(await one(), 'too_many_bulk_jobs');
    });
  });

  describe('an API key', () => {
    it('needs the write scope of the action, and the read scope of bulk jobs', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const { token } = await buildApiKey(club.id, ['tags:write', 'bulk_jobs:read']);
      const student = [{ student_id: newId() }];
      expect((await requestBulk(club, tagging, student, token)).status).to.equal(202);
      await eachCase(
        [
          { path: `/deliveries/${deliveryId}/bulk-grant` },
          { path: `/deliveries/${deliveryId}/bulk-revoke` },
          { path: '/points/bulk-award', body: { points: 5 } },
        ],
        async (request) => expectError(await requestBulk(club, request, student, token), 'scope_not_granted'),
      );
      const { body, status } = await callsOf(club, token)('GET', '/bulk-jobs');
      expect(status).to.equal(200);
      expectError(await callsOf(club, token)('POST', `/bulk-jobs/${body.data[0].id}/cancel`), 'scope_not_granted');
    });
  });

  describe('cancel', () => {
    it('keeps processed rows, and cancels the others', async () => {
      const students = await buildManyStudents(club.id, bulkRules.batchTags + 2);
      const jobId = await beginBulk(
        club,
        tagging,
        students.map((id) => ({ student_id: id })),
      );
      await stepBulk(jobId);
      const canceled = await callsOf(club)('POST', `/bulk-jobs/${jobId}/cancel`);
      expect(canceled.body.data).to.include({ status: 'canceled', applied: bulkRules.batchTags, rows_done: 250 });
      expect(await runBulk(jobId)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await tagged()).to.have.length(bulkRules.batchTags);
      expect(await bulkReportOf(club, jobId, '&outcome=canceled')).to.have.length(2);
      expect((await callsOf(club)('POST', `/bulk-jobs/${jobId}/cancel`)).body).to.deep.equal(canceled.body);
    });

    it('returns 409 bulk_job_ended for a completed job', async () => {
      const jobId = await run(tagging, [{ email: 'nobody@example.com' }]);
      expectError(await callsOf(club)('POST', `/bulk-jobs/${jobId}/cancel`), 'bulk_job_ended');
    });
  });

  it('reports the expected result for each row of generated requests', async function () {
    this.timeout(60_000);
    const people = await Promise.all(
      Array.from({ length: 4 }, async (_, at) => ({
        ...(await buildStudent(club.id, { email: `person-${at}@example.com` })),
        email: `person-${at}@example.com`,
      })),
    );
    const named = fc.oneof(
      fc.nat(3).map((at) => ({ at, by: 'id' as const })),
      fc.nat(3).map((at) => ({ at, by: 'email' as const })),
      fc.constant({ at: 99, by: 'id' as const }),
      fc.constant({ at: 99, by: 'email' as const }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(named, { minLength: 1, maxLength: 9 }),
        fc.subarray([0, 1, 2, 3]),
        fc.boolean(),
        async (rows, before, tags) => {
          const source = await testDatabase();
          await source.query(`DELETE FROM student_tags WHERE tag_id = $1`, [tagId]);
          await source.query(`DELETE FROM bulk_jobs WHERE club_id = $1`, [club.id]);
          clock.advance(60_000);
          for (const at of before) await standingCalls(club).tag(people[at]?.id ?? '', tagId);
          const request = { path: `/tags/${tagId}/bulk-${tags ? 'tag' : 'untag'}` };
          const jobId = await run(
            request,
            rows.map(({ at, by }) =>
              by === 'id'
                ? { student_id: people[at]?.id ?? newId() }
                : { email: people[at]?.email ?? 'unknown@example.com' },
            ),
          );
          const expected = rows.map(({ at }, position) => {
            const row = position + 1;
            if (at === 99) return `${row} failed student_not_found`;
            if (rows.findIndex((other) => other.at === at) < position) return `${row} unchanged duplicate`;
            return `${row} ${before.includes(at) === tags ? 'unchanged' : 'applied'}`;
          });
          expect(await shortBulkReport(club, jobId)).to.deep.equal(expected);
          const expectedStudents = people.filter((_, at) => {
            const isNamed = rows.some((row) => row.at === at);
            return isNamed ? tags : before.includes(at);
          });
          expect(await tagged()).to.deep.equal(expectedStudents.map(({ id }) => id).toSorted());
        },
      ),
      { numRuns: 25 },
    );
  });

  it('records one fact of bulk priority for each changed student', async () => {
    const students = [await buildStudent(club.id), await buildStudent(club.id)];
    const [first] = students;
    await standingCalls(club).tag(first?.id ?? '', tagId);
    await (await testDatabase()).query(`DELETE FROM facts WHERE club_id = $1`, [club.id]);
    await run(
      tagging,
      students.map(({ id }) => ({ student_id: id })),
    );
    expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.tagged', studentId: students[1]?.id }]);
    const priorities = await (
      await testDatabase()
    ).query<object[]>(`SELECT priority FROM facts WHERE club_id = $1`, [club.id]);
    expect(priorities).to.deep.equal([{ priority: 2 }]);
  });
});
