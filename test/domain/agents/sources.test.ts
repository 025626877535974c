/** The club's index against a model of it: whatever is done to agents, material, courses, lessons and files, it holds what is wanted, and no more. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { updateAgent } from '../../../domain/agents/agents.ts';
import { languages, type AgentStatus } from '../../../domain/agents/agents.policy.ts';
import { setMaterial } from '../../../domain/agents/material.ts';
import { syncSources } from '../../../domain/agents/sources.ts';
import { updateClub } from '../../../domain/clubs/settings.ts';
import { inTransaction, type Transaction } from '../../../domain/core/database.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { workflowIdOf } from '../../../domain/facts/workflow-names.policy.ts';
import { updateCourse } from '../../../domain/learning/courses.ts';
import { createLesson, removeLesson, updateLesson } from '../../../domain/learning/lessons.ts';
import type { CourseStatus } from '../../../entities/learning/course.ts';
import { indexedSourcesOf } from '../../toolkit/assert/sources.ts';
import { buildAgent } from '../../toolkit/builders/agents.ts';
import { testDatabase, testPlatform } from '../../toolkit/stack/database.ts';
import { wakesBy } from '../../toolkit/assert/wakes.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildCourse } from '../../toolkit/builders/courses.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../toolkit/drive/races.ts';
import { recordingEnds } from '../../toolkit/fakes/databases.ts';
import { buildPassages } from '../../toolkit/builders/sources.ts';

type Act =
  | { kind: 'create'; course: number; published: boolean }
  | { kind: 'write'; lesson: number; title?: string; content?: string; published?: boolean; points?: number }
  | { kind: 'remove'; lesson: number }
  | { kind: 'course'; course: number; title?: string; status?: CourseStatus }
  | { kind: 'material'; agent: number; courses: number[]; lessons: number[]; files: number[] }
  | { kind: 'agent'; agent: number; status: AgentStatus }
  | { kind: 'file'; file: number; title?: string; ready?: boolean; archived?: boolean }
  | { kind: 'language'; language: (typeof languages)[number] };

const either = fc.nat(1);
const word = fc.constantFrom('a', 'b');
const whichLesson = fc.nat(5);
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const act = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create'), course: either, published: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('write'),
      lesson: whichLesson,
      title: sometimes(word),
      content: sometimes(word),
      published: sometimes(fc.boolean()),
      points: sometimes(fc.nat(1)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove'), lesson: whichLesson }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('course'),
      course: either,
      title: sometimes(word),
      status: sometimes(fc.constantFrom('draft', 'published', 'published', 'archived')),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('material'),
      agent: either,
      courses: fc.uniqueArray(either),
      lessons: fc.uniqueArray(whichLesson, { maxLength: 3 }),
      files: fc.uniqueArray(either),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('agent'),
      agent: either,
      status: fc.constantFrom('draft', 'published', 'archived'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('file'),
      file: either,
      title: sometimes(word),
      ready: sometimes(fc.boolean()),
      archived: sometimes(fc.boolean()),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('language'), language: fc.constantFrom(...languages) }) },
) as fc.Arbitrary<Act>;

/** Each sequence begins with some, so that much of it is about them. */
const firstLessons = [0, 1, 0].map((course): Act => ({ kind: 'create', course, published: true }));
const lengths = { minLength: 4, maxLength: 20, size: 'max' } as const;

interface Lesson {
  id: Id;
  course: number;
  title: string;
  content: string;
  published: boolean;
  removed: boolean;
}

/** The model: what there is, what is wanted of it, and how often its words have changed while it was. */
class Model {
  readonly courses = [0, 1].map(() => ({ title: 'Knots', status: 'published' as CourseStatus }));
  readonly lessons: Lesson[] = [];
  readonly files: { id: Id; title: string; ready: boolean; archived: boolean }[] = [];
  readonly agents = [0, 1].map(() => ({
    status: 'published' as AgentStatus,
    courses: [] as number[],
    lessons: [] as Id[],
    files: [] as Id[],
  }));
  language = 'en';
  index = new Map<Id, { title: string; version: number }>();

