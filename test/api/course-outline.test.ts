/** Tests how administrators write modules, lessons and their order. */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildOpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('course outline', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;
  let courseId: Id;

  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
    courseId = (await write('POST', '/courses', { title: 'Knots' })).body.data.id;
  });
  const addModule = async (title: string): Promise<Id> =>
    (await write('POST', `/courses/${courseId}/modules`, { title })).body.data.id;
  const addLesson = async (moduleId: Id, title: string): Promise<Id> =>
    (await write('POST', `/modules/${moduleId}/lessons`, { title })).body.data.id;

  const courseLock = () => sql`SELECT 1 FROM courses WHERE id = ${courseId} FOR UPDATE`;

  /** Returns the current titles as `[module, [lessons]]`. */
  async function outline(): Promise<unknown[]> {
    const { modules } = (await write('GET', `/courses/${courseId}`)).body.data;
    return modules.map(({ title, lessons }: { title: string; lessons: { title: string }[] }) => [
      title,
      lessons.map((lesson) => lesson.title),
    ]);
  }

  describe('modules', () => {
    it('are added after the last module of the course', async () => {
      const { status, body } = await write('POST', `/courses/${courseId}/modules`, { title: ' Bends ' });
      expect(status).to.equal(201);
      const { id, created_at: createdAt } = body.data;
      expect(body.data).to.deep.equal({ id, course_id: courseId, title: 'Bends', created_at: createdAt });
      await addModule('Hitches');
      await addModule('Splices');
      expect(await outline()).to.deep.equal([
        ['Bends', []],
        ['Hitches', []],
        ['Splices', []],
      ]);
    });

    it('renames a module', async () => {
      const id = await addModule('Bends');
      expect((await write('PATCH', `/modules/${id}`, { title: 'Hitches' })).body.data).to.include({
        id,
        title: 'Hitches',
      });
      expect(await outline()).to.deep.equal([['Hitches', []]]);
    });

    it('are deleted if they have no lessons, and otherwise cause 409 in_use', async () => {
      const id = await addModule('Bends');
      const lesson = await addLesson(id, 'Sheet bend');
      expectError(await write('DELETE', `/modules/${id}`), 'in_use');
      await write('DELETE', `/lessons/${lesson}`);
      expect((await write('DELETE', `/modules/${id}`)).status).to.equal(204);
      expectError(await write('DELETE', `/modules/${id}`), 'not_found');
      expect(await outline()).to.deep.equal([]);
    });

    it('return 409 in_use for a deletion while a lesson is being added to the module', async () => {
      const id = await addModule('Bends');
      const [created, deleted] = await inThisOrder(
        courseLock(),
        () => write('POST', `/modules/${id}/lessons`, { title: 'Sheet bend' }),
        () => write('DELETE', `/modules/${id}`),
      );
      expect(created.status).to.equal(201);
      expectError(deleted, 'in_use');
      expect(await outline()).to.deep.equal([['Bends', ['Sheet bend']]]);
    });

    it('return 404 for a new lesson while the module is being deleted', async () => {
      const id = await addModule('Bends');
      const [deleted, created] = await inThisOrder(
        courseLock(),
        () => write('DELETE', `/modules/${id}`),
        () => write('POST', `/modules/${id}/lessons`, { title: 'Sheet bend' }),
      );
      expect(deleted.status).to.equal(204);
      expectError(created, 'not_found');
      expect(await outline()).to.deep.equal([]);
    });

    it('return 404 if the module or the course is unknown or belongs to another club', async () => {
      const foreign = await buildOpenCourse((await buildClub()).id);
      await eachCase([newId(), foreign.id], async (id) =>
        expectError(await write('POST', `/courses/${id}/modules`, { title: 'Bends' }), 'not_found'),
      );
      await eachCase([newId(), foreign.moduleId], async (id) => {
        expectError(await write('PATCH', `/modules/${id}`, { title: 'Bends' }), 'not_found');
        expectError(await write('DELETE', `/modules/${id}`), 'not_found');
        expectError(await write('POST', `/modules/${id}/lessons`, { title: 'Sheet bend' }), 'not_found');
      });
    });

    it('return 409 course_full if a course would get more than 100 modules or 500 lessons', async () => {
      const source = await testDatabase();
      const id = await addModule('Bends');
      await source.query(
        `INSERT INTO modules (id, club_id, course_id, title, position, created_at)
       SELECT gen_random_uuid(), club_id, course_id, title, 0, created_at FROM modules, generate_series(1, 98) WHERE id = $1`,
        [id],
      );
      const lesson = await addLesson(id, 'Sheet bend');
      await source.query(
        `INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, position, created_at, updated_at)
       SELECT gen_random_uuid(), club_id, course_id, module_id, 'copy-' || number, title, 0, created_at, updated_at
         FROM lessons, generate_series(1, 498) AS number WHERE id = $1`,
        [lesson],
      );
      const answers = await Promise.all(
        [1, 2, 3].flatMap(() => [
          write('POST', `/courses/${courseId}/modules`, { title: 'Hitches' }),
          write('POST', `/modules/${id}/lessons`, { title: 'Carrick bend' }),
        ]),
      );
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([
        201, 201, 409, 409, 409, 409,
      ]);
      await eachCase(
        answers.filter(({ status }) => status === 409),
        (answer) => expectError(answer, 'course_full'),
      );
      await write('DELETE', `/lessons/${lesson}`);
      expect((await write('POST', `/modules/${id}/lessons`, { title: 'Carrick bend' })).status).to.equal(201);
    });
  });

  describe('PUT /v1/clubs/{clubId}/courses/{courseId}/order', () => {
    let bends: Id;
    let hitches: Id;
    let lessons: Id[];
    beforeEach(async () => {
      bends = await addModule('Bends');
      hitches = await addModule('Hitches');
      lessons = [await addLesson(bends, 'Sheet'), await addLesson(bends, 'Carrick'), await addLesson(hitches, 'Clove')];
    });
    const order = (...modules: [id: Id, lessonIds: (Id | undefined)[]][]) =>
      write('PUT', `/courses/${courseId}/order`, { modules: modules.map(([id, ids]) => ({ id, lesson_ids: ids })) });

    it('reorders modules and moves lessons between modules', async () => {
      const [sheet, carrick, clove] = lessons;
      const { status, body } = await order(
        [hitches, [carrick, clove?.toUpperCase(), sheet]],
        [bends.toUpperCase(), []],
      );
      expect(status).to.equal(200);
      expect(await outline()).to.deep.equal([
        ['Hitches', ['Carrick', 'Clove', 'Sheet']],
        ['Bends', []],
      ]);
      expect((await write('GET', `/courses/${courseId}`)).body).to.deep.equal(body);
      expect((await write('GET', `/lessons/${sheet}`)).body.data.module_id).to.equal(hitches);
      await addLesson(hitches, 'Rolling');
      await addModule('Splices');
      expect(await outline()).to.deep.equal([
        ['Hitches', ['Carrick', 'Clove', 'Sheet', 'Rolling']],
        ['Bends', []],
        ['Splices', []],
      ]);
    });

    it('accepts a course without modules', async () => {
      courseId = (await write('POST', '/courses', { title: 'Empty' })).body.data.id;
      expect((await order()).status).to.equal(200);
    });

    it('returns 422 unless the order names each module and lesson exactly once, and moves nothing', async () => {
      const [sheet, carrick, clove] = lessons;
      const removed = await addLesson(bends, 'Removed');
      await write('DELETE', `/lessons/${removed}`);
      const other = await buildOpenCourse(club.id);
      const [theirs] = other.lessons;
      const before = [await outline(), await rowCounts()];
      const answers = [
        await order([bends, [sheet, carrick, clove]]),
        await order([bends, [sheet, carrick]], [hitches, []]),
        await order([bends, [sheet, carrick, carrick]], [hitches, [clove]]),
        await order([bends, [sheet, carrick]], [hitches, [carrick]]),
        await order([bends, [sheet, carrick]], [bends, [clove]]),
        await order([bends, [sheet, carrick]], [hitches, [clove]], [hitches, []]),
        await order([bends, [sheet, carrick]], [hitches, [newId()]]),
        await order([bends, [sheet, carrick]], [hitches, [clove, theirs?.id]]),
        await order([bends, [sheet, carrick]], [hitches, [clove, removed]]),
        await order([bends, [sheet, carrick]], [other.moduleId, [clove]]),
        await order([bends, [sheet, carrick]], [hitches, [clove]], [other.moduleId, []]),
        await order(),
      ];
      await eachCase(answers, (answer) => expectError(answer, 'invalid_request'));
      expect([await outline(), await rowCounts()]).to.deep.equal(before);
    });

    it('returns 404 for an unknown course and for a course of another club', async () => {
      const foreign = await buildOpenCourse((await buildClub()).id);
      await eachCase([newId(), foreign.id], async (id) =>
        expectError(await write('PUT', `/courses/${id}/order`, { modules: [] }), 'not_found'),
      );
    });

    describe('while a lesson is being added', () => {
      const turned = () => {
        const [sheet, carrick, clove] = lessons;
        return order([hitches, [clove]], [bends, [carrick, sheet]]);
      };
      const added = () => write('POST', `/modules/${bends}/lessons`, { title: 'Zeppelin' });

      it('succeeds if the order is stored before the lesson, which is then added at the end', async () => {
        const answers = await inThisOrder(courseLock(), turned, added);
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 201]);
        expect(await outline()).to.deep.equal([
          ['Hitches', ['Clove']],
          ['Bends', ['Carrick', 'Sheet', 'Zeppelin']],
        ]);
      });

      it('returns 422 if the lesson is stored first, because the order does not name the lesson', async () => {
        const [created, ordered] = await inThisOrder(courseLock(), added, turned);
        expect(created.status).to.equal(201);
        expectError(ordered, 'invalid_request');
        expect(await outline()).to.deep.equal([
          ['Bends', ['Sheet', 'Carrick', 'Zeppelin']],
          ['Hitches', ['Clove']],
        ]);
      });
    });
  });
});
