import { roles } from '../../entities/clubs/values.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError, visible } from '../toolkit/drive/api.ts';
import { classroomOf, revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { secondsToNextMinute, withClockStopped } from '../toolkit/fakes/timers.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

describe('lesson comments', () => {
  let club: TestClub;
  let course: OpenCourse;
  let lesson: string;
  let learner: Learner;
  let classroom: ReturnType<typeof classroomOf>;
  let write: ReturnType<typeof callsOf>;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 2 });
    lesson = course.lessons[0]?.publicId ?? '';
    learner = await buildLearner(course);
    classroom = classroomOf(course, learner);
    write = callsOf(club);
  });
  const administratorsList = (query = '') => write('GET', `/lessons/${course.lessons[0]?.id}/comments${query}`);

  describe('POST /v1/clubs/{clubId}/classroom/lessons/{publicId}/comments', () => {
    it('creates a comment, and shows it to its author, other students and administrators', async () => {
      const { status, body } = await classroom.comment(lesson, '  The bowline\n holds. ');
      expect(status).to.equal(201);
      const { id, created_at: createdAt } = body.data;
      const comment = { id, body: '  The bowline\n holds. ', created_at: createdAt };
      const publicRecord = { ...comment, author: { name: 'Stella Student' } };
      expect(body.data).to.deep.equal({ ...publicRecord, own: true });
      expect((await classroom.comments(lesson)).body).to.deep.equal({
        data: [{ ...publicRecord, own: true }],
        total: 1,
      });
      const other = classroomOf(course, await buildLearner(course));
      expect((await other.comments(lesson)).body).to.deep.equal({ data: [{ ...publicRecord, own: false }], total: 1 });
      const student = { id: learner.id, name: 'Stella Student', email: learner.email };
      expect((await administratorsList()).body).to.deep.equal({ data: [{ ...comment, student }], total: 1 });
    });

    it('lists each lesson’s comments newest first, in pages', async () => {
      for (const body of ['one', 'two', 'three']) {
        await classroom.comment(lesson, body);
        clock.advance(1_000);
      }
      await classroom.comment(course.lessons[1]?.publicId ?? '', 'elsewhere');
      await eachCase([(query: string) => classroom.comments(lesson, query), administratorsList], async (list) => {
        const bodies = async (query: string) => {
          const { body } = await list(query);
          return [body.data.map((comment: { body: string }) => comment.body), body.total];
        };
        expect(await bodies('')).to.deep.equal([['three', 'two', 'one'], 3]);
        expect(await bodies('?page_size=2&page=2')).to.deep.equal([['one'], 3]);
      });
    });

    it('returns 422 for an empty, blank or too long comment, and accepts 1 and 5,000 characters', async () => {
      await eachCase(['x', '🎓'.repeat(5_000)], async (body) =>
        expect((await classroom.comment(lesson, body)).status).to.equal(201),
      );
      const before = await rowCounts();
      await eachCase(['', ' \n', 'x'.repeat(5_001), 'a\u0000b'], async (body) =>
        expectError(await classroom.comment(lesson, body), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 429 for a student’s 11th comment in a minute, but not for reads and completions', () =>
      withClockStopped(async (now) => {
        const [, second] = course.lessons;
        for (let number = 1; number <= 10; number++) {
          const { status } = await classroom.comment(
            number % 2 === 0 ? lesson : (second?.publicId ?? ''),
            `number ${number}`,
          );
          expect(status, `number ${number}`).to.equal(201);
        }
        const before = await rowCounts();
        const refused = await classroom.comment(lesson, 'number 11');
        expectError(refused, 'rate_limited');
        const retryAfter = Number(refused.headers.get('retry-after'));
        expect(retryAfter).to.equal(secondsToNextMinute(now));
        expect(await rowCounts()).to.deep.equal(before);

        expect((await classroomOf(course, await buildLearner(course)).comment(lesson, 'mine')).status).to.equal(201);
        expect((await classroom.comments(lesson)).status).to.equal(200);
        expect((await classroom.complete(lesson)).status).to.equal(200);
        clock.advance(retryAfter * 1_000);
        expect((await classroom.comment(lesson, 'number 11')).status).to.equal(201);
      }));

    it('accepts ten of twenty simultaneous comments, and returns 429 to the others', () =>
      withClockStopped(async () => {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) => classroom.comment(lesson, `${index}`)),
        );
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
        expect(statuses).to.deep.equal([...Array<number>(10).fill(201), ...Array<number>(10).fill(429)]);
        expect((await administratorsList()).body.total).to.equal(10);
      }));
  });

  describe('DELETE /v1/clubs/{clubId}/classroom/comments/{commentId}', () => {
    it('deletes the student’s own comment once, even after access has ended', async () => {
      const [remaining, deleted] = [await classroom.comment(lesson, 'kept'), await classroom.comment(lesson, 'gone')];
      await revokeEnrollment(course, learner);
      expect((await classroom.deleteComment(deleted.body.data.id)).status).to.equal(204);
      expectError(await classroom.deleteComment(deleted.body.data.id), 'not_found');
      const { data, total } = (await administratorsList()).body;
      expect([data[0].id, total]).to.deep.equal([remaining.body.data.id, 1]);
    });

    it('returns the same 404 for an unknown comment and for a comment of another student or club', async () => {
      const foreignCourse = await buildOpenCourse((await buildClub()).id);
      const foreign = classroomOf(foreignCourse, await buildLearner(foreignCourse));
      const { id: foreignId } = (await foreign.comment(foreignCourse.lessons[0]?.publicId ?? '', 'theirs')).body.data;
      const { id } = (await classroomOf(course, await buildLearner(course)).comment(lesson, 'theirs')).body.data;
      const before = await rowCounts();
      const answers = [];
      for (const other of [id, foreignId, newId()]) answers.push(await classroom.deleteComment(other));
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(new Set(answers.map(visible)).size).to.equal(1);
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('DELETE /v1/clubs/{clubId}/comments/{commentId}', () => {
    it('lets a member of any role delete a comment', async () => {
      await eachCase(roles, async (role) => {
        const { id } = (await classroom.comment(lesson, `for ${role}`)).body.data;
        const { token } = role === 'owner' ? club.owner : await buildMember(club.id, role);
        const path = `/v1/clubs/${club.id}/comments/${id}`;
        expect((await call('DELETE', path, { token })).status).to.equal(204);
        expectError(await call('DELETE', path, { token }), 'not_found');
      });
      expect((await classroom.comments(lesson)).body).to.deep.equal({ data: [], total: 0 });
    });

    it('returns 404 if the comment or its lesson is unknown or of another club, and deletes nothing', async () => {
      const { id } = (await classroom.comment(lesson, 'ours')).body.data;
      const elsewhere = callsOf(await buildClub());
      const before = await rowCounts();
      expectError(await elsewhere('DELETE', `/comments/${id}`), 'not_found');
      expectError(await elsewhere('GET', `/lessons/${course.lessons[0]?.id}/comments`), 'not_found');
      expectError(await write('GET', `/lessons/${newId()}/comments`), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('a student who has no access to the course', () => {
    it('gets 404 for reading and writing comments', async () => {
      await classroom.comment(lesson, 'ours');
      const outsider = classroomOf(course, await buildStudent(club.id));
      await eachCase([await outsider.comments(lesson), await outsider.comment(lesson, 'theirs')], (answer) =>
        expectError(answer, 'not_found'),
      );
      expect((await administratorsList()).body.total).to.equal(1);
    });
  });
});
