import { expect } from 'chai';
import type { StopReason } from '../../../dev/fake-model/script.ts';
import {
  answerCitations,
  answerText,
  asking,
  knots,
  question,
  tides,
  useModelClient,
} from '../../toolkit/drive/model-client.ts';

describe('dev/fake-model: the stream', () => {
  const { answerTo, model, post } = useModelClient();

  it('sends its events in the order of the real service, with a ping after the start of the first block', async () => {
    const body = { ...question('What of a spring tide?', tides), stream: true };
    const response = await post('/v1/messages', JSON.stringify(body));
    expect(response.headers.get('content-type')).to.contain('text/event-stream');
    expect(response.headers.get('request-id')).to.match(/^req_/);
    const names = (await response.text()).split('\n\n').map((block) => /^event: (\w+)\ndata: \{/.exec(block)?.[1]);
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
    expect(names.filter((name, index) => name !== names[index - 1])).to.deep.equal([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      ...block,
      ...block,
      ...block,
      'message_delta',
      'message_stop',
      undefined,
    ]);
  });

  for (const { thinking, blocks, tokens } of [
    { thinking: 'adaptive', blocks: ['thinking', 'text'], tokens: 102 },
    { thinking: 'disabled', blocks: ['text'], tokens: 2 },
  ] as const)
    it(`sends the blocks ${blocks.join(' and ')} and counts ${tokens} tokens if thinking is ${thinking}`, async () => {
      const answer = await answerTo({ ...asking('x'), thinking: { type: thinking } }, { answer: ['Well.', '!'] });
      expect(answer.content.map(({ type }) => type)).to.deep.equal(blocks);
      expect(answerText(answer)).to.equal('Well.!');
      expect(answer.usage.output_tokens).to.equal(tokens);
    });

  for (const bytesAPiece of [undefined, 1, 7])
    it(`sends split characters, empty deltas and NUL correctly, in pieces of ${bytesAPiece ?? 'many'} bytes`, async () => {
      const script = { answer: ['\ud83d', '\ude00 ', '', 'a\u0000b', ' é'], ...(bytesAPiece && { bytesAPiece }) };
      expect(answerText(await answerTo(asking('x'), script))).to.equal('😀 a\u0000b é');
    });

  it('writes as many words as a script requests, with different words for each request', async () => {
    const recite = { deltas: 3, characters: 12 };
    const texts = [await answerTo(asking('x'), { recite }), await answerTo(asking('x'), { recite })].map(answerText);
    expect(texts[0]).to.match(/^0 req_.{6}1 req_.{6}2 req_.{6}$/);
    expect(texts[1]).to.not.equal(texts[0]);
    expect(model().requests.map(({ text, deltaEnds }) => [text, deltaEnds])).to.deep.equal(
      texts.map((text) => [text, [12, 24, 36]]),
    );
  });

  it('cites the passages that a script requests, even if these citations are wrong', async () => {
    const citations = [
      { result: 0, start: 1, end: 3 },
      { result: 9, start: 5, end: 6, citedText: 'never said' },
    ];
    const blocks = [{ deltas: ['So.'], citations }, { deltas: ['!'] }];
    const answer = await answerTo(question('x', knots), { blocks });
    expect(answerCitations(answer).map(({ cited_text: text }) => text)).to.deep.equal([
      'It holds ropes of unequal thickness. Wet rope slips.',
      'never said',
    ]);
    expect(answer.content).to.have.length(2);
  });

  const reasons: readonly StopReason[] = [
    'max_tokens',
    'refusal',
    'model_context_window_exceeded',
    'stop_sequence',
    'pause_turn',
    'tool_use',
  ];
  for (const stopReason of reasons)
    it(`ends with stop reason ${stopReason} if a script requests it`, async () => {
      expect((await answerTo(asking('x'), { answer: ['A'], stopReason })).stop_reason).to.equal(stopReason);
    });

  it('waits before the first delta and between deltas', async () => {
    const begunAt = performance.now();
    await answerTo(asking('x'), { answer: ['a', 'b', 'c'], delayMs: 30, beginAfterMs: 40 });
    expect(performance.now() - begunAt).to.be.at.least(98);
    expect(model().requests[0]).to.deep.include({ text: 'abc', deltaEnds: [1, 2, 3], outcome: 'answered' });
  });
});
