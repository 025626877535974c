/**
 * The scenario of indexed sources of agents: lessons, files and agents change while a run reads them. The index must contain the changes.
 */
import { mediaUses } from '../../../../domain/contexts.ts';
import { withWords } from '../../../../domain/knowledge/indexing/passage-words.policy.ts';
import { updateAgent } from '../../../../domain/agents/setup/agents.ts';
import { setMaterial } from '../../../../domain/agents/setup/material.ts';
import { reindexSource } from '../../../../domain/agents/setup/source-list.ts';
import { updateClub } from '../../../../domain/clubs/settings.ts';
import { indexingRules, maxAttempts } from '../../../../domain/knowledge/indexing/indexing.policy.ts';
import type { IndexingDeps } from '../../../../domain/knowledge/indexing/source-step.ts';
import { rollUpWords } from '../../../../domain/knowledge/words.ts';
import { createCourse, updateCourse } from '../../../../domain/learning/courses/courses.ts';
import { createLesson, removeLesson, updateLesson } from '../../../../domain/learning/courses/lessons.ts';
import { createModule } from '../../../../domain/learning/courses/modules.ts';
import { removeMedia } from '../../../../domain/media/erasure/erasure.ts';
import { updateMedia } from '../../../../domain/media/library/library.ts';
import { replaceMedia } from '../../../../domain/media/library/replacing.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';
import { addStoredFile, isCutOff } from './media-moves.ts';
import { simulatedStore } from './store.ts';

const readerMoods = ['reads', 'is slow', 'breaks'] as const;
type ReaderMood = (typeof readerMoods)[number];

interface Indexed {
  id: Id;
  itemId: Id | null;
  status: string;
  error: string | null;
  attempts: number;
  looksAt: Date | null;
  isRemoved: boolean;
  indexedVersion: number;
  passageCount: number;
  passages: { title: string; text: string; language: string }[];
}

/** A lesson or file that must be in the index. Each of its lines is a passage. */
interface ExpectedItem {
  itemId: Id;
  title: string;
  content: string | null;
  sizeBytes: number | null;
}

const words = ['bowline', 'hitch', 'splice', 'anchor', 'halyard', 'rudder'] as const;
/** A content that contains this word cannot be read. */
const illegible = 'illegible';
/** This duration is longer than a lease that is not renewed. */
const slowMs = 15_000;
const titles = ['Ropes', 'Sails', 'Tides'] as const;
const languages = ['en', 'pt', 'de'] as const;

