import { expect } from 'chai';
import * as fc from 'fast-check';
import { updateAgent } from '../../../domain/agents/setup/agents.ts';
import { languages } from '../../../entities/clubs/values.ts';
import { setMaterial } from '../../../domain/agents/setup/material.ts';
import { syncSources } from '../../../domain/knowledge/sources.ts';
import { updateClub } from '../../../domain/clubs/settings.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { updateCourse } from '../../../domain/learning/courses/courses.ts';
import { createLesson, updateLesson } from '../../../domain/learning/courses/lessons.ts';
import { citationRows } from '../../toolkit/assert/answers.ts';
import { indexedSourcesOf, passagesOf, textsOf } from '../../toolkit/assert/sources.ts';
import { wakesBy } from '../../toolkit/assert/wakes.ts';
import { buildCharge } from '../../toolkit/builders/questions.ts';
import { endAnswer } from '../../toolkit/drive/answers.ts';
import { alterSource, stepSource, whenRead } from '../../toolkit/drive/indexing.ts';
import { findAnswer } from '../../../domain/agents/conversations/messages.ts';
import { reindexSource } from '../../../domain/agents/setup/source-list.ts';
import { retrieve } from '../../../domain/knowledge/retrieval.ts';
import { buildAgent, buildMaterial } from '../../toolkit/builders/agents.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildLesson } from '../../toolkit/builders/courses.ts';
import { buildMedia } from '../../toolkit/builders/media.ts';
import { buildLessonSource, buildPassages, buildSource } from '../../toolkit/builders/sources.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../toolkit/drive/races.ts';
import { recordingEnds } from '../../toolkit/fakes/databases.ts';
import { changeFile, openIndexedClub } from '../../toolkit/model/source-index.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';

/** New material must not be an archived file (MED-14). */
function unlessArchived(error: unknown): void {
  if (!(error instanceof DomainError && error.code === 'media_archived')) throw error;
}

/** Computes the expected sources from the club's rows only. */
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

async function give(
  clubId: Id,
  agentId: Id,
  { courses = [], lessons = [], files = [] }: Partial<Record<'courses' | 'lessons' | 'files', readonly Id[]>>,
): Promise<void> {
  const { db } = await testDeps();
  const material = { course_ids: [...courses], lesson_ids: [...lessons], media_ids: [...files] };
  await setMaterial({ db }, clubId, agentId, material, new Date());
}