  /** Takes over what is wanted now. @param changed whose words have changed @returns those that are to be read */
  settle(changed: ReadonlySet<Id>): Id[] {
    const before = this.index;
    this.index = new Map(
      this.#wanted().map(({ id, title }) => {
        const version = before.get(id)?.version ?? 0;
        return [id, { title, version: version === 0 || changed.has(id) ? version + 1 : version }];
      }),
    );
    return [...this.index].filter(([id, { version }]) => before.get(id)?.version !== version).map(([id]) => id);
  }

  #wanted(): { id: Id; title: string }[] {
    const living = this.agents.filter(({ status }) => status !== 'archived');
    const lessons = this.lessons.filter(
      (lesson) =>
        lesson.published &&
        !lesson.removed &&
        this.courses[lesson.course]?.status === 'published' &&
        living.some((agent) => agent.lessons.includes(lesson.id) || agent.courses.includes(lesson.course)),
    );
    const files = this.files.filter(
      ({ id, ready, archived }) => ready && !archived && living.some((agent) => agent.files.includes(id)),
    );
    return [...lessons, ...files];
  }
}

async function buildWorld() {
  const club = await buildClub();
  const courses = await Promise.all([0, 1].map(() => buildCourse(club.id, { modules: 1, lessons: 0, title: 'Knots' })));
  const agents = await Promise.all([0, 1].map(() => buildAgent(club.id)));
  const files = await Promise.all([0, 1].map(() => buildMedia(club.id, { title: 'a' })));
  return { clubId: club.id, courses, agents, files };
}
type World = Awaited<ReturnType<typeof buildWorld>>;

/** What an act about a file does, as the media library will: the row, and the index in the same transaction. */
async function changeFile({ clubId }: World, id: Id, set: string, values: readonly unknown[] = []): Promise<void> {
  const { database } = await testPlatform();
  await inTransaction(database, async (tx) => {
    await tx.query(`UPDATE media SET ${set} WHERE id = $1`, [id, ...values]);
    await syncSources(tx, clubId, { mediaIds: [id] }, new Date());
  });
}

/** Does it, in the world and in the model. @returns whose words have changed */
async function perform(done: Act, world: World, model: Model): Promise<Set<Id>> {
  const { database } = await testPlatform();
  const { clubId } = world;
  const now = new Date();
  const lessonAt = (at: number) => model.lessons.filter(({ removed }) => !removed)[at];
  switch (done.kind) {
    case 'create': {
      const moduleId = world.courses[done.course]?.moduleIds[0] ?? '';
      const { id } = await createLesson(
        database,
        clubId,
        moduleId,
        { title: 'a', content: 'a', published: done.published },
        now,
      );
      model.lessons.push({
        id,
        course: done.course,
        title: 'a',
        content: 'a',
        published: done.published,
        removed: false,
      });
      return new Set();
    }
    case 'write': {
      const lesson = lessonAt(done.lesson);
      if (!lesson) return new Set();
      const { title, content, published, points } = done;
      const given = {
        ...(title !== undefined && { title }),
        ...(content !== undefined && { content }),
        ...(published !== undefined && { published }),
        ...(points !== undefined && { points }),
      };
      await updateLesson(database, clubId, lesson.id, given, now);
      const before = { ...lesson };
      Object.assign(lesson, given);
      return new Set(before.title === lesson.title && before.content === lesson.content ? [] : [lesson.id]);
    }
    case 'remove': {
      const lesson = lessonAt(done.lesson);
      if (!lesson) return new Set();
      await removeLesson(database, clubId, lesson.id, now);
      lesson.removed = true;
      return new Set();
    }
    case 'course': {
      const course = model.courses[done.course];
      if (!course) throw new Error('There are two courses');
      const { title = course.title, status = course.status } = done;
      await updateCourse(database, clubId, world.courses[done.course]?.id ?? '', { title, status }, now);
      const renamed = title !== course.title;
      Object.assign(course, { title, status });
      return new Set(renamed ? model.lessons.filter((one) => one.course === done.course).map(({ id }) => id) : []);
    }
    case 'material': {
      const agent = model.agents[done.agent];
      if (!agent) throw new Error('There are two agents');
      agent.courses = done.courses;
      agent.lessons = done.lessons.flatMap((at) => lessonAt(at)?.id ?? []);
      agent.files = done.files.map((at) => world.files[at]?.id ?? '');
      await setMaterial(
        database,
        clubId,
        world.agents[done.agent]?.id ?? '',
        {
          course_ids: done.courses.map((at) => world.courses[at]?.id ?? ''),
          lesson_ids: agent.lessons,
          media_ids: agent.files,
        },
        now,
      );
      return new Set();
    }
    case 'agent':
      await updateAgent(database, clubId, world.agents[done.agent]?.id ?? '', { status: done.status }, now);
      Object.assign(model.agents[done.agent] ?? {}, { status: done.status });
      return new Set();
    case 'file': {
      const file = model.files[done.file];
      if (!file) throw new Error('There are two files');
      const { title = file.title, ready = file.ready, archived = file.archived } = done;
      await changeFile(world, file.id, 'title = $2, status = $3, archived = $4', [
        title,
        ready ? 'ready' : 'processing',
        archived,
      ]);
      const retitled = title !== file.title;
      Object.assign(file, { title, ready, archived });
      return new Set(retitled ? [file.id] : []);
    }
    case 'language': {
      const changed = done.language !== model.language;
      await updateClub(database, clubId, { language: done.language }, now);
      model.language = done.language;
      return new Set(changed ? [...model.lessons, ...model.files].map(({ id }) => id) : []);
    }
  }
}