export async function sources(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  const store = simulatedStore(sim);
  const deps = { db: sim.db, storage: store.storage, mediaUses };
  const reader = { clubId, administratorId: newId() };
  const now = () => new Date(sim.time.now);
  const courseId = await addCourse();
  const { id: moduleId } = await createModule(deps, clubId, courseId, { title: 'Module' }, now());
  const lessons = [await addLesson(), await addLesson(), await addLesson(), await addLesson()];
  const files = [await addFile(100), await addFile(101), await addFile(102)];
  const agents = [await addAgent(), await addAgent()];
  const faults: unknown[] = [];
  /** Each passage in the index must come from one of these texts. */
  const readTexts = new Set<string>();
  let mood: ReaderMood = 'reads';

  async function addCourse(): Promise<Id> {
    const { id } = await createCourse(deps, clubId, { title: 'Course' }, now());
    await updateCourse(deps, clubId, id, { status: 'published' }, now());
    return id;
  }

  async function addLesson(): Promise<Id> {
    const input = { title: 'Ropes', content: contentFrom(sim.decisions), published: true };
    return (await createLesson(deps, clubId, moduleId, input, now())).id;
  }

  /** @param sizeBytes the size, which makes the content of the file differ from other files */
  async function addFile(sizeBytes: number): Promise<Id> {
    const id = newId();
    const content = Buffer.alloc(sizeBytes);
    await addStoredFile(sim, store, { id, clubId, content, mime: 'text/plain', isProcessed: true });
    return id;
  }

  async function addAgent(): Promise<Id> {
    const id = newId();
    await sim.postgres.ask(
      `INSERT INTO agents (id, club_id, public_id, name, description, instructions, status, daily_limit, answer_max_tokens, created_at, updated_at)
       VALUES ($1, $2, $3, 'Agent', '', '', 'draft', 50, 1024, $4, $4)`,
      [id, clubId, `agent-${id}`, now()],
    );
    return id;
  }

  const extract: IndexingDeps['extract'] = async (source, { onPage, signal }) => {
    const lines = linesOf(source.kind === 'lesson' ? source.markdown : source.bytes.length);
    const readerMood = await sim.outside(`the reading of a ${source.kind}`, () => mood);
    if (readerMood === 'is slow') await pause(signal);
    signal.throwIfAborted();
    if (readerMood === 'breaks') throw new Error('The thread has ended');
    onPage(1, 1);
    if (lines.length === 0) return { result: 'unreadable', code: 'no_text', warnings: [] };
    readTexts.add(lines.join('\n'));
    return { result: 'read', pageCount: null, passages: lines.map(passageOf).map(withWords), warnings: [] };
  };

  const setMood = (next: ReaderMood): Command => ({
    label: `the reader ${next}`,
    run() {
      mood = next;
    },
  });

  function changeLesson(decisions: Decisions): Command {
    const id = decisions.pick(lessons);
    const change = decisions.pick([
      { content: contentFrom(decisions) },
      { content: contentFrom(decisions) },
      { title: decisions.pick(titles) },
      { published: false },
      { published: true },
    ]);
    return {
      label: `lesson ${id} becomes ${JSON.stringify(change)}`,
      run: async () => void (await updateLesson(deps, clubId, id, change, now())),
    };
  }

  function changeFile(decisions: Decisions): Command {
    const id = decisions.pick(files);
    const change = decisions.pick([{ archived: false }, { archived: true }, { title: decisions.pick(titles) }]);
    return {
      label: `file ${id} becomes ${JSON.stringify(change)}`,
      run: async () => void (await updateMedia(deps, reader, id, change, now())),
    };
  }

  function giveMaterial(decisions: Decisions): Command {
    const agentId = decisions.pick(agents);
    const some = (ids: readonly Id[]) => ids.filter(() => !decisions.happens(3));
    const material = { course_ids: some([courseId]), lesson_ids: some(lessons), media_ids: some(files) };
    return {
      label: `agent ${agentId} is given ${JSON.stringify(material)}`,
      run: async () => void (await setMaterial(deps, clubId, agentId, material, now())),
    };
  }

  function readAnew(decisions: Decisions): Command {
    const agentId = decisions.pick(agents);
    const position = decisions.choose(4);
    return {
      label: `agent ${agentId} requests a new reading of a source`,
      async run() {
        const rows = await sim.postgres.ask<{ id: Id }>('SELECT id FROM agent_sources ORDER BY created_at, id');
        const source = rows[position % Math.max(rows.length, 1)];
        if (source) await reindexSource(deps, clubId, agentId, source.id, now());
      },
    };
  }

  function changeMuch(decisions: Decisions): Command {
    const [id, other] = [decisions.pick(files), decisions.pick(files)];
    const agentId = decisions.pick(agents);
    const course = decisions.pick([{ status: 'published' }, { status: 'draft' }, { title: 'Another' }] as const);
    const status = decisions.pick(['draft', 'archived'] as const);
    const language = decisions.pick(languages);
    return decisions.pick<Command>([
      {
        label: `the course becomes ${JSON.stringify(course)}`,
        run: async () => void (await updateCourse(deps, clubId, courseId, course, now())),
      },
      {
        label: `agent ${agentId} becomes ${status}`,
        run: async () => void (await updateAgent(deps, clubId, agentId, { status }, now())),
      },
      {
        label: `the club speaks ${language}`,
        run: async () => void (await updateClub(deps, clubId, { language }, now())),
      },
      {
        label: `replace ${id} by ${other}`,
        run: async () => void (await replaceMedia(deps, reader, id, { with: other }, now())),
      },
    ]);
  }

  function remove(decisions: Decisions): Command {
    const [fileId, lessonId] = [decisions.pick(files), decisions.pick(lessons)];
    return decisions.pick<Command>([
      { label: `remove lesson ${lessonId}`, run: () => removeLesson(deps, clubId, lessonId, now()) },
      { label: `remove file ${fileId}`, run: () => removeMedia(deps, clubId, fileId, now(), { force: true }) },
    ]);
  }

  return {
    types: ['sourceIndex'],
    // If the process that reads a source breaks, the service tries seven times, the last time after a wait of an hour.
    horizonMs: 3 * 3_600_000,
    leaseMs: indexingRules.leaseMs,
    depsFor: (db) => ({
      sources: {
        db,
        storage: store.storage,
        extract,
        ocr: undefined,
        onFault(error) {
          if (!isCutOff(error) && String(error) !== 'Error: The thread has ended') faults.push(error);
        },
        onOutcome: () => {},
        failpoint: () => Promise.resolve(),
        removalBatch: 2,
      },
    }),
    command(decisions) {
      const which = decisions.choose(18);
      if (which < 4) return giveMaterial(decisions);
      if (which < 8) return changeLesson(decisions);
      if (which === 8) return changeFile(decisions);
      if (which === 9) return readAnew(decisions);
      if (which < 12) return changeMuch(decisions);
      if (which === 12) return { label: 'words', run: async () => void (await rollUpWords(sim.db, 3)) };
      if (which < 15) return setMood(decisions.pick(readerMoods));
      if (which < 17) return remove(decisions);
      return store.turn(decisions.pick(['answers', 'is slow', 'is away'] as const));
    },
    calm: () => [setMood('reads'), store.turn('answers')],
    async atRest() {
      const [fault] = faults;
      mustHold(faults.length === 0, 'no source is at fault', () => String(fault));
      for (const row of await readIndex()) expectWhole(row);
    },
    async atEnd() {
      const rows = await readIndex();
      const expectedItems = await readWanted();
      const language = await readLanguage();
      const unfinishedRows = rows.filter(({ looksAt, isRemoved }) => looksAt !== null || isRemoved);
      mustHold(unfinishedRows.length === 0, 'all work ends', () => JSON.stringify(unfinishedRows));
      mustHold(
        idsOf(rows) === idsOf(expectedItems),
        'the index contains exactly the expected sources',
        () => `it has ${idsOf(rows)}, and should have ${idsOf(expectedItems)}`,
      );
      for (const row of rows) {
        const item = expectedItems.find(({ itemId }) => itemId === row.itemId);
        if (item) expectFollowed(row, item, language);
      }
      await expectWords();
    },
  };

  async function readLanguage(): Promise<string> {
    const [club] = await sim.postgres.ask<{ language: string }>('SELECT language FROM clubs WHERE id = $1', [clubId]);
    return club?.language ?? '';
  }

  function readIndex(): Promise<Indexed[]> {
    return sim.postgres.ask<Indexed>(
      `SELECT source.id, coalesce(lesson_id, media_id) AS "itemId", status, error_code AS error, attempts, looks_at AS "looksAt",
              removed_at IS NOT NULL AS "isRemoved", indexed_version AS "indexedVersion", passage_count AS "passageCount",
              (SELECT coalesce(json_agg(json_build_object('title', title, 'text', text, 'language', language) ORDER BY position), '[]')
                 FROM agent_passages WHERE source_id = source.id) AS passages
         FROM agent_sources source ORDER BY source.id`,
    );
  }

  /** Derives the expected index only from the tables of lessons, files and agents. */
  async function readWanted(): Promise<ExpectedItem[]> {
    const named = await sim.postgres.ask<{ courseId: Id | null; lessonId: Id | null; mediaId: Id | null }>(
      `SELECT course_id AS "courseId", lesson_id AS "lessonId", media_id AS "mediaId"
         FROM agent_materials WHERE agent_id IN (SELECT id FROM agents WHERE status <> 'archived')`,
    );
    const [course] = await sim.postgres.ask<{ status: string }>('SELECT status FROM courses WHERE id = $1', [courseId]);
    const standing = await sim.postgres.ask<ExpectedItem & { isShown: boolean }>(
      `SELECT id AS "itemId", title, content, NULL AS "sizeBytes", published_at IS NOT NULL AND removed_at IS NULL AS "isShown" FROM lessons
        UNION ALL
       SELECT id, title, NULL, size_bytes::int, NOT archived AND removed_at IS NULL FROM media`,
    );
    const isCourseNamed = named.some((material) => material.courseId === courseId);
    return standing.filter(({ itemId, isShown, content }) => {
      const isLesson = content !== null;
      const isNamed = named.some(({ lessonId, mediaId }) => itemId === lessonId || itemId === mediaId);
      return isShown && (isNamed || (isLesson && isCourseNamed)) && (!isLesson || course?.status === 'published');
    });
  }

  /** Expects that all passages of a source come from one reading of the source. This must hold at any time. */
  function expectWhole({ id, isRemoved, indexedVersion, passageCount, passages }: Indexed): void {
    if (isRemoved) return;
    const text = passages.map((passage) => passage.text).join('\n');
    mustHold(
      passages.length === passageCount && (indexedVersion > 0 ? readTexts.has(text) : text === ''),
      'the passages of a source are from one reading',
      () => `source ${id} has ${JSON.stringify({ text, passageCount, indexedVersion })}`,
    );
    const variants = new Set(passages.map(({ title, language }) => `${title} ${language}`));
    mustHold(
      variants.size <= 1,
      'the passages of a source are from one reading',
      () => `source ${id}: ${[...variants].join()}`,
    );
  }

  /** Expects at the end that the source has the current text of its lesson or file, or the reason of its failure. */
  function expectFollowed(row: Indexed, { title, content, sizeBytes }: ExpectedItem, language: string): void {
    const lines = linesOf(content ?? sizeBytes ?? 0);
    const about = () => JSON.stringify({ row, lines, title, language });
    if (row.error === 'indexing_failed') {
      mustHold(row.attempts >= maxAttempts, 'a failed source used all its tries', about);
    } else if (lines.length === 0) {
      mustHold(row.error === 'no_text', 'the index equals the material', about);
    } else {
      const expected = lines.map((text) => ({ title, text, language }));
      mustHold(
        row.status === 'ready' && JSON.stringify(row.passages) === JSON.stringify(expected),
        'the index equals the material',
        about,
      );
    }
  }

  /** Expects that the count of each word is the number of passages that contain the word. */
  async function expectWords(): Promise<void> {
    const counts = await sim.postgres.ask<{ word: string; passages: number }>(
      `SELECT word, sum(passages)::int AS passages FROM agent_words WHERE word = ANY ($1) GROUP BY word`,
      [words],
    );
    const texts = (await readIndex()).flatMap(({ passages }) => passages.map(({ text }) => text));
    for (const word of words) {
      const isIn = texts.filter((text) => text.split(' ').includes(word)).length;
      const count = counts.find((row) => row.word === word)?.passages ?? 0;
      mustHold(count === isIn, 'sums are equal', () => `${word} is counted ${count} times, and is in ${isIn} passages`);
    }
  }
}

function contentFrom(decisions: Decisions): string {
  if (decisions.happens(8)) return illegible;
  const count = 1 + decisions.choose(4);
  return Array.from(
    { length: count },
    (_, line) => `line ${line} ${decisions.pick(words)} ${decisions.pick(words)}`,
  ).join('\n');
}

function linesOf(content: string | number): string[] {
  if (typeof content === 'string') return content === illegible ? [] : content.split('\n');
  return words.slice(0, (content % 3) + 1).map((word) => `${content} bytes ${word}`);
}

const idsOf = (rows: readonly { itemId: Id | null }[]) =>
  rows
    .map(({ itemId }) => String(itemId))
    .toSorted()
    .join(', ');

const passageOf = (text: string) => ({ page: null, headings: [], blocks: [text], text, seconds: null });

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, slowMs);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