describe('the sources of a club’s index', () => {
  it('remain unchanged when the content of another club changes', async () => {
    const { db } = await testDeps();
    const [ours, theirs] = [await openIndexedClub(), await openIndexedClub()];
    for (const { clubId, agents, files } of [ours, theirs])
      await give(clubId, agents[0].id, { files: files.map(({ id }) => id) });
    const before = await indexedSourcesOf(theirs.clubId);
    await updateClub({ db }, ours.clubId, { language: 'pt' }, new Date());
    const foreign = { mediaIds: theirs.files.map(({ id }) => id), contentChanged: true };
    await db.transaction((tx) => syncSources(tx, ours.clubId, foreign, new Date()));
    expect((await indexedSourcesOf(ours.clubId)).map(({ wantedVersion }) => wantedVersion)).to.deep.equal([2, 2]);
    expect(await indexedSourcesOf(theirs.clubId)).to.deep.equal(before);
  });

  it('become pending and due immediately if their content changes', async () => {
    const { db } = await testDeps();
    const source = await testDatabase();
    const [{ id: clubId }, now] = [await buildClub(), new Date()];
    const [agent, file] = [await buildAgent(clubId), await buildMedia(clubId)];
    await give(clubId, agent.id, { files: [file.id] });
    const [{ id } = { id: '' }] = await indexedSourcesOf(clubId);
    await source.query(
      `UPDATE agent_sources SET status = 'failed', error_code = 'unreadable', attempts = 3, looks_at = NULL, indexed_version = 1,
              passage_count = 1 WHERE id = $1`,
      [id],
    );
    await buildPassages({ id, clubId }, ['Words.']);
    const changed = { mediaIds: [file.id], contentChanged: true };
    await db.transaction((tx) => syncSources(tx, clubId, changed, now));
    const [row] = await source.query<object[]>(
      `SELECT id, status, error_code, attempts, looks_at, wanted_version, indexed_version, passage_count FROM agent_sources
        WHERE club_id = $1`,
      [clubId],
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

describe('a source that leaves the index', () => {
  const texts = Array.from({ length: 5 }, (_, place) => `Knot ${place} joins a rope to a rope.`);
  /** The file has passages, and an agent answers from it. */
  const indexed = async () => {
    const { id: clubId } = await buildClub();
    const [agent, file] = [await buildAgent(clubId), await buildMedia(clubId)];
    const source = await buildSource(clubId, { mediaId: file.id, passages: texts });
    await buildMaterial(agent.id, { mediaId: file.id });
    const { db } = await testDeps();
    return {
      source,
      clubId,
      agentId: agent.id,
      files: [file.id],
      db,
      takeAway: () => give(clubId, agent.id, {}),
      find: () => retrieve(db, { clubId, agentId: agent.id, question: 'Which knot?', limit: 8 }),
    };
  };

  it('is no longer found or linked, and its workflow run deletes the passages', async () => {
    const { source, clubId, agentId, db, takeAway, find } = await indexed();
    const asker = { clubId, agentId, studentId: (await buildStudent(clubId)).id };
    const answerId = await buildCharge(asker, 1n, new Date());
    await endAnswer(answerId, { citations: [{ citedText: 'one', sourceId: source.id }] });
    expect(await find()).to.have.length(5);
    const woken = await wakesBy(clubId, takeAway);
    expect(woken).to.deep.equal([`source-index/${source.id}`]);
    expect(await find()).to.deep.equal([]);
    expect((await findAnswer(db, answerId))?.citations).to.deep.equal([
      { cited_text: 'one', source_kind: 'lesson', source_title: 'Bends' },
    ]);
    const again = await reindexSource({ db }, clubId, agentId, source.id, new Date()).catch((error: unknown) => error);
    expect(again).to.include({ code: 'not_found' });
    expect(await textsOf(source)).to.deep.equal(texts);
    expect(await stepSource(source, { removalBatch: 2 })).to.deep.equal({ done: true, outcome: 'gone' });
    expect(await passagesOf(source)).to.deep.equal([]);
    expect(await citationRows(answerId))
      .to.have.length(1)
      .and.have.nested.property('[0].sourceId', null);
  });

  it('does not affect the new source if the same file enters the index again', async () => {
    const { source, clubId, agentId, files, takeAway, find } = await indexed();
    await takeAway();
    await give(clubId, agentId, { files });
    const [entered = fail()] = await indexedSourcesOf(clubId);
    expect(entered.id).not.to.equal(source.id);
    await buildPassages({ id: entered.id, clubId }, ['Another knot.']);
    expect((await find()).map(({ sourceId }) => sourceId)).to.deep.equal([entered.id]);
    await updateAgent({ db: (await testDeps()).db }, clubId, agentId, { status: 'archived' }, new Date());
    await updateAgent({ db: (await testDeps()).db }, clubId, agentId, { status: 'published' }, new Date());
    const [third = fail(), ...others] = await indexedSourcesOf(clubId);
    expect(others).to.deep.equal([]);
    await buildPassages({ id: third.id, clubId }, ['A third knot.']);
    for (const { id } of [source, entered]) expect(await stepSource({ id })).to.include({ outcome: 'gone' });
    expect((await find()).map(({ sourceId }) => sourceId)).to.deep.equal([third.id]);
  });

  it('is deleted in batches, even if a worker dies', async () => {
    const { source, clubId, agentId, takeAway } = await indexed();
    const answerId = await buildCharge({ clubId, agentId, studentId: (await buildStudent(clubId)).id }, 1n, new Date());
    const cited = { citedText: 'one', sourceId: source.id };
    await endAnswer(answerId, { citations: [cited, cited, cited] });
    await takeAway();
    const remainingRows: [passages: number, links: number][] = [];
    const counts = async (place: string) => {
      if (place !== 'source_batch_removed') return;
      const linked = (await citationRows(answerId)).filter(({ sourceId }) => sourceId !== null);
      remainingRows.push([(await passagesOf(source)).length, linked.length]);
    };
    const dies = async (place: string) => {
      if (place === 'source_batch_removed') throw new Error('the worker dies here');
    };
    expect(await stepSource(source, { removalBatch: 2, failpoint: dies })).to.include({ done: false, attempt: 2 });
    expect(await passagesOf(source)).to.have.length(3);
    const later = Date.now() + 3_600_000;
    const next = await stepSource(source, { removalBatch: 2, failpoint: counts }, { now: later });
    expect(next).to.include({ outcome: 'gone' });
    expect(remainingRows).to.deep.equal([
      [1, 3],
      [0, 3],
      [0, 1],
      [0, 0],
    ]);
  });

  it('is removed even after many failed tries of its removal', async () => {
    const { source, takeAway } = await indexed();
    await takeAway();
    await alterSource(source, 'attempts = 1000');
    const failing = async (place: string) => {
      if (place === 'source_batch_removed') throw new Error('Postgres is away');
    };
    const now = Date.now();
    const step = await stepSource(source, { failpoint: failing }, { now });
    expect(step).to.deep.equal({ done: false, at: now + 3_600_000, attempt: 1_002 });
    const [fault] = await Promise.allSettled([alterSource(source, 'looks_at = NULL')]);
    expect(fault).to.have.nested.property('reason.message').that.includes('agent_sources_removed');
    expect(await stepSource(source, {}, { now: now + 3_600_000 })).to.include({ outcome: 'gone' });
  });

  it('stops the current indexing from recording passages', async () => {
    const source = await buildLessonSource('Old words.');
    const { id: agentId } = await buildAgent(source.clubId);
    await buildMaterial(agentId, { lessonId: source.lessonId ?? '' });
    const step = await stepSource(
      source,
      whenRead(() => give(source.clubId, agentId, {})),
    );
    expect(step).to.include({ done: false });
    expect(await passagesOf(source)).to.deep.equal([]);
    expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'gone' });
  });
});

function fail(): never {
  throw new Error('There is one.');
}

const each = <T>(of: fc.Arbitrary<T>, count: number) => fc.array(of, { minLength: count, maxLength: count });
/** All administrators act at the same time. */
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

describe('administrators who change material at the same time', () => {
  it('index a lesson that is published while its course becomes material', async () => {
    const { db } = await testDeps();
    const { clubId, courses, agents } = await openIndexedClub();
    const { id } = await buildLesson(courses[0], { published: false });
    let publishing: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      async (tx) => {
        await tx.manager.query(
          `INSERT INTO agent_materials (id, agent_id, course_id) VALUES (gen_random_uuid(), $1, $2)`,
          [agents[0].id, courses[0].id],
        );
        await syncSources(tx, clubId, { courseIds: [courses[0].id] }, new Date());
      },
      async () => {
        publishing = updateLesson({ db }, clubId, id, { published: true }, new Date());
        await untilWaitingForLocks(1);
      },
    );
    await publishing;
    expect(await indexedItems(clubId)).to.deep.equal([id]);
  });

  it('index a lesson whose course becomes material while it is published', async () => {
    const { clubId, courses, agents } = await openIndexedClub();
    const { id } = await buildLesson(courses[0], { published: false });
    let giving: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      async (tx) => {
        await tx.manager.query(`UPDATE lessons SET published_at = now() WHERE id = $1`, [id]);
        await syncSources(tx, clubId, { lessonIds: [id] }, new Date());
      },
      async () => {
        giving = give(clubId, agents[0].id, { courses: [courses[0].id] });
        await untilWaitingForLocks(1);
      },
    );
    await giving;
    expect(await indexedItems(clubId)).to.deep.equal([id]);
  });

  for (const first of ['file', 'lesson'] as const)
    it(`cause no deadlock with an answer that cites a file and a lesson, if the ${first} has the lower id`, async () => {
      const { clubId, courses, files, agents } = await openIndexedClub();
      const [lesson, agent] = [await buildLesson(courses[0]), agents[0].id];
      const material = { files: [files[0].id], lessons: [lesson.id] };
      // The first source has the lower id.
      await give(clubId, agent, first === 'file' ? { files: material.files } : { lessons: material.lessons });
      await give(clubId, agent, material);
      const ids = (await indexedSourcesOf(clubId)).map(({ id }) => id).toSorted();
      expect(ids).to.have.length(2);
      // Locks the sources one after the other, by id, as the end of an answer does.
      const share = (tx: Transaction, id: Id | undefined) =>
        tx.manager.query(`SELECT 1 FROM agent_sources WHERE id = $1 FOR KEY SHARE NOWAIT`, [id]);
      let emptied: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => share(tx, ids[0]),
        async (tx) => {
          emptied = give(clubId, agent, {});
          await untilWaitingForLocks(1);
          await share(tx, ids[1]);
        },
      );
      await emptied;
      expect(await indexedSourcesOf(clubId)).to.deep.equal([]);
    });

  it('leave exactly the required sources in the index, and no transaction fails', async function () {
    this.timeout(120_000);
    const usual = await testDeps();
    const db = recordingEnds(usual.db);
    const world = await openIndexedClub();
    const { clubId } = world;
    const now = new Date();
    const lessons: Id[] = [];
    for (let at = 0; at < 6; at++) {
      const moduleId = world.courses[at % 2]?.moduleIds[0] ?? '';
      lessons.push((await createLesson({ db }, clubId, moduleId, { title: 'a', published: true }, now)).id);
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
              setMaterial({ db }, clubId, id, material, now).catch(unlessArchived),
              updateAgent({ db }, clubId, id, { status }, now),
            ];
          }),
          ...lessons.map((id, place) =>
            updateLesson({ db }, clubId, id, { content: `${at}`, published: published[place] ?? true }, now),
          ),
          ...world.courses.map(({ id }, place) =>
            updateCourse({ db }, clubId, id, { status: statuses[place] ?? 'published' }, now),
          ),
          ...world.files.map(({ id }, place) => changeFile(clubId, id, `archived = ${archived[place] ?? false}`)),
          updateClub({ db }, clubId, { language: languages[at % languages.length] ?? 'en' }, now),
        ]);
        expect(await indexedItems(clubId), `round ${at}`).to.deep.equal(await wantedOf(clubId));
      }
      expect(db.ends).to.deep.equal([]);
    });
    await fc.assert(property, { numRuns: 1, endOnFailure: true }); // prints its seed if it fails
  });

  it('cause no deadlock with an answer that cites eight sources', async () => {
    const usual = await testDeps();
    const db = recordingEnds(usual.db);
    const { id: clubId } = await buildClub();
    const agent = await buildAgent(clubId);
    const files = await Promise.all(Array.from({ length: 8 }, () => buildMedia(clubId)));
    const fileIds: Id[] = [];
    // The order of the files must differ from the order of the sources' ids.
    for (const { id } of files.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
      fileIds.push(id);
      await give(clubId, agent.id, { files: fileIds });
    }
    const source = await testDatabase();
    await source.query(
      `UPDATE agent_sources SET title = 'b' WHERE id = (SELECT min(id::text)::uuid FROM agent_sources WHERE club_id = $1)`,
      [clubId],
    );
    const ids = (await indexedSourcesOf(clubId)).map(({ id }) => id).toSorted();
    const share = (tx: Transaction, id: Id | undefined) =>
      tx.manager.query(`SELECT 1 FROM agent_sources WHERE id = $1 FOR KEY SHARE`, [id]);
    const nothing = { course_ids: [], lesson_ids: [], media_ids: [] };
    let emptied: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => share(tx, ids[0]),
      async (tx) => {
        emptied = setMaterial({ db }, clubId, agent.id, nothing, new Date());
        await untilWaitingForLocks(1);
        for (const id of ids.slice(1)) await share(tx, id);
      },
    );
    await emptied;
    expect(db.ends).to.deep.equal([]);
    expect(await indexedSourcesOf(clubId)).to.deep.equal([]);
  });
});
