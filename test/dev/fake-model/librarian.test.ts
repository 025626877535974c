import { expect } from 'chai';
import { nothingFits } from '../../../dev/fake-model/fake-model.ts';
import {
  answerCitations,
  answerText,
  asking,
  knots,
  passage,
  question,
  tides,
  useModelClient,
  type ModelRequest,
} from '../../toolkit/drive/model-client.ts';

describe('dev/fake-model: the librarian', () => {
  const { answerTo } = useModelClient();

  it('cites the sentences that share most words with the question', async () => {
    const answer = await answerTo(question('Which bend joins ropes of unequal thickness?', tides, knots));
    expect(answerCitations(answer)).to.deep.equal([
      {
        type: 'search_result_location',
        cited_text: 'The sheet bend joins two ropes. It holds ropes of unequal thickness. ',
        source: 'passage:Bends',
        title: 'Bends',
        search_result_index: 1,
        start_block_index: 0,
        end_block_index: 2,
      },
    ]);
    expect(answerText(answer)).to.equal(
      'This is what the material says:\n\n- **Bends**: The sheet bend joins two ropes. It holds ropes of unequal thickness.\n',
    );
    expect(answer).to.include({ role: 'assistant', stop_reason: 'end_turn', model: 'claude-haiku-4-5' });
  });

  it('ignores accents, case and word endings, and numbers the results of all messages in order', async () => {
    const answer = await answerTo({
      ...asking(''),
      messages: [
        { role: 'user', content: [tides, { type: 'text', text: 'What is a neap tide?' }] },
        { role: 'assistant', content: 'A small one.' },
        {
          role: 'user',
          content: [
            passage('Nós', 'O nó direito une cordas iguais.'),
            { type: 'text', text: 'NO DIRÉITO, uma corda?' },
          ],
        },
      ],
    });
    const [citation, ...others] = answerCitations(answer);
    expect(citation).to.include({ search_result_index: 1, cited_text: 'O nó direito une cordas iguais.' });
    expect(others).to.deep.equal([]);
  });

  const stopWords = 'What would they have here?';
  const unknown: Record<string, ModelRequest> = {
    'no passage has a word of the question': question('Who wrote the anthem?', knots, tides),
    'the question has only one word, which is a stop word': question('Who?', knots),
    'all words of the question are stop words': question(
      stopWords,
      passage('Asked', `${stopWords.slice(0, -1)} with this?`),
    ),
    'there are no passages': asking('Ropes?'),
  };
  for (const [when, body] of Object.entries(unknown))
    it(`answers that it does not know, without a citation, if ${when}`, async () => {
      const answer = await answerTo(body);
      expect([answerText(answer), answerCitations(answer)]).to.deep.equal([nothingFits, []]);
    });

  const weighed = [
    {
      ask: 'Rope, sail, bollard?',
      cited: ['Quay', 'Deck'],
      why: 'one rare word counts as much as two words that all passages contain',
    },
    {
      ask: 'Rope, sail, bollard, wharf?',
      cited: ['Quay'],
      why: 'the passage Deck scores less than half as much as Quay',
    },
  ];
  for (const { ask, cited, why } of weighed)
    it(`cites ${cited.join(' and ')} when ${why}`, async () => {
      const deck = passage('Deck', 'Rope and sail and mast. ', 'Rope and sail and deck. ');
      const quay = passage('Quay', 'Rope by the bollard of the wharf. ');
      const citations = answerCitations(await answerTo(question(ask, deck, quay)));
      expect(citations.map((one) => 'title' in one && one.title)).to.deep.equal(cited);
    });

  it('cites nothing if citations are disabled', async () => {
    const answer = await answerTo(question('What of a spring tide?', { ...tides, citations: { enabled: false } }));
    expect(answerText(answer)).to.contain('A spring tide comes after the full moon.');
    expect(answerCitations(answer)).to.deep.equal([]);
  });

  it('states how many images it received', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const;
    expect(answerText(await answerTo(question('And this?', image, image)))).to.equal(
      `(With your question came 2 images.)\n\n${nothingFits}`,
    );
  });

  it('stops at the maximum size of an answer', async () => {
    const answer = await answerTo({ ...question('Which bend joins ropes?', knots), max_tokens: 10 });
    expect(answer.stop_reason).to.equal('max_tokens');
    expect(answer.usage.output_tokens).to.be.within(1, 10);
    expect('This is what the material says:\n\n- **Bends**: The').to.contain(answerText(answer));
  });
});