/** What should stand in a club's index, told from its rows alone. */
async function wantedOf(clubId: Id): Promise<Id[]> {
  const source = await testDatabase();
  const rows = await source.query<{ id: Id }[]>(
    `SELECT lesson.id FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
       JOIN agent_materials material ON material.lesson_id = lesson.id OR material.course_id = course.id
       JOIN agents agent ON agent.id = material.agent_id
      WHERE lesson.club_id = $1 AND lesson.published_at IS NOT NULL AND lesson.removed_at IS NULL
        AND course.status = 'published' AND agent.status <> 'archived'
      UNION
     SELECT file.id FROM media file JOIN agent_materials material ON material.media_id = file.id
       JOIN agents agent ON agent.id = material.agent_id
      WHERE file.club_id = $1 AND file.status = 'ready' AND NOT file.archived AND file.removed_at IS NULL
        AND agent.status <> 'archived'
      ORDER BY 1`,
    [clubId],
  );
  return rows.map(({ id }) => id);
}

const indexedItems = async (clubId: Id) => (await indexedSourcesOf(clubId)).map(({ itemId }) => itemId);

describe('the club’s index, against a model', () => {
  it('holds the wanted sources after any changes, and raises versions only with new words', async function () {
    this.timeout(180_000);
    const { database } = await testPlatform();
    await fc.assert(
      fc.asyncProperty(fc.array(act, lengths), async (acts) => {
        const world = await buildWorld();
        const model = new Model();
        model.files.push(...world.files.map(({ id }) => ({ id, title: 'a', ready: true, archived: false })));
        for (const done of [...firstLessons, ...acts]) {
          let changed = new Set<Id>();
          const woken = await wakesBy(world.clubId, async () => {
            changed = await perform(done, world, model);
          });
          const toRead = new Set(model.settle(changed));
          const index = await indexedSourcesOf(world.clubId);
          expect(
            index.map(({ itemId, title, wantedVersion, status }) => [itemId, title, wantedVersion, status]),
            JSON.stringify(done),
          ).to.deep.equal(
            [...model.index]
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([id, { title, version }]) => [id, title, version, 'pending']),
          );
          expect(woken, JSON.stringify(done)).to.deep.equal(
            index
              .filter(({ itemId }) => toRead.has(itemId))
              .map(({ id }) => workflowIdOf('sourceIndex', id))
              .toSorted(),
          );
        }
        const before = await indexedSourcesOf(world.clubId);
        const again = await wakesBy(world.clubId, () =>
          inTransaction(database, (tx) => syncSources(tx, world.clubId, { wholeClub: true }, new Date())),
        );
        expect(again).to.deep.equal([]);
        expect(await indexedSourcesOf(world.clubId)).to.deep.equal(before);
      }),
      { numRuns: Number(process.env.SOURCES_MODEL_SEQUENCES ?? 40) },
    );
  });

  it('two clubs: the change of one does not touch the other', async () => {
    const { database } = await testPlatform();
    const now = new Date();
    const indexes = [];
    for (let club = 0; club < 2; club++) {
      const world = await buildWorld();
      const media = world.files.map(({ id }) => id);
      const material = { course_ids: [], lesson_ids: [], media_ids: media };
      await setMaterial(database, world.clubId, world.agents[0]?.id ?? '', material, now);
      indexes.push({ world, before: await indexedSourcesOf(world.clubId) });
    }
    const [first, second] = indexes;
    if (!first || !second) throw new Error('There are two clubs');
    await updateClub(database, first.world.clubId, { language: 'pt' }, now);
    await inTransaction(database, (tx) =>
      syncSources(
        tx,
        first.world.clubId,
        { mediaIds: second.world.files.map(({ id }) => id), contentChanged: true },
        now,
      ),
    );
    expect((await indexedSourcesOf(first.world.clubId)).map(({ wantedVersion }) => wantedVersion)).to.deep.equal([
      2, 2,
    ]);
    expect(await indexedSourcesOf(second.world.clubId)).to.deep.equal(second.before);
  });
});

