import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { inThisOrder } from '../toolkit/drive/races.ts';
import { rowCounts, withAuditEntries } from '../toolkit/stack/database.ts';

describe('lessons', () => {
  let club: TestClub;
  let course: OpenCourse;
  let write: ReturnType<typeof callsOf>;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id);
    write = callsOf(club);
  });
  const create = (body: object) => write('POST', `/modules/${course.moduleId}/lessons`, body);
  const change = (id: Id, body: object) => write('PATCH', `/lessons/${id}`, body);

  describe('POST /v1/clubs/{clubId}/modules/{moduleId}/lessons', () => {
    it('creates an unpublished lesson, and returns the complete record that later reads return', async () => {
      const { status, body } = await create({ title: ' Sheet  bend ' });
      expect(status).to.equal(201);
      const { id, created_at: createdAt } = body.data;
      expect(body.data).to.deep.equal({
        id,
        public_id: 'sheet-bend',
        course_id: course.id,
        module_id: course.moduleId,
        title: 'Sheet bend',
        content: '',
        points: 0,
        published: false,
        created_at: createdAt,
        updated_at: createdAt,
      });
      expect((await write('GET', `/lessons/${id}`)).body).to.deep.equal(body);
    });

    it('stores every given field, and publishes the lesson immediately if the request says so', async () => {
      const fields = { title: 'Carrick bend', content: '# How', public_id: 'Bends_1', points: 10, published: true };
      const { data } = (await create(fields)).body;
      expect(data).to.include({ ...fields, published_at: data.created_at });
      const { data: outline } = (await write('GET', `/courses/${course.id}`)).body;
      expect(outline.modules[0].lessons[1]).to.deep.equal({
        id: data.id,
        public_id: 'Bends_1',
        title: 'Carrick bend',
        points: 10,
        published: true,
      });
    });

    it('returns 409 public_id_taken if any lesson of the club, even a removed one, has the public id', async () => {
      const { data } = (await create({ title: 'Sheet bend', public_id: 'bend' })).body;
      const other = await buildOpenCourse(club.id);
      const again = () => write('POST', `/modules/${other.moduleId}/lessons`, { title: 'Bend', public_id: 'bend' });
      const before = await rowCounts();
      expectError(await again(), 'public_id_taken');
      await write('DELETE', `/lessons/${data.id}`);
      expectError(await again(), 'public_id_taken');
      expect(await rowCounts()).to.deep.equal(withAuditEntries(before, 1));
      expect((await create({ title: 'Bend' })).body.data.public_id).to.equal('bend-2');
    });

    it('returns 422 for a field outside its bounds, and accepts values at the bounds', async () => {
      const within = [
        { public_id: 'a'.repeat(32) },
        { points: 0 },
        { points: 10_000 },
        { content: '🎓'.repeat(100_000) },
      ];
      const beyond = [
        { public_id: 'a'.repeat(33) },
        { public_id: '.a' },
        { points: -1 },
        { points: 10_001 },
        { content: 'x'.repeat(100_001) },
        { title: '' },
        { title: 'x'.repeat(201) },
      ];
      await eachCase(within, async (body) => expect((await create({ title: 'Bend', ...body })).status).to.equal(201));
      const before = await rowCounts();
      await eachCase(beyond, async (body) => expectError(await create({ title: 'Bend', ...body }), 'invalid_request'));
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('PATCH /v1/clubs/{clubId}/lessons/{lessonId}', () => {
    it('changes only the given fields', async () => {
      let record = (await create({ title: 'Bend', points: 5 })).body.data;
      await eachCase(
        [{ title: 'Hitch' }, { content: '# How' }, { public_id: 'hitch' }, { points: 0 }, { content: '' }],
        async (fields) => {
          clock.advance(1_000);
          const { status, body } = await change(record.id, fields);
          expect(status).to.equal(200);
          expect(body.data.updated_at > record.updated_at).to.equal(true);
          record = { ...record, ...fields, updated_at: body.data.updated_at };
          expect(body.data).to.deep.equal(record);
        },
      );
    });

    it('sets published_at at the first publication, and removes it when the lesson is unpublished', async () => {
      const { id } = (await create({ title: 'Bend' })).body.data;
      const since = async (published: boolean): Promise<string | undefined> => {
        clock.advance(1_000);
        const { data } = (await change(id, { published })).body;
        expect(data.published).to.equal(published);
        return data.published_at;
      };
      const first = (await since(true)) ?? '';
      expect(await since(true)).to.equal(first);
      expect(await since(false)).to.equal(undefined);
      expect(((await since(true)) ?? '') > first).to.equal(true);
    });

    it('returns 409 public_id_taken for a taken public id, and changes no field, not even the title', async () => {
      await create({ title: 'Bend', public_id: 'bend' });
      const other = (await create({ title: 'Hitch' })).body;
      expectError(await change(other.data.id, { title: 'New', public_id: 'bend' }), 'public_id_taken');
      expect((await write('GET', `/lessons/${other.data.id}`)).body).to.deep.equal(other);
    });
  });

  describe('DELETE /v1/clubs/{clubId}/lessons/{lessonId}', () => {
    it('removes the lesson and its comments from the outline, from reads and from the classroom', async () => {
      const [lesson = { id: '', publicId: '' }] = course.lessons;
      const classroom = classroomOf(course, await buildLearner(course));
      const { data: comment } = (await classroom.comment(lesson.publicId, 'It holds.')).body;
      expect((await write('DELETE', `/lessons/${lesson.id}`)).status).to.equal(204);
      expect((await write('GET', `/courses/${course.id}`)).body.data).to.deep.include({
        lesson_count: 0,
        published_lesson_count: 0,
        modules: [{ id: course.moduleId, title: 'Module 1', lessons: [] }],
      });
      await eachCase(
        [
          await write('GET', `/lessons/${lesson.id}`),
          await write('PATCH', `/lessons/${lesson.id}`, { title: 'Back' }),
          await write('DELETE', `/lessons/${lesson.id}`),
          await write('GET', `/lessons/${lesson.id}/comments`),
          await write('DELETE', `/comments/${comment.id}`),
          await classroom.lesson(lesson.publicId),
        ],
        (answer) => expectError(answer, 'not_found'),
      );
      expect((await classroom.course(course.publicId)).body.data.modules).to.deep.equal([]);
    });

    it('returns 404 if the lesson is unknown or belongs to another club, and writes nothing', async () => {
      const [foreign] = (await buildOpenCourse((await buildClub()).id)).lessons;
      const before = await rowCounts();
      await eachCase([newId(), foreign?.id ?? ''], async (id) => {
        expectError(await write('GET', `/lessons/${id}`), 'not_found');
        expectError(await change(id, { title: 'Bend' }), 'not_found');
        expectError(await write('DELETE', `/lessons/${id}`), 'not_found');
      });
      expect(await rowCounts()).to.deep.equal(before);
    });

    describe('while the lesson is being removed', () => {
      let id: Id;
      beforeEach(async () => {
        ({ id } = (await create({ title: 'Bend' })).body.data);
      });
      const removal = () => write('DELETE', `/lessons/${id}`);
      const publication = () => change(id, { published: true });
      const statusesInOrder = async (...requests: (typeof removal)[]) => {
        const lock = sql`SELECT 1 FROM courses WHERE id = ${course.id} FOR UPDATE`;
        return (await inThisOrder(lock, ...requests)).map(({ status }) => status);
      };

      it('returns 404 for a second removal', async () => {
        expect(await statusesInOrder(removal, removal, removal)).to.deep.equal([204, 404, 404]);
      });

      it('returns 404 for a change that is stored after the removal', async () => {
        expect(await statusesInOrder(removal, publication)).to.deep.equal([204, 404]);
        expectError(await write('GET', `/lessons/${id}`), 'not_found');
      });

      it('accepts a change that is stored before the removal, and then removes the lesson', async () => {
        expect(await statusesInOrder(publication, removal)).to.deep.equal([200, 204]);
        expectError(await write('GET', `/lessons/${id}`), 'not_found');
      });
    });
  });
});
