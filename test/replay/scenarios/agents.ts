/** Scenarios: answers of agents, and the indexing of the sources that the answers use. */
import type { WorkflowHandle } from '@temporalio/client';
import type { Script } from '../../../dev/fake-model/script.ts';
import { book } from '../../toolkit/builders/office-files.ts';
import { buildQuestion, type TestQuestion } from '../../toolkit/builders/questions.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../../toolkit/builders/sources.ts';
import { changeLesson } from '../../toolkit/drive/indexing.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

async function runOfQuestion(
  { by }: Recorder,
  { questionId: id, clubId, agentId }: TestQuestion,
): Promise<WorkflowHandle> {
  return by.startOrSignal('agentAnswer', { id, clubId, attributes: { AgentId: agentId } });
}

async function answered(recorder: Recorder, ...scripts: Script[]): Promise<WorkflowHandle> {
  recorder.model().next(...scripts);
  return runOfQuestion(recorder, await buildQuestion());
}

/** @param onceRead a function that is called after the worker has read the source */
async function indexed(
  { by, injected }: Recorder,
  source: TestSource,
  onceRead = async () => {},
): Promise<WorkflowHandle> {
  injected.onSourceRead = onceRead;
  return by.signalWithStart('sourceIndex', source);
}

const bowline = () => buildLessonSource('A bowline holds.');
const tenMinutes: Script = { answer: ['Ten ', 'minutes.'] };

export const agentScenarios: Scenarios = {
  agentAnswer: {
    complete: (recorder) => answered(recorder, tenMinutes),
    'overloaded-then-complete': (recorder) => answered(recorder, { refuse: 529 }, tenMinutes),
    async 'woken-while-asking'(recorder) {
      const question = await buildQuestion();
      recorder.model().next({ ...tenMinutes, delayMs: 1_000 });
      await runOfQuestion(recorder, question);
      await recorder.model().waitFor(1, 5_000);
      return runOfQuestion(recorder, question);
    },
    async interrupted(recorder) {
      const question = await buildQuestion();
      const source = await testDatabase();
      await source.query(
        `UPDATE agent_answers SET call_no = 1, begun_at = created_at, lease_until = clock_timestamp() + interval '2 s' WHERE id = $1`,
        [question.answerId],
      );
      return runOfQuestion(recorder, question);
    },
  },
  sourceIndex: {
    ready: async (recorder) => indexed(recorder, await buildFileSource(await book(300))),
    failed: async (recorder) => indexed(recorder, await buildFileSource('%PDF-1.7 and no more')),
    'fault-then-ready': async (recorder) =>
      indexed(recorder, await bowline(), () => Promise.reject(new Error('a fault of ours'))),
    async 'changed-meanwhile'(recorder) {
      const source = await bowline();
      return indexed(recorder, source, () => changeLesson(source, 'A clove hitch slips.'));
    },
    async 'gone-meanwhile'(recorder) {
      const source = await bowline();
      const db = await testDatabase();
      return indexed(recorder, source, () => db.query(`DELETE FROM agent_sources WHERE id = $1`, [source.id]));
    },
  },
};