describe('a source that is read anew', () => {
  it('begins again: pending, without an error, due at once; its passages stay, and so does its id', async () => {
    const { database } = await testPlatform();
    const source = await testDatabase();
    const world = await buildWorld();
    const file = world.files[0]?.id ?? '';
    const material = { course_ids: [], lesson_ids: [], media_ids: [file] };
    await setMaterial(database, world.clubId, world.agents[0]?.id ?? '', material, new Date());
    const [{ id } = { id: '' }] = await indexedSourcesOf(world.clubId);
    await source.query(
      `UPDATE agent_sources SET status = 'failed', error_code = 'unreadable', attempts = 3, looks_at = NULL, indexed_version = 1,
              passage_count = 1 WHERE id = $1`,
      [id],
    );
    await buildPassages({ id, clubId: world.clubId }, ['Words.']);
    const now = new Date();
    await inTransaction(database, (tx) =>
      syncSources(tx, world.clubId, { mediaIds: [file], contentChanged: true }, now),
    );
    const [row] = await source.query<object[]>(
      `SELECT id, status, error_code, attempts, looks_at, wanted_version, indexed_version, passage_count FROM agent_sources
        WHERE club_id = $1`,
      [world.clubId],
    );
    expect(row).to.deep.equal({
      id,
      status: 'pending',
      error_code: null,
      attempts: 0,
      looks_at: now,
      wanted_version: 2,
      indexed_version: 1,
      passage_count: 1,
    });
    expect(await source.query(`SELECT 1 FROM agent_passages WHERE source_id = $1`, [id])).to.have.length(1);
  });
});

const each = <T>(of: fc.Arbitrary<T>, count: number) => fc.array(of, { minLength: count, maxLength: count });
/** What all administrators of a world do at the same time: two agents, six lessons, two courses and two files change at once. */
const everything = fc.record({
  agents: each(
    fc.record({
      courses: fc.subarray([0, 1]),
      lessons: fc.subarray([0, 1, 2, 3, 4, 5]),
      files: fc.subarray([0, 1]),
      status: fc.constantFrom('published', 'published', 'archived'),
    }),
    2,
  ),
  published: each(fc.constantFrom(true, true, false), 6),
  statuses: each(fc.constantFrom('published', 'published', 'draft'), 2),
  archived: each(fc.constantFrom(false, false, true), 2),
});

