import type { APIError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import type { Script } from '../../../dev/fake-model/script.ts';
import { asking, failureOf, useModelClient } from '../../toolkit/drive/model-client.ts';
import { until } from '../../toolkit/drive/until.ts';

const four: Script = { answer: ['a', 'b', 'c', 'd'] };

describe('dev/fake-model: faults', () => {
  const { answerTo, model, outcomeOf, post, stream } = useModelClient();

  for (let cutAfter = 0; cutAfter < 10; cutAfter++)
    for (const cutInside of [false, true])
      it(`cuts the connection after event ${cutAfter}${cutInside ? ', within the next event' : ''}`, async () => {
        const received: string[] = [];
        const cut = stream(asking('x'), { ...four, cutAfter, cutInside }).on('text', (text) => received.push(text));
        expect(await failureOf(cut.finalMessage())).to.not.equal('answered');
        expect(received.join('')).to.equal('abcd'.slice(0, Math.max(0, cutAfter - 3)));
        expect(model().requests.at(-1)).to.include({ outcome: 'cut', events: cutAfter });
      });

  it('can cut a stream (every client fails) or end it early (only the SDK fails)', async () => {
    const read = async (script: Script) => {
      model().next({ ...four, ...script });
      return (await post('/v1/messages', JSON.stringify({ ...asking('x'), stream: true }))).text();
    };
    expect(await failureOf(read({ cutAfter: 5 }))).to.equal('TypeError');
    expect(await failureOf(read({ endAfter: 5 }))).to.equal('answered');
  });

  it('stops if the client disconnects in the middle of the response', async () => {
    const answerStream = stream(asking('x'), { answer: Array<string>(100).fill('a'), delayMs: 5 });
    answerStream.once('text', () => answerStream.abort());
    expect(await failureOf(answerStream.finalMessage())).to.equal('APIUserAbortError');
    expect(await outcomeOf(1)).to.equal('closed_by_client');
    await new Promise((resolve) => setTimeout(resolve, 30));
    const sentLength = model().requests[0]?.text.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(model().requests[0]?.text.length).to.equal(sentLength);
  });

  const failing: { does: string; script: Script; failure: string }[] = [
    ...[0, 1, 5].map((endAfter) => ({
      does: `ends the response too early but without an error, after event ${endAfter}`,
      script: { ...four, endAfter },
      failure: 'AnthropicError',
    })),
    { does: 'closes the connection and sends no answer', script: { drop: true }, failure: 'APIConnectionError' },
    {
      does: 'sends an error event within the stream',
      script: { ...four, errorAfter: 5 },
      failure: 'undefined overloaded_error',
    },
    {
      does: 'sends an error event of a given type as the first event',
      script: { ...four, errorAfter: 0, errorType: 'api_error' },
      failure: 'undefined api_error',
    },
    ...(
      [
        [400, 'invalid_request_error'],
        [401, 'authentication_error'],
        [403, 'permission_error'],
        [404, 'not_found_error'],
        [413, 'request_too_large'],
        [429, 'rate_limit_error'],
        [500, 'api_error'],
        [529, 'overloaded_error'],
      ] as const
    ).map(([refuse, type]) => ({ does: `refuses with ${refuse}`, script: { refuse }, failure: `${refuse} ${type}` })),
  ];
  for (const { does, script, failure } of failing)
    it(`${does} if a script requests it`, async () => {
      expect(await failureOf(answerTo(asking('x'), script))).to.equal(failure);
    });

  it('sends a retry-after header if a script requests the header', async () => {
    const error = await answerTo(asking('x'), { refuse: 429, retryAfterS: 2 }).catch((thrown: unknown) => thrown);
    expect((error as APIError).headers?.get('retry-after')).to.equal('2');
  });

  const silences: { when: string; script: Script; received: string }[] = [
    { when: 'before the status', script: { neverAnswer: true }, received: '' },
    { when: 'after an event', script: { ...four, silentAfter: 5 }, received: 'ab' },
    {
      when: 'after the status, except for pings',
      script: { ...four, silentAfter: 0, pingEveryMs: 5 },
      received: '',
    },
  ];
  for (const { when, script, received } of silences)
    it(`is silent ${when}, until the client disconnects`, async () => {
      const silent = stream(asking('x'), script);
      const failure = failureOf(silent.finalMessage());
      await until('the request', { timeoutMs: 10_000 }, async () => model().requests[0]?.text === received);
      setTimeout(() => silent.abort(), 40); // If the model sent more bytes, the client would get a text or an end event.
      expect(await failure).to.equal('APIUserAbortError');
      expect(await outcomeOf(1)).to.equal('closed_by_client');
      expect(model().requests.map(({ text }) => text)).to.deep.equal([received]);
      expect(model().closedByClient()).to.equal(1);
    });
});
