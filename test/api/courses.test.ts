import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildOpenCourse } from '../toolkit/builders/access.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLesson } from '../toolkit/builders/courses.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

describe('courses', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;

  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
  });
  const create = (body: object) => write('POST', '/courses', body);
  const change = (id: string, body: object) => write('PATCH', `/courses/${id}`, body);

  describe('POST /v1/clubs/{clubId}/courses', () => {
    describe('201', () => {
      it('creates a draft without modules, and returns the complete record that later reads return', async () => {
        const { status, body } = await create({ title: '  Knots   for Beginners ' });
        expect(status).to.equal(201);
        const { id, created_at: createdAt } = body.data;
        expect(body.data).to.deep.equal({
          id,
          public_id: 'knots-for-beginners',
          title: 'Knots for Beginners',
          description: '',
          status: 'draft',
          certificate_on_completion: false,
          lesson_count: 0,
          published_lesson_count: 0,
          created_at: createdAt,
          updated_at: createdAt,
          modules: [],
        });
        expect((await write('GET', `/courses/${id}`)).body).to.deep.equal(body);
      });

      it('stores every given field', async () => {
        const fields = {
          title: 'Splices',
          description: 'Eye and back.',
          public_id: 'Splices_1',
          hours: 9,
          certificate_on_completion: true,
        };
        expect((await create(fields)).body.data).to.include(fields);
      });

      it('gives different public ids to courses with the same title', async () => {
        const publicIds = [];
        for (let course = 0; course < 7; course++)
          publicIds.push((await create({ title: 'Knots' })).body.data.public_id);
        expect(publicIds.slice(0, 5)).to.deep.equal(['knots', 'knots-2', 'knots-3', 'knots-4', 'knots-5']);
        await eachCase(publicIds.slice(5), (drawn) => expect(drawn).to.match(/^knots-[0-9a-f]{6}$/));
        expect(new Set(publicIds).size).to.equal(7);
      });

      it('gives different public ids to ten courses with the same title that are created simultaneously', async () => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => create({ title: 'Knots' })));
        expect(new Set(answers.map(({ body }) => body.data.public_id)).size).to.equal(10);
      });
    });

    describe('409', () => {
      it('returns public_id_taken if another course of the club has this public id, and writes nothing', async () => {
        const body = { title: 'Knots', public_id: 'knots' };
        await create(body);
        const before = await rowCounts();
        expectError(await create(body), 'public_id_taken');
        expect(await rowCounts()).to.deep.equal(before);
        expect((await callsOf(await buildClub())('POST', '/courses', body)).status).to.equal(201);
      });

      it('returns public_id_taken for three of four simultaneous requests with one public id', async () => {
        const answers = await Promise.all([1, 2, 3, 4].map(() => create({ title: 'Knots', public_id: 'knots' })));
        expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409, 409]);
      });
    });

    it('returns 422 for a field outside its bounds, and accepts values at the bounds', async () => {
      const within = [
        { public_id: 'a' },
        { public_id: 'A'.repeat(32) },
        { public_id: '9_-' },
        { title: '🎓'.repeat(200) },
        { description: 'x'.repeat(5_000) },
        { hours: 0 },
        { hours: 10_000 },
      ];
      const beyond = [
        { public_id: '' },
        { public_id: 'a'.repeat(33) },
        { public_id: '-a' },
        { public_id: '_a' },
        { public_id: 'a b' },
        { public_id: 'ä' },
        { public_id: 'a\n' },
        { title: ' ' },
        { title: 'x'.repeat(201) },
        { description: 'x'.repeat(5_001) },
        { hours: -1 },
        { hours: 10_001 },
      ];
      await eachCase(within, async (body) => expect((await create({ title: 'Knots', ...body })).status).to.equal(201));
      const before = await rowCounts();
      await eachCase(beyond, async (body) => expectError(await create({ title: 'Knots', ...body }), 'invalid_request'));
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('GET /v1/clubs/{clubId}/courses', () => {
    it('lists the club’s courses without outlines, newest first, filtered by status, in pages', async () => {
      for (const title of ['First', 'Second', 'Third']) {
        await create({ title });
        clock.advance(1_000);
      }
      const [newest, second] = (await write('GET', '/courses')).body.data;
      await change(second.id, { status: 'published' });
      const titles = async (query: string) => {
        const { body } = await write('GET', `/courses${query}`);
        return [body.data.map(({ title }: { title: string }) => title), body.total];
      };
      expect(newest).to.not.have.any.keys('modules');
      expect(await titles('?page_size=2')).to.deep.equal([['Third', 'Second'], 3]);
      expect(await titles('?page_size=2&page=2')).to.deep.equal([['First'], 3]);
      expect(await titles('?status=published')).to.deep.equal([['Second'], 1]);
      expect(await titles('?status=archived')).to.deep.equal([[], 0]);
      expect((await callsOf(await buildClub())('GET', '/courses')).body).to.deep.equal({ data: [], total: 0 });
    });

    it('counts lessons and published lessons, without removed lessons', async () => {
      const course = await buildOpenCourse(club.id, { lessons: 2 });
      await buildLesson(course, { published: false });
      await write('DELETE', `/lessons/${course.lessons[0]?.id}`);
      const [listed] = (await write('GET', '/courses')).body.data;
      expect(listed).to.include({ lesson_count: 2, published_lesson_count: 1 });
    });

    it('returns 422 for an unknown status', async () => {
      expectError(await write('GET', '/courses?status=hidden'), 'invalid_request');
    });
  });

  describe('PATCH /v1/clubs/{clubId}/courses/{courseId}', () => {
    it('changes only the given fields', async () => {
      let record = (await create({ title: 'Knots', hours: 9 })).body.data;
      const changes = [
        { title: 'Splices' },
        { description: 'Eye and back.' },
        { public_id: 'splices' },
        { hours: 12 },
        { certificate_on_completion: true },
        { certificate_on_completion: false },
        { description: '' },
      ];
      await eachCase(changes, async (fields) => {
        clock.advance(1_000);
        const { status, body } = await change(record.id, fields);
        expect(status).to.equal(200);
        expect(body.data.updated_at > record.updated_at).to.equal(true);
        record = { ...record, ...fields, updated_at: body.data.updated_at };
        expect(body.data).to.deep.equal(record);
      });
      expect((await change(record.id, { hours: 0 })).body.data).to.not.have.any.keys('hours');
      expect((await write('GET', `/courses/${record.id}`)).body.data).to.include({ title: 'Splices' });
    });

    it('sets published_at at the first publication, and keeps it afterwards', async () => {
      const { id } = (await create({ title: 'Knots' })).body.data;
      const publishedAt = async (status: string) => {
        clock.advance(1_000);
        const { data } = (await change(id, { status })).body;
        expect(data.status).to.equal(status);
        return [data.published_at, data.updated_at];
      };
      const [first, at] = await publishedAt('published');
      expect(first).to.equal(at);
      await eachCase(['published', 'archived', 'draft'], async (status) =>
        expect((await publishedAt(status))[0]).to.equal(first),
      );
      expect((await publishedAt('published'))[0] > first).to.equal(true);
    });

    it('accepts the course’s own public id', async () => {
      const { id } = (await create({ title: 'Knots', public_id: 'knots' })).body.data;
      expect((await change(id, { public_id: 'knots' })).status).to.equal(200);
    });

    it('returns 409 public_id_taken for a taken public id, and changes no field, not even the title', async () => {
      await create({ title: 'Knots', public_id: 'knots' });
      const other = (await create({ title: 'Splices' })).body;
      expectError(await change(other.data.id, { title: 'New', public_id: 'knots' }), 'public_id_taken');
      expect((await write('GET', `/courses/${other.data.id}`)).body).to.deep.equal(other);
    });

    it('returns 404 for an unknown course or a course of another club, and 422 for an empty change', async () => {
      const foreign = await buildOpenCourse((await buildClub()).id);
      await eachCase([newId(), foreign.id], async (id) =>
        eachCase([await change(id, { title: 'Knots' }), await write('GET', `/courses/${id}`)], (answer) =>
          expectError(answer, 'not_found'),
        ),
      );
      expectError(await change(newId(), {}), 'invalid_request');
    });
  });
});