describe('administrators who change things at the same time', () => {
  it('a lesson is published while a course with it becomes material: in either order it is indexed', async () => {
    const { database } = await testPlatform();
    for (const materialFirst of [true, false]) {
      const world = await buildWorld();
      const { clubId } = world;
      const [course, agent] = [world.courses[0], world.agents[0]];
      if (!course || !agent) throw new Error('The world has both');
      const now = new Date();
      const given = { title: 'Bends', published: false };
      const { id } = await createLesson(database, clubId, course.moduleIds[0] ?? '', given, now);
      let second: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        async (tx) => {
          if (materialFirst) {
            await tx.query(`INSERT INTO agent_materials (id, agent_id, course_id) VALUES ($1, $2, $3)`, [
              newId(),
              agent.id,
              course.id,
            ]);
            await syncSources(tx, clubId, { courseIds: [course.id] }, now);
          } else {
            await tx.query(`UPDATE lessons SET published_at = $2 WHERE id = $1`, [id, now]);
            await syncSources(tx, clubId, { lessonIds: [id] }, now);
          }
        },
        async () => {
          const material = { course_ids: [course.id], lesson_ids: [], media_ids: [] };
          second = materialFirst
            ? updateLesson(database, clubId, id, { published: true }, now)
            : setMaterial(database, clubId, agent.id, material, now);
          await untilWaitingForLocks(1);
        },
      );
      await second;
      expect(await indexedItems(clubId), String(materialFirst)).to.deep.equal([id]);
    }
  });

  it('an answer that cites a file and a lesson is not in the way of who takes both from the index', async () => {
    const { database } = await testPlatform();
    const world = await buildWorld();
    const { clubId } = world;
    const [course, file, agentId] = [world.courses[0], world.files[0]?.id ?? '', world.agents[0]?.id ?? ''];
    const now = new Date();
    const given = { title: 'Bends', published: true };
    const { id: lesson } = await createLesson(database, clubId, course?.moduleIds[0] ?? '', given, now);
    const material = (mediaIds: Id[], lessonIds: Id[]) =>
      setMaterial(database, clubId, agentId, { course_ids: [], lesson_ids: lessonIds, media_ids: mediaIds }, now);
    // The one that comes first here has the lower id: either kind does once.
    for (const isFileFirst of [true, false]) {
      await (isFileFirst ? material([file], []) : material([], [lesson]));
      await material([file], [lesson]);
      const ids = (await indexedSourcesOf(clubId)).map(({ id }) => id).toSorted();
      expect(ids).to.have.length(2);
      // As the end of an answer takes them: one after the other, by id.
      const share = (tx: Transaction, id: Id | undefined) =>
        tx.query(`SELECT 1 FROM agent_sources WHERE id = $1 FOR KEY SHARE NOWAIT`, [id]);
      let emptied: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => share(tx, ids[0]),
        async (tx) => {
          emptied = material([], []);
          await untilWaitingForLocks(1);
          await share(tx, ids[1]);
        },
      );
      await emptied;
      expect(await indexedSourcesOf(clubId)).to.deep.equal([]);
    }
  });

  it('everything at once, in many rounds: no transaction is given up, and what is left is what is wanted', async function () {
    this.timeout(120_000);
    const usual = await testPlatform();
    const database = recordingEnds(usual.database);
    const world = await buildWorld();
    const { clubId } = world;
    const now = new Date();
    const lessons: Id[] = [];
    for (let at = 0; at < 6; at++) {
      const moduleId = world.courses[at % 2]?.moduleIds[0] ?? '';
      lessons.push((await createLesson(database, clubId, moduleId, { title: 'a', published: true }, now)).id);
    }
    const property = fc.asyncProperty(fc.array(everything, { minLength: 15, maxLength: 15 }), async (rounds) => {
      for (const [at, { agents, published, statuses, archived }] of rounds.entries()) {
        const chosen = (from: readonly { id: Id }[], places: readonly number[]) =>
          places.flatMap((place) => from[place]?.id ?? []);
        await Promise.all([
          ...world.agents.flatMap(({ id }, place) => {
            const { courses = [], lessons: own = [], files = [], status = 'published' } = agents[place] ?? {};
            const material = {
              course_ids: chosen(world.courses, courses),
              lesson_ids: own.flatMap((lesson) => lessons[lesson] ?? []),
              media_ids: chosen(world.files, files),
            };
            return [
              setMaterial(database, clubId, id, material, now),
              updateAgent(database, clubId, id, { status }, now),
            ];
          }),
          ...lessons.map((id, place) =>
            updateLesson(database, clubId, id, { content: `${at}`, published: published[place] ?? true }, now),
          ),
          ...world.courses.map(({ id }, place) =>
            updateCourse(database, clubId, id, { status: statuses[place] ?? 'published' }, now),
          ),
          ...world.files.map(({ id }, place) => changeFile(world, id, `archived = ${archived[place] ?? false}`)),
          updateClub(database, clubId, { language: languages[at % languages.length] ?? 'en' }, now),
        ]);
        expect(await indexedItems(clubId), `round ${at}`).to.deep.equal(await wantedOf(clubId));
      }
      expect(database.ends).to.deep.equal([]);
    });
    await fc.assert(property, { numRuns: 1, endOnFailure: true }); // a failure prints its seed
  });

  it('who cites several sources by their ids is in nobody’s way: they go once the citing is done', async () => {
    const usual = await testPlatform();
    const database = recordingEnds(usual.database);
    const world = await buildWorld();
    const { clubId } = world;
    const agent = world.agents[0]?.id ?? '';
    const files = await Promise.all(Array.from({ length: 8 }, () => buildMedia(clubId)));
    const material = { course_ids: [], lesson_ids: [], media_ids: [] as Id[] };
    // So that neither the files nor the rows on their pages have the order of the sources' ids.
    for (const { id } of files.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
      material.media_ids.push(id);
      await setMaterial(database, clubId, agent, material, new Date());
    }
    const source = await testDatabase();
    await source.query(
      `UPDATE agent_sources SET title = 'b' WHERE id = (SELECT min(id::text)::uuid FROM agent_sources WHERE club_id = $1)`,
      [clubId],
    );
    const ids = (await indexedSourcesOf(clubId)).map(({ id }) => id).toSorted();
    const [first = '', ...others] = ids;
    let emptied: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => tx.query(`SELECT 1 FROM agent_sources WHERE id = $1 FOR KEY SHARE`, [first]),
      async (tx) => {
        emptied = setMaterial(database, clubId, agent, { ...material, media_ids: [] }, new Date());
        await untilWaitingForLocks(1);
        for (const id of others) await tx.query(`SELECT 1 FROM agent_sources WHERE id = $1 FOR KEY SHARE`, [id]);
      },
    );
    await emptied;
    expect(database.ends).to.deep.equal([]);
    expect(await indexedSourcesOf(clubId)).to.deep.equal([]);
  });
});
