/** Operation 1 of the specification, sentence by sentence: asking an agent, and the stream of the answer. */
import { expect } from 'chai';
import { append, finish } from '../support/answers.ts';
import { buildAskingClassroom } from '../support/asking.ts';

describe('POST /v1/clubs/{clubId}/classroom/agents/{publicId}/messages', () => {
  describe('4. Events', () => {
    it('accepted, delta one per chunk of text, done with the final answer and its citations', async () => {
      const classroom = await buildAskingClassroom();
      const { stream, answerId } = await classroom.ask();
      await append(answerId, 'A knot is ');
      await stream.textOf(10);
      await append(answerId, 'a *bend*');
      await stream.textOf(18);
      await finish(answerId, { text: ' 🪢.', citations: [{ citedText: 'A bend joins two ropes.' }] });
      const { data } = await stream.event('done');
      expect(await stream.ended).to.equal('whole');
      expect(stream.events.map(({ event }) => event)).to.deep.equal(['accepted', 'delta', 'delta', 'delta', 'done']);
      expect(stream.text()).to.equal('A knot is a *bend* 🪢.');
      expect(data.answer).to.deep.include({ id: answerId, status: 'complete', content: stream.text() });
      expect(data.answer.citations).to.deep.equal([
        { cited_text: 'A bend joins two ropes.', source_kind: 'lesson', source_title: 'Bends' },
      ]);
    });
  });
});
