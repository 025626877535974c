import { expect } from 'chai';
import { createPromptsAhead } from '../../../../domain/agents/prompt/prompts-ahead.ts';
import type { PromptDeps } from '../../../../domain/agents/prompt/prompt.ts';
import { stepAnswer, type AnswerDeps } from '../../../../domain/agents/answers/answer-step.ts';
import { claimCall, readAnswerState, type AnswerRow } from '../../../../domain/agents/answers/answer-rows.ts';
import { answerRow } from '../../../toolkit/assert/answers.ts';
import { buildQuestion } from '../../../toolkit/builders/questions.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { withTimersStopped } from '../../../toolkit/fakes/timers.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

describe('prompts that are prepared in advance', function () {
  this.timeout(20_000);
  const answering = useAnswering();
  let retrieved: string[];
  let deps: PromptDeps;
  beforeEach(async () => {
    retrieved = [];
    deps = {
      db: (await testDeps()).db,
      async retrieve(_db, { question }) {
        retrieved.push(question);
        return [];
      },
      readImages: async () => [],
    };
  });
  const step = async (questionId: string, changes: Pick<AnswerDeps, 'promptsAhead'>) =>
    stepAnswer(
      await answering.deps({ prompt: deps, ...changes }),
      questionId,
      Date.now(),
      new AbortController().signal,
    );
  const stateOf = async (questionId: string) => (await readAnswerState(deps.db, questionId)) as AnswerRow;

  it('equal the prompts that the step would build', async () => {
    const ahead = createPromptsAhead(deps);
    const { questionId, answerId } = await buildQuestion({ content: 'How do I tie it?' });
    ahead.begin(questionId);
    answering.model().next({ answer: ['So.'] });
    await step(questionId, { promptsAhead: ahead });
    expect(retrieved).to.deep.equal(['How do I tie it?']);
    expect(await answerRow(answerId)).to.include({ status: 'complete', content: 'So.' });
    const body = answering.model().requests.at(-1)?.body as object;
    const { questionId: again } = await buildQuestion({ content: 'How do I tie it?' });
    answering.model().next({ answer: ['So.'] });
    await step(again, {});
    expect(answering.model().requests.at(-1)?.body).to.deep.equal(body);
  });

  it('are returned only once', async () => {
    const ahead = createPromptsAhead(deps);
    const { questionId } = await buildQuestion();
    ahead.begin(questionId);
    const answer = await stateOf(questionId);
    expect(await ahead.take(answer)).not.to.equal(undefined);
    expect(await ahead.take(answer)).to.equal(undefined);
  });

  it('are not used for a later call, or after their inputs changed', async () => {
    const changes: ((answer: AnswerRow) => Partial<AnswerRow>)[] = [
      ({ callNo }) => ({ callNo: callNo + 1 }),
      () => ({ instructions: 'Answer like a pirate.' }),
      () => ({ agentName: 'Eve' }),
      () => ({ model: 'another' }),
      ({ maxTokens }) => ({ maxTokens: maxTokens + 1 }),
      () => ({ question: 'Another?' }),
    ];
    for (const change of changes) {
      const ahead = createPromptsAhead(deps);
      const { questionId } = await buildQuestion();
      ahead.begin(questionId);
      const answer = await stateOf(questionId);
      expect(await ahead.take({ ...answer, ...change(answer) }), JSON.stringify(change(answer))).to.equal(undefined);
    }
  });

  it('are not prepared for an answer that has ended, has had a call, or does not exist', async () => {
    const ahead = createPromptsAhead(deps);
    const [ended, called] = [await buildQuestion(), await buildQuestion()];
    answering.model().next({ answer: ['So.'] });
    await step(ended.questionId, {});
    await claimCall(deps.db, await stateOf(called.questionId), { inputTokens: 1, costMicros: 1n }, new Date());
    retrieved = [];
    for (const { questionId } of [ended, called]) {
      ahead.begin(questionId);
      expect(await ahead.take(await stateOf(questionId))).to.equal(undefined);
    }
    ahead.begin('00000000-0000-4000-8000-000000000000');
    expect(retrieved).to.deep.equal([]);
  });

  it('report no error, because the step will report it', async () => {
    const failing = { ...deps, retrieve: () => Promise.reject(new Error('away')) };
    const ahead = createPromptsAhead(failing);
    const { questionId } = await buildQuestion();
    ahead.begin(questionId);
    expect(await ahead.take(await stateOf(questionId))).to.equal(undefined);
  });

  it('are kept for at most 2 s, and at most 64 at a time', async () => {
    const ahead = createPromptsAhead(deps);
    const answers: AnswerRow[] = [];
    while (answers.length < 66) answers.push(await stateOf((await buildQuestion()).questionId));
    const begin = (index: number) => ahead.begin(answers[index]?.questionId ?? '');
    const isKept = async (index: number) => (await ahead.take(answers[index] as AnswerRow)) !== undefined;
    await withTimersStopped(async (advance) => {
      for (let index = 0; index < 65; index++) begin(index);
      expect([await isKept(0), await isKept(63), await isKept(64)]).to.deep.equal([true, true, false]);
      await advance(1_999);
      expect(await isKept(1)).to.equal(true);
      await advance(1);
      expect(await isKept(2)).to.equal(false);
      begin(65);
      expect(await isKept(65)).to.equal(true);
    });
  });
});
