import { MockActivityEnvironment } from '@temporalio/testing';
import { expect } from 'chai';
import { agentAnswerActivities } from '../../activities/agent-answer.ts';
import { answerRow } from '../toolkit/assert/answers.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { buildQuestion } from '../toolkit/builders/questions.ts';

describe('the answer activity', () => {
  const answering = useAnswering();

  /** Cancels the activity during the stream, and returns the status of the answer. */
  async function canceled(reason: 'WORKER_SHUTDOWN' | 'NOT_FOUND' | 'TIMED_OUT' | 'CANCELLED'): Promise<string> {
    const question = await buildQuestion();
    const environment = new MockActivityEnvironment();
    answering.model().next({ answer: ['One ', 'two ', 'three.'], delayMs: 200 });
    const deps = await answering.deps({
      failpoint: async (name) => {
        if (name === 'answer_begun') environment.cancel(reason);
      },
    });
    const { generateAnswer } = agentAnswerActivities(deps);
    await environment.run(generateAnswer, question.questionId, Date.now());
    const { status, errorCode } = await answerRow(question.answerId);
    return [status, errorCode].join(' ').trim();
  }

  it('completes the answer unless the worker shuts down', async () => {
    for (const reason of ['NOT_FOUND', 'TIMED_OUT', 'CANCELLED'] as const)
      expect(await canceled(reason), reason).to.equal('complete');
  });

  it('fails the answer as interrupted if the worker shuts down', async () => {
    expect(await canceled('WORKER_SHUTDOWN')).to.equal('failed interrupted');
  });
});
