import type { ImageBlockParam, TextBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { expect } from 'chai';
import { answerRow, callRows, citationRows } from '../../../toolkit/assert/answers.ts';
import { foundPassages } from '../../../toolkit/builders/found-passages.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import {
  buildConversation,
  buildQuestion,
  buildTurn,
  type TestConversation,
} from '../../../toolkit/builders/questions.ts';
import { buildSource } from '../../../toolkit/builders/sources.ts';

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

describe('prompt of an answer', function () {
  this.timeout(20_000);
  const answering = useAnswering();
  const lastRequest = () => {
    const { body } = answering.model().requests.at(-1) ?? {};
    return body as { system: TextBlockParam[]; messages: { role: string; content: TextBlockParam[] }[] };
  };
  const wordsAsked = () => lastRequest().messages.map(({ content }) => content.at(-1)?.text);

  it('contains earlier complete and truncated turns, oldest first', async () => {
    const conversation = await buildConversation();
    await buildTurn(conversation, 'q1', 'a1', 'complete', ago(50));
    await buildTurn(conversation, 'q2', 'a refusal', 'refused', ago(40));
    await buildTurn(conversation, 'q3', 'half', 'failed', ago(30));
    await buildTurn(conversation, 'q4', 'a4', 'truncated', ago(20));
    await buildTurn(conversation, 'q5', '', 'complete', ago(10));
    await buildTurn(await buildConversation(), 'elsewhere', 'elsewhere', 'complete', ago(5));
    await answering.step((await buildQuestion({ content: 'q6' }, conversation)).questionId);
    expect(wordsAsked()).to.deep.equal(['q1', 'a1', 'q4', 'a4', 'q6']);
  });

  it('omits a refused turn that the student still sees', async () => {
    const conversation = await buildConversation();
    answering.model().next({ answer: ['I will not.'], stopReason: 'refusal' });
    const refused = await buildQuestion({ content: 'Something bad', acceptedAt: ago(5) }, conversation);
    await answering.step(refused.questionId);
    expect(await answerRow(refused.answerId)).to.include({ status: 'refused', content: 'I will not.' });
    await answering.step((await buildQuestion({ content: 'Something good' }, conversation)).questionId);
    expect(JSON.stringify(lastRequest())).not.to.contain('Something bad').and.not.to.contain('I will not.');
  });

  it('contains the agent’s current name and instructions, and the images of the question', async () => {
    const conversation = await buildConversation({ agent: { name: 'Eve', instructions: 'Answer like a pirate.' } });
    const bytes = Buffer.from('an image');
    const images = [{ mediaType: 'image/png' as const, bytes }];
    await answering.step((await buildQuestion({}, conversation)).questionId, { images });
    expect(lastRequest().system[1]?.text).to.contain('Eve').and.to.contain('Answer like a pirate.');
    const block = lastRequest().messages[0]?.content.find(({ type }) => (type as string) === 'image');
    expect((block as unknown as ImageBlockParam).source).to.deep.equal({
      type: 'base64',
      media_type: 'image/png',
      data: bytes.toString('base64'),
    });
  });

  it('contains at most 12 passages, found by a search of the agent’s material', async () => {
    const question = await buildQuestion({ content: 'What is a pause?' });
    const deps = await answering.deps();
    const requests: unknown[] = [];
    const { stepAnswer } = await import('../../../../domain/agents/answers/answer-step.ts');
    const prompt = {
      ...deps.prompt,
      retrieve: async (_: unknown, request: unknown) => {
        requests.push(request);
        return [];
      },
    };
    await stepAnswer({ ...deps, prompt }, question.questionId, Date.now(), new AbortController().signal);
    const { clubId, agentId } = question;
    expect(requests).to.deep.equal([{ clubId, agentId, question: 'What is a pause?', limit: 12 }]);
  });

  it('is not sent if an image cannot be read, but can be sent later', async () => {
    const question = await buildQuestion();
    const deps = await answering.deps();
    const { stepAnswer } = await import('../../../../domain/agents/answers/answer-step.ts');
    const prompt = {
      ...deps.prompt,
      readImages: async () => {
        throw new Error('S3 is away');
      },
    };
    const error = await stepAnswer(
      { ...deps, prompt },
      question.questionId,
      Date.now(),
      new AbortController().signal,
    ).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(await answerRow(question.answerId)).to.include({ callNo: 0, status: 'generating', leaseUntil: null });
    expect(await callRows(question.answerId)).to.deep.equal([]);
  });

  it('comes from the model’s cache from the second question on', async () => {
    const conversation = await buildConversation({ agent: { instructions: 'Be kind. '.repeat(600) } });
    const uses = [];
    for (const [place, content] of ['one?', 'two?'].entries()) {
      const question = await buildQuestion({ content, acceptedAt: ago(10 - place) }, conversation);
      await answering.step(question.questionId);
      const [call] = await callRows(question.answerId);
      uses.push({ written: call?.cacheWriteTokens ?? 0, read: call?.cacheReadTokens ?? 0 });
    }
    expect(uses[0]?.written).to.be.above(1_000);
    expect(uses[0]?.read).to.equal(0);
    expect(uses[1]?.read).to.be.at.least(uses[0]?.written ?? Infinity);
  });

  describe('citations', () => {
    const passages = async ({ clubId }: TestConversation) => {
      const { id } = await buildSource(clubId);
      return { id, passages: foundPassages({ id }, [['One. ', 'Two.'], ['Three.']]) };
    };

    it('keep the text, title and page of a deleted source, but not the link', async () => {
      const conversation = await buildConversation();
      const { id, passages: found } = await passages(conversation);
      const question = await buildQuestion({}, conversation);
      answering.model().next({ blocks: [{ deltas: ['x'], citations: [{ result: 0, start: 0, end: 1 }] }] });
      const failpoint = async (name: string) => {
        if (name === 'answer_ending')
          await (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [id]);
      };
      await answering.step(question.questionId, { passages: found, failpoint });
      const [citation] = await citationRows(question.answerId);
      expect(citation).to.include({ citedText: 'One. ', sourceId: null, sourceTitle: 'Handbook', pageFrom: 1 });
    });

    it('contain no link to a source that an uncommitted transaction has deleted', async () => {
      const conversation = await buildConversation();
      const { id, passages: found } = await passages(conversation);
      const question = await buildQuestion({}, conversation);
      answering.model().next({ blocks: [{ deltas: ['x'], citations: [{ result: 0, start: 0, end: 1 }] }] });
      const runner = (await testDatabase()).createQueryRunner();
      await runner.startTransaction();
      await runner.query(`DELETE FROM agent_sources WHERE id = $1`, [id]);
      const failpoint = async (name: string) => {
        if (name === 'answer_ending') void untilWaitingForLocks(1).then(() => runner.commitTransaction());
      };
      await answering.step(question.questionId, { passages: found, failpoint });
      await runner.release();
      const [citation] = await citationRows(question.answerId);
      expect(citation).to.include({ citedText: 'One. ', sourceId: null });
    });

    it('copy their text from the prompt, and are dropped if the prompt lacks the block', async () => {
      const conversation = await buildConversation();
      const { passages: found } = await passages(conversation);
      const question = await buildQuestion({}, conversation);
      answering.model().next({
        blocks: [
          {
            deltas: ['x'],
            citations: [
              { result: 5, start: 0, end: 1, citedText: 'no such result' },
              { result: 0, start: 2, end: 9, citedText: 'no such block' },
              { result: 0, start: 1, end: 2, citedText: 'something else' },
            ],
          },
        ],
      });
      await answering.step(question.questionId, { passages: found });
      expect((await answerRow(question.answerId)).status).to.equal('complete');
      expect((await citationRows(question.answerId)).map(({ citedText }) => citedText)).to.deep.equal(['Two.']);
    });

    it('are kept if the stream of the answer broke off', async () => {
      const conversation = await buildConversation();
      const { passages: found } = await passages(conversation);
      const question = await buildQuestion({}, conversation);
      answering.model().next({
        blocks: [{ deltas: ['x'], citations: [{ result: 0, start: 0, end: 1 }] }, { deltas: ['y', 'z'] }],
        cutAfter: 8,
      });
      await answering.step(question.questionId, { passages: found });
      expect((await answerRow(question.answerId)).status).to.equal('failed');
      expect(await citationRows(question.answerId)).to.have.length(1);
    });
  });
});
