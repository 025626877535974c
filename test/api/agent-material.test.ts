import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { indexedSourcesOf } from '../toolkit/assert/sources.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildAgent, type TestAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCourse, type TestCourse } from '../toolkit/builders/courses.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('agent material', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;
  let agent: TestAgent;
  let course: TestCourse;
  let file: { id: Id };

  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
    agent = await buildAgent(club.id);
    course = await buildCourse(club.id, { modules: 1, lessons: 3 });
    file = await buildMedia(club.id);
  });
  const none = { course_ids: [], lesson_ids: [], media_ids: [] };
  const setMaterial = (fields: object, id = agent.id) => write('PUT', `/agents/${id}/material`, { ...none, ...fields });
  const material = async (id = agent.id) => (await write('GET', `/agents/${id}/material`)).body.data;
  const sources = async (query = '', id = agent.id) => (await write('GET', `/agents/${id}/sources${query}`)).body;
  const lessonIds = () => course.lessons.map(({ id }) => id);
  const sorted = (ids: readonly Id[]) => ids.toSorted();
  const indexed = async () => (await indexedSourcesOf(club.id)).map(({ itemId }) => itemId);

  describe('PUT /v1/clubs/{clubId}/agents/{agentId}/material', () => {
    it('stores the items in their order, creates a source for each item, and wakes the indexing', async () => {
      const [one, two, three] = lessonIds();
      const items = { ...none, lesson_ids: [three, one, two], media_ids: [file.id] };
      let answer = await setMaterial(none);
      const woken = await wakesBy(club.id, async () => (answer = await setMaterial(items)));
      expect(answer.status).to.equal(200);
      expect(answer.body.data).to.deep.equal(items);
      expect(await material()).to.deep.equal(items);
      const index = await indexedSourcesOf(club.id);
      expect(index.map(({ itemId }) => itemId)).to.deep.equal(sorted([...lessonIds(), file.id]));
      expect(woken).to.deep.equal(sorted(index.map(({ id }) => workflowIdOf('sourceIndex', id))));
    });

    it('replaces all material: former items leave the index, and only new items are read (ANS-7)', async () => {
      await setMaterial({ course_ids: [course.id], media_ids: [file.id] });
      const before = await indexedSourcesOf(club.id);
      const [keptLesson] = lessonIds();
      const woken = await wakesBy(club.id, () => setMaterial({ lesson_ids: [keptLesson] }));
      const dropped = before.filter(({ itemId }) => itemId !== keptLesson);
      expect(woken).to.deep.equal(sorted(dropped.map(({ id }) => workflowIdOf('sourceIndex', id))));
      expect(await indexedSourcesOf(club.id)).to.deep.equal(before.filter(({ itemId }) => itemId === keptLesson));
      await setMaterial(none);
      expect(await indexed()).to.deep.equal([]);
    });

    it('indexes a lesson once for several agents, and removes the lesson when no active agent uses it', async () => {
      const other = await buildAgent(club.id, { status: 'draft' });
      const [lesson] = lessonIds();
      await setMaterial({ course_ids: [course.id], lesson_ids: [lesson] });
      await setMaterial({ lesson_ids: [lesson] }, other.id);
      expect(await indexed()).to.deep.equal(sorted(lessonIds()));
      await setMaterial(none);
      expect(await indexed()).to.deep.equal([lesson]);
      await write('PATCH', `/agents/${other.id}`, { status: 'archived' });
      expect(await indexed()).to.deep.equal([]);
      await write('PATCH', `/agents/${other.id}`, { status: 'draft' });
      expect(await indexed()).to.deep.equal([lesson]);
    });

    it('accepts unpublished lessons, and indexes a lesson once it is published', async () => {
      const draft = await buildCourse(club.id, { modules: 1, lessons: 1, status: 'draft' });
      const arriving = await buildMedia(club.id, { status: 'processing' });
      const [lesson] = lessonIds();
      await write('PATCH', `/lessons/${lesson}`, { published: false });
      const items = { course_ids: [draft.id], lesson_ids: [lesson], media_ids: [arriving.id] };
      expect((await setMaterial(items)).body.data).to.deep.equal(items);
      expect(await indexed()).to.deep.equal([]);
      await write('PATCH', `/lessons/${lesson}`, { published: true });
      await write('PATCH', `/courses/${draft.id}`, { status: 'published' });
      expect(await indexed()).to.deep.equal(sorted([lesson ?? '', draft.lessons[0]?.id ?? '']));
    });

    it('does not index lessons again if their order changes, but removes a deleted lesson from the index', async () => {
      const [first, second, third] = lessonIds();
      await setMaterial({ lesson_ids: lessonIds() });
      const before = await indexedSourcesOf(club.id);
      const modules = [{ id: course.moduleIds[0], lesson_ids: [third, second, first] }];
      expect((await write('PUT', `/courses/${course.id}/order`, { modules })).status).to.equal(200);
      expect(await indexedSourcesOf(club.id)).to.deep.equal(before);
      await write('DELETE', `/lessons/${second}`);
      expect(await indexed()).to.deep.equal(sorted([first ?? '', third ?? '']));
      expect(await material()).to.deep.equal({ ...none, lesson_ids: [first, third] });
      expect((await setMaterial(await material())).status).to.equal(200);
    });

    it('returns 404 with the field and the position of an unknown item, and changes nothing', async () => {
      const elsewhere = await buildClub();
      const foreign = await buildCourse(elsewhere.id, { modules: 1, lessons: 1 });
      const foreignFile = await buildMedia(elsewhere.id);
      const [first, second] = lessonIds();
      await write('DELETE', `/lessons/${second}`);
      const removedFile = await buildMedia(club.id);
      const source = await testDatabase();
      await source.query(`UPDATE media SET removed_at = now() WHERE id = $1`, [removedFile.id]);
      const image = await buildMedia(club.id, { studentId: (await buildStudent(club.id)).id });
      await setMaterial({ lesson_ids: [first], media_ids: [file.id] });
      const before = [await rowCounts(), await material(), await indexedSourcesOf(club.id)];
      const refused: [object, string][] = [
        [{ course_ids: [course.id, newId()] }, 'course_ids/1'],
        [{ course_ids: [foreign.id] }, 'course_ids/0'],
        [{ lesson_ids: [newId(), first] }, 'lesson_ids/0'],
        [{ lesson_ids: [foreign.lessons[0]?.id] }, 'lesson_ids/0'],
        [{ lesson_ids: [first, second] }, 'lesson_ids/1'],
        [{ lesson_ids: [course.id] }, 'lesson_ids/0'],
        [{ media_ids: [file.id, foreignFile.id] }, 'media_ids/1'],
        [{ media_ids: [removedFile.id] }, 'media_ids/0'],
        [{ media_ids: [image.id] }, 'media_ids/0'],
      ];
      await eachCase(refused, async ([fields, field]) => {
        const answer = await setMaterial(fields);
        expectError(answer, 'not_found');
        expect(answer.body.error.message).to.match(new RegExp(`^${field}: `));
      });
      expect([await rowCounts(), await material(), await indexedSourcesOf(club.id)]).to.deep.equal(before);
    });

    it('accepts 100 valid ids of each kind, and returns 422 for more, invalid or repeated ids', async () => {
      const many = await buildCourse(club.id, { modules: 1, lessons: 101 });
      const ids = many.lessons.map(({ id }) => id);
      expect((await setMaterial({ lesson_ids: ids.slice(0, 100) })).status).to.equal(200);
      await eachCase(['course_ids', 'lesson_ids', 'media_ids'], async (field) => {
        expectError(await setMaterial({ [field]: field === 'lesson_ids' ? ids : ids.map(newId) }), 'invalid_request');
        expectError(await setMaterial({ [field]: ['x'] }), 'invalid_request');
      });
      expectError(await setMaterial({ course_ids: [course.id, course.id] }), 'invalid_request');
      expect(await indexed()).to.have.length(100);
      const spelled = await setMaterial({ course_ids: [course.id, course.id.toUpperCase()] });
      expect(spelled.body.data).to.deep.equal({ ...none, course_ids: [course.id] });
    });

    it('returns 400 for a missing field and an unknown field', async () => {
      const at = `/agents/${agent.id}/material`;
      await eachCase(['course_ids', 'lesson_ids', 'media_ids'] as const, async (field) => {
        const { [field]: _, ...rest } = none;
        expectError(await write('PUT', at, rest), 'malformed_request');
      });
      expectError(await setMaterial({ file_ids: [] }), 'malformed_request');
    });
  });

  describe('GET /v1/clubs/{clubId}/agents/{agentId}/sources', () => {
    it('lists this agent’s sources with their indexing state, newest first, filtered by status, in pages', async () => {
      const other = await buildAgent(club.id);
      await setMaterial({ course_ids: [course.id] }, other.id);
      const [lesson] = lessonIds();
      clock.advance(1_000);
      await setMaterial({ lesson_ids: [lesson], media_ids: [file.id] });
      const { data, total } = await sources();
      expect(total).to.equal(2);
      const [ofFile, ofLesson] = data;
      const at = ofFile.created_at;
      expect(ofFile).to.deep.equal({
        id: ofFile.id,
        kind: 'media',
        media_id: file.id,
        title: 'Rope handbook',
        status: 'pending',
        passage_count: 0,
        warnings: [],
        created_at: at,
        updated_at: at,
      });
      expect(ofLesson).to.include({ kind: 'lesson', lesson_id: lesson, title: 'Lesson 1', status: 'pending' });
      expect((await sources('?page=2&page_size=1')).data).to.deep.equal([ofLesson]);
      expect((await sources('', other.id)).total).to.equal(3);

      const source = await testDatabase();
      await source.query(
        `UPDATE agent_sources SET status = 'ready', page_count = 12, passage_count = 40, indexed_at = $2, looks_at = NULL WHERE id = $1`,
        [ofFile.id, at],
      );
      await source.query(`UPDATE agent_sources SET status = 'failed', error_code = 'empty' WHERE id = $1`, [
        ofLesson.id,
      ]);
      const ready = { ...ofFile, status: 'ready', page_count: 12, passage_count: 40, indexed_at: at };
      expect(await sources('?status=ready')).to.deep.equal({ data: [ready], total: 1 });
      const failed = { ...ofLesson, status: 'failed', error_code: 'empty' };
      expect(await sources('?status=failed')).to.deep.equal({ data: [failed], total: 1 });
      expect(await sources('?status=indexing')).to.deep.equal({ data: [], total: 0 });
    });

    it('lists the unreadable parts of each source, and filters sources with warnings', async () => {
      await setMaterial({ lesson_ids: lessonIds(), media_ids: [file.id] });
      const source = await testDatabase();
      const warnings = [{ code: 'page_is_a_picture', count: 2, pages: [3, 4] }];
      await source.query(`UPDATE agent_sources SET warnings = $2 WHERE media_id = $1`, [
        file.id,
        JSON.stringify(warnings),
      ]);
      const read = async (query: string) =>
        (await sources(query)).data.map((one: { media_id?: string; warnings: unknown }) => [
          one.media_id,
          one.warnings,
        ]);
      const found = [[file.id, warnings]];
      expect(await read('?warning=page_is_a_picture')).to.deep.equal(found);
      expect(await read('?warning=any')).to.deep.equal(found);
      expect(await read('?warning=part_skipped')).to.deep.equal([]);
      expect(await read('')).to.deep.include.members([...found, [undefined, []]]);
    });
  });

  describe('POST /v1/clubs/{clubId}/agents/{agentId}/sources/{sourceId}/reindex', () => {
    it('returns 202, wakes the indexing, and keeps the indexed passages', async () => {
      await setMaterial({ media_ids: [file.id] });
      const [{ id }] = (await sources()).data;
      const source = await testDatabase();
      await source.query(
        `UPDATE agent_sources SET status = 'failed', error_code = 'unreadable', attempts = 3, indexed_version = 1, passage_count = 7,
              looks_at = NULL WHERE id = $1`,
        [id],
      );
      clock.advance(1_000);
      let answer = await setMaterial({ media_ids: [file.id] });
      const woken = await wakesBy(club.id, async () => {
        answer = await write('POST', `/agents/${agent.id}/sources/${id}/reindex`);
      });
      expect(answer.status).to.equal(202);
      expect(answer.body.data).to.include({ id, status: 'pending', passage_count: 7 });
      expect(answer.body.data).not.to.have.property('error_code');
      expect(woken).to.deep.equal([workflowIdOf('sourceIndex', id)]);
      const [row] = await source.query<object[]>(
        `SELECT wanted_version, indexed_version, attempts, looks_at = updated_at AS due FROM agent_sources WHERE id = $1`,
        [id],
      );
      expect(row).to.deep.equal({ wanted_version: 2, indexed_version: 1, attempts: 0, due: true });
    });

    it('returns 404 for an unknown source and a source of another agent or club, and wakes nothing', async () => {
      const other = await buildAgent(club.id);
      await setMaterial({ media_ids: [file.id] }, other.id);
      const [{ id }] = (await sources('', other.id)).data;
      const stranger = callsOf(await buildClub());
      const woken = await wakesBy(club.id, async () => {
        await eachCase([newId(), id], async (sourceId) =>
          expectError(await write('POST', `/agents/${agent.id}/sources/${sourceId}/reindex`), 'not_found'),
        );
        expectError(await stranger('POST', `/agents/${other.id}/sources/${id}/reindex`), 'not_found');
      });
      expect(woken).to.deep.equal([]);
      expect((await indexedSourcesOf(club.id)).map(({ wantedVersion }) => wantedVersion)).to.deep.equal([1]);
    });
  });
});
