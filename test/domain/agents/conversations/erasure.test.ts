/** Deletes a conversation at each point of an answer's generation. */
import { expect } from 'chai';
import { eraseConversations } from '../../../../domain/agents/conversations/erasure.ts';
import { answerRow, callRows, chargeRow, monthOf } from '../../../toolkit/assert/answers.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { columnsHolding, testDeps } from '../../../toolkit/stack/database.ts';
import { buildQuestion, reservedMicros } from '../../../toolkit/builders/questions.ts';

describe('deletion of a conversation during its answer', function () {
  this.timeout(20_000);
  const answering = useAnswering();

  const places = [
    { at: 'its beginning', charged: false, status: 'failed' },
    { at: 'answer_claimed', charged: true, status: 'failed' },
    { at: 'answer_called', charged: true, status: 'failed' },
    { at: 'answer_begun', charged: true, status: 'failed' },
    { at: 'answer_delta', charged: true, status: 'failed' },
    { at: 'answer_ending', charged: true, status: 'failed' },
    { at: 'its end', charged: true, status: 'complete' },
  ];
  for (const { at, charged, status } of places)
    it(`leaves no words, charges ${charged ? 'the use' : 'nothing'} and ends the answer as ${status} (deleted at ${at})`, async () => {
      const { db } = await testDeps();
      const word = `word${crypto.randomUUID()}`;
      const question = await buildQuestion({ content: `Question ${word}` });
      const erase = () =>
        db.transaction((tx) => eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()));
      answering.model().next({ blocks: [{ deltas: [`First ${word} `, `second ${word} `, `third ${word}`] }] });
      let erased = false;
      const failpoint = async (name: string) => {
        if (name !== at || erased) return;
        erased = true;
        await erase();
      };
      if (at === 'its beginning') await erase();
      expect(Number((await chargeRow(question.answerId)).reservedMicros)).to.equal(Number(reservedMicros));
      await answering.step(question.questionId, { failpoint });
      if (at === 'its end') await erase();
      const settled = async () => {
        const { costMicros, settledAt } = await chargeRow(question.answerId);
        expect(settledAt).to.be.instanceOf(Date);
        expect(await monthOf(question.clubId)).to.deep.equal({ spent: Number(costMicros), reserved: 0 });
        return Number(costMicros);
      };
      await answering.step(question.questionId); // the deletion woke the workflow run that generates the answer
      const cost = await settled();
      expect(cost > 0).to.equal(charged);
      expect(await answerRow(question.answerId)).to.include({
        status,
        content: '',
        errorCode: status === 'failed' ? 'conversation_deleted' : null,
      });
      expect(await columnsHolding(word)).to.deep.equal([]);
      await answering.step(question.questionId);
      expect(await settled()).to.equal(cost);
      expect(answering.model().requests.length).to.be.at.most(1);
    });

  it('keeps no request id of the model, even if the model replies later', async () => {
    const { db } = await testDeps();
    for (const script of [{ answer: ['One'] }, { refuse: 529 }] as const) {
      const question = await buildQuestion();
      answering.model().next(script);
      // The model has received the request, and has not answered yet.
      const last = 'refuse' in script ? 'answer_claimed' : 'answer_ending';
      await answering.step(question.questionId, {
        async failpoint(name) {
          if (name === last)
            await db.transaction((tx) =>
              eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()),
            );
        },
      });
      const { id } = answering.model().requests.at(-1) ?? { id: '' };
      expect(id).to.match(/^req_/);
      expect((await callRows(question.answerId)).map(({ requestId }) => requestId)).to.deep.equal([null]);
      expect(await columnsHolding(id)).to.deep.equal([]);
    }
  });
});
