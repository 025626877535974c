import { expect } from 'chai';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { passagesOf, sourceRow, textsOf } from '../toolkit/assert/sources.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import type { TestSource } from '../toolkit/builders/sources.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { until } from '../toolkit/drive/until.ts';
import { useTemporal, useWorkerProcesses } from '../toolkit/stack/worker.ts';
import { buildMaterial, buildAgent } from '../toolkit/builders/agents.ts';

const second = 1_000;

async function buildClubWithAgent(): Promise<{ club: Awaited<ReturnType<typeof buildClub>>; moduleId: string }> {
  const club = await buildClub();
  const { id: courseId, moduleIds } = await buildCourse(club.id, { modules: 1, lessons: 0 });
  await buildMaterial((await buildAgent(club.id)).id, { courseId });
  return { club, moduleId: moduleIds[0] ?? '' };
}

interface PublishedLesson extends TestSource {
  change: (content: string) => Promise<unknown>;
}

async function publishLesson(content: string): Promise<PublishedLesson> {
  const { club, moduleId } = await buildClubWithAgent();
  const administer = callsOf(club);
  const created = await administer('POST', `/modules/${moduleId}/lessons`, {
    title: 'The bowline',
    content,
    published: true,
  });
  if (created.status !== 201) throw new Error(`The lesson was refused: ${created.text}`);
  const lessonId: string = created.body.data.id;
  const [row] = await (
    await testDatabase()
  ).query<{ id: string }[]>(`SELECT id FROM agent_sources WHERE lesson_id = $1`, [lessonId]);
  if (!row) throw new Error('The lesson is not in the index.');
  const change = (text: string) => administer('PATCH', `/lessons/${lessonId}`, { content: text });
  return { id: row.id, clubId: club.id, lessonId, mediaId: null, change };
}

/** Three workers are killed at three failpoints. A fourth completes the indexing. */
describe('the indexing of a published lesson after three workers were killed', function () {
  this.timeout(300 * second);
  const startWorker = useWorkerProcesses('indexing');
  const temporal = useTemporal();
  const places = ['source_claimed', 'source_read', 'source_recorded'] as const;
  const statesAfterKill = new Map<
    string,
    { signal: NodeJS.Signals | null; status: string; texts: string[]; fence: number }
  >();
  let killed: PublishedLesson;
  let untouched: PublishedLesson;

  before('kill three workers, and start a fourth', async function () {
    this.timeout(300 * second);
    for (const place of places) {
      const worker = await startWorker({ FAILPOINT: place });
      if (statesAfterKill.size === 0) killed = await publishLesson('# Loops\nA bowline holds. It unties, too.');
      const { signal } = await worker.exited;
      const { status, fence } = await sourceRow(killed);
      statesAfterKill.set(place, { signal, status, fence, texts: await textsOf(killed) });
    }
    await startWorker();
    untouched = await publishLesson('A clove hitch slips.');
    expect(await temporal().workflow.getHandle(workflowIdOf('sourceIndex', killed.id)).result()).to.equal('ready');
  });

  it('repeats a step that was not recorded', () => {
    const text = 'A bowline holds. It unties, too.';
    expect(Object.fromEntries(statesAfterKill)).to.deep.equal({
      source_claimed: { signal: 'SIGKILL', status: 'indexing', fence: 1, texts: [] },
      source_read: { signal: 'SIGKILL', status: 'indexing', fence: 2, texts: [] },
      source_recorded: { signal: 'SIGKILL', status: 'ready', fence: 3, texts: [text] },
    });
  });

  it('does not repeat a recorded step', async () => {
    const passages = await passagesOf(killed);
    expect(passages.map(({ title, headings, blocks }) => ({ title, headings, blocks }))).to.deep.equal([
      { title: 'The bowline', headings: ['Loops'], blocks: ['A bowline holds. ', 'It unties, too.'] },
    ]);
    const ended = { fence: 3, attempts: 3, indexedVersion: 1, leaseUntil: null, looksAt: null };
    expect(await sourceRow(killed)).to.include(ended);
  });

  it('makes a new lesson and later its changed text available to agents', async () => {
    await until(
      'its passages',
      { timeoutMs: 20 * second },
      async () => (await sourceRow(untouched)).status === 'ready',
    );
    expect(await textsOf(untouched)).to.deep.equal(['A clove hitch slips.']);
    await untouched.change('A clove hitch holds.');
    await until(
      'its new passages',
      { timeoutMs: 20 * second },
      async () => (await sourceRow(untouched)).indexedVersion === 2,
    );
    expect(await textsOf(untouched)).to.deep.equal(['A clove hitch holds.']);
  });
});
