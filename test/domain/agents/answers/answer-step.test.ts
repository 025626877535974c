import { stepAnswer } from '../../../../domain/agents/answers/answer-step.ts';
import { costOf } from '../../../../domain/agents/prompt/prices.policy.ts';
import { answerRow, callRows, citationRows, expectSettled, logOf, monthOf } from '../../../toolkit/assert/answers.ts';
import { foundPassages } from '../../../toolkit/builders/found-passages.ts';
import { buildConversation, buildQuestion, reservedMicros } from '../../../toolkit/builders/questions.ts';
import { buildSource } from '../../../toolkit/builders/sources.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { expect } from 'chai';

describe('the step of an answer', function () {
  this.timeout(20_000);
  const answering = useAnswering();
  const { answer, model, step } = answering;

  it('stores the text, log, citations, call and charge in Postgres, and returns only numbers', async () => {
    const conversation = await buildConversation();
    const { id } = await buildSource(conversation.clubId);
    const script = {
      blocks: [
        { deltas: ['The pause ', 'is ', 'ten minutes.'], citations: [{ result: 0, start: 1, end: 3 }] },
        { deltas: [' Ask \u{1F98A}.'] },
      ],
    };
    const { question, step: outcome } = await answer(script, {
      question: await buildQuestion({}, conversation),
      passages: foundPassages({ id }, [['One. ', 'Two. '], ['Three.']]),
    });
    const text = 'The pause is ten minutes. Ask \u{1F98A}.';
    const row = await answerRow(question.answerId);
    expect(row).to.include({ status: 'complete', content: text, errorCode: null, callNo: 1, leaseUntil: null });
    expect(row.begunAt).to.be.instanceOf(Date);
    expect(row.completedAt).to.be.instanceOf(Date);
    expect(await logOf(question.answerId)).to.equal(text);
    const [citation, ...others] = await citationRows(question.answerId);
    expect(others).to.deep.equal([]);
    expect(citation).to.include({
      citedText: 'Two. Three.',
      sourceId: id,
      sourceKind: 'media',
      sourceTitle: 'Handbook',
      pageFrom: 1,
      pageTo: 2,
    });
    const [call, ...further] = await callRows(question.answerId);
    expect(further).to.deep.equal([]);
    expect(call).to.include({ callNo: 1, outcome: 'answered', errorCode: null, estimated: false });
    expect(call?.requestId).to.equal(model().requests[0]?.id);
    const { inputTokens = 0, outputTokens = 0, cacheWriteTokens = 0, cacheReadTokens = 0 } = call ?? {};
    const use = { input: inputTokens, output: outputTokens, cacheWrite: cacheWriteTokens, cacheRead: cacheReadTokens };
    const cost = Number(costOf('claude-sonnet-5-5', use, new Date()));
    expect(cost).to.be.above(0);
    expect(Number(call?.costMicros)).to.equal(cost);
    await expectSettled(question, cost);
    const report = {
      status: 'complete',
      model: 'claude-sonnet-5-5',
      calls: 1,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      cache_write_tokens: cacheWriteTokens,
      cache_read_tokens: cacheReadTokens,
      cost_micros: cost,
      abandoned_micros: 0,
    };
    expect(outcome).to.deep.equal({ done: true, outcome: report });
    expect(answering.ended).to.deep.equal([report]);
    expect(answering.notifications()).to.be.at.least(2);
  });

  it('stores no image and no raw HTML, even if deltas split them (DEC-55)', async () => {
    const deltas = ['See !', '[x](https://e.example/?q=1) <', 'img src="https://e.example">', '\n\n`<b', '>` a`', 'b'];
    const { question } = await answer({ blocks: [{ deltas }] });
    const text = 'See ! [x](https://e.example/?q=1) &lt;img src="https://e.example">\n\n`<b>` a`b';
    expect((await answerRow(question.answerId)).content).to.equal(text);
    expect(await logOf(question.answerId)).to.equal(text);
  });

  it('makes no call, charge or report after the answer has ended', async () => {
    const { question, step: first } = await answer([]);
    const before = await monthOf(question.clubId);
    expect(await step(question.questionId)).to.deep.equal(first);
    expect(model().requests).to.have.length(1);
    expect(answering.ended).to.have.length(1);
    expect(await monthOf(question.clubId)).to.deep.equal(before);
  });

  for (const [stopReason, status] of [
    ['end_turn', 'complete'],
    ['stop_sequence', 'complete'],
    ['max_tokens', 'truncated'],
    ['model_context_window_exceeded', 'truncated'],
    ['refusal', 'refused'],
    ['tool_use', 'failed'],
    ['pause_turn', 'failed'],
  ] as const)
    it(`ends the answer as ${status} with the received words when the model stops with ${stopReason}`, async () => {
      const isFailed = status === 'failed';
      const { question, step: ended } = await answer({ answer: ['Some ', 'words'], stopReason });
      expect(ended).to.have.nested.property('outcome.status', status);
      const errorCode = isFailed ? 'internal_error' : null;
      expect(await answerRow(question.answerId)).to.include({ status, content: 'Some words', errorCode });
      expect(await logOf(question.answerId)).to.equal('Some words');
      const [call] = await callRows(question.answerId);
      expect(call).to.include({ outcome: isFailed ? 'failed' : 'answered', estimated: false });
      await expectSettled(question, Number(call?.costMicros));
    });

  it('truncates the answer at the agent’s size limit at the time of the question', async () => {
    const { question } = await answer(
      { answer: ['12345678', '9'] },
      { question: await buildQuestion({ maxTokens: 2 }) },
    );
    expect(await answerRow(question.answerId)).to.include({ status: 'truncated', content: '12345678' });
  });

  it('completes an answer that has no words', async () => {
    const { question } = await answer({ answer: [] });
    expect(await answerRow(question.answerId)).to.include({ status: 'complete', content: '' });
    expect(await logOf(question.answerId)).to.equal('');
  });

  it('releases the amount that the question reserved in the budget', async () => {
    const question = await buildQuestion();
    expect(await monthOf(question.clubId)).to.deep.equal({ spent: 0, reserved: Number(reservedMicros) });
    await step(question.questionId);
    expect((await monthOf(question.clubId)).reserved).to.equal(0);
  });

  it('reports `gone` if the question does not exist any more', async () => {
    const missingQuestion = await step('00000000-0000-4000-8000-000000000000');
    expect(missingQuestion).to.deep.equal({ done: true, outcome: { status: 'gone' } });
  });

  describe('the claim of an answer', () => {
    it('waits while another step holds the lease', async () => {
      const question = await buildQuestion();
      const release = Promise.withResolvers<void>();
      const claimed = Promise.withResolvers<void>();
      const failpoint = async (name: string) => {
        if (name !== 'answer_claimed') return;
        claimed.resolve();
        await release.promise;
      };
      const startedAt = performance.now();
      const first = step(question.questionId, { failpoint });
      await claimed.promise;
      const now = Date.now();
      const second = await step(question.questionId, { now });
      expect(second).to.include({ done: false, waitingFor: 'lease' });
      // The lease lasts 20 s by the database's clock, and began with the claim.
      const mostPassed = Math.ceil(performance.now() - startedAt);
      expect((second.done ? 0 : second.at) - now).to.be.within(20_000 - mostPassed, 20_000);
      release.resolve();
      expect(await first).to.include({ done: true });
      expect(model().requests).to.have.length(1);
    });

    it('lets only one of ten concurrent steps call the model', async () => {
      const question = await buildQuestion();
      await Promise.all(Array.from({ length: 10 }, () => step(question.questionId)));
      expect(model().requests).to.have.length(1);
      expect((await callRows(question.answerId)).map(({ outcome }) => outcome)).to.deep.equal(['answered']);
      expect(answering.ended).to.have.length(1);
    });

    it('commits the record of the call before it sends the request', async () => {
      const question = await buildQuestion();
      const { askModel, ...deps } = await answering.deps();
      if (!askModel) throw new Error('No model is configured');
      let atTheModel: unknown;
      const looking: typeof askModel = async function* (request, signal) {
        const source = await testDatabase();
        const statement = `SELECT call_no, outcome, estimated FROM agent_calls WHERE answer_id = $1`;
        [atTheModel] = await source.query<unknown[]>(statement, [question.answerId]);
        yield* askModel(request, signal);
      };
      const { signal } = new AbortController();
      await stepAnswer({ ...deps, askModel: looking }, question.questionId, Date.now(), signal);
      expect(atTheModel).to.deep.equal({ call_no: 1, outcome: null, estimated: true });
    });
  });
});
