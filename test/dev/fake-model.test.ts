/** The provider's own SDK reads what the fake model sends, each script of it, as it would read the real service. */
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { readRequest } from '../../dev/fake-model/request.ts';
import { PromptCache } from '../../dev/fake-model/usage.ts';
import { type FakeModel, nothingFits, type Script, startFakeModel } from '../../dev/fake-model.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

type Body = Anthropic.MessageStreamParams;
type Block = Anthropic.ContentBlockParam;

const passage = (title: string, ...sentences: string[]): Anthropic.SearchResultBlockParam => ({
  type: 'search_result',
  source: `passage:${title}`,
  title,
  content: sentences.map((text) => ({ type: 'text', text })),
  citations: { enabled: true },
});
const knots = passage(
  'Bends',
  'The sheet bend joins two ropes. ',
  'It holds ropes of unequal thickness. ',
  'Wet rope slips.',
);
const tides = passage('Tides', 'A spring tide comes after the full moon. ', 'Neap tides are small.');

const asking = (content: string | Block[], more: Partial<Body> = {}): Body => ({
  model: 'claude-haiku-4-5',
  max_tokens: 1_000,
  messages: [{ role: 'user', content }],
  ...more,
});
const question = (text: string, ...blocks: Block[]) => asking([...blocks, { type: 'text', text }]);

describe('dev/fake-model', () => {
  let model: FakeModel;
  let client: Anthropic;
  before(async () => {
    model = await startFakeModel();
    client = new Anthropic({ apiKey: 'any', baseURL: model.url, maxRetries: 0 });
  });
  beforeEach(() => model.reset());
  after(() => model.stop());

  const answerTo = (body: Body, script?: Script) => {
    if (script) model.next(script);
    return client.messages.stream(body).finalMessage();
  };
  const textOf = ({ content }: Anthropic.Message) =>
    content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const citationsOf = ({ content }: Anthropic.Message) =>
    content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));
  /** What the SDK says of a failed request: its status and the type of the error, or the error's name. */
  const failureOf = async (work: Promise<unknown>) => {
    try {
      await work;
      return 'answered';
    } catch (error) {
      if (error instanceof APIError && error.type) return `${error.status} ${error.type}`;
      return error instanceof Error ? error.constructor.name : 'no error';
    }
  };
  /** Waits for what the model notes once a connection has closed. */
  const outcomeOf = async (number: number) => {
    while (model.requests[number - 1]?.outcome === 'open') await new Promise((resolve) => setTimeout(resolve, 5));
    return model.requests[number - 1]?.outcome;
  };

  describe('answers from the given material', () => {
    it('cites the sentences that share most words with the question, with their exact blocks', async () => {
      const answer = await answerTo(question('Which bend joins ropes of unequal thickness?', tides, knots));
      expect(citationsOf(answer)).to.deep.equal([
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
      expect(textOf(answer)).to.equal(
        'This is what the material says:\n\n- **Bends**: The sheet bend joins two ropes. It holds ropes of unequal thickness.\n',
      );
      expect(answer).to.include({ role: 'assistant', stop_reason: 'end_turn', model: 'claude-haiku-4-5' });
    });

    it('numbers search results over all messages, and ignores accents, case and endings of words', async () => {
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
      expect(citationsOf(answer)).to.have.length(1);
      expect(citationsOf(answer)[0]).to.include({
        search_result_index: 1,
        cited_text: 'O nó direito une cordas iguais.',
      });
    });

    it('says that it does not know when nothing fits, without a citation', async () => {
      const asked = passage('Asked', 'What would they have here with this?');
      await eachCase(
        [
          question('Who wrote the anthem?', knots, tides),
          question('Who?', knots),
          question('What would they have here?', asked),
          asking('Ropes?'),
        ],
        async (body) => {
          const answer = await answerTo(body);
          expect([textOf(answer), citationsOf(answer)]).to.deep.equal([nothingFits, []]);
        },
      );
    });

    it('weighs rare words more than frequent ones', async () => {
      const deck = passage('Deck', 'Rope and sail and mast. ', 'Rope and sail and deck. ');
      const quay = passage('Quay', 'Rope by the bollard of the wharf. ');
      const titlesOf = async (asked: string) =>
        citationsOf(await answerTo(question(asked, deck, quay))).map((cited) => 'title' in cited && cited.title);
      expect(await titlesOf('Rope, sail, bollard?')).to.deep.equal(['Quay', 'Deck']);
      expect(await titlesOf('Rope, sail, bollard, wharf?')).to.deep.equal(['Quay'], 'less than half as good');
    });

    it('cites nothing when citations are off, and tells the number of images', async () => {
      const off = await answerTo(question('What of a spring tide?', { ...tides, citations: { enabled: false } }));
      expect(textOf(off)).to.contain('A spring tide comes after the full moon.');
      expect(citationsOf(off)).to.deep.equal([]);
      const image: Block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
      expect(textOf(await answerTo(question('And this?', image, image)))).to.equal(
        `(With your question came 2 images.)\n\n${nothingFits}`,
      );
    });

    it('stops at max_tokens', async () => {
      const answer = await answerTo({ ...question('Which bend joins ropes?', knots), max_tokens: 10 });
      expect(answer.stop_reason).to.equal('max_tokens');
      expect(answer.usage.output_tokens).to.be.within(1, 10);
      expect('This is what the material says:\n\n- **Bends**: The').to.contain(textOf(answer));
    });
  });

  describe('the stream', () => {
    it('sends events in the order of the service, with a ping after the first block begins', async () => {
      const response = await fetch(`${model.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': 'any', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
        body: JSON.stringify({ ...question('What of a spring tide?', tides), stream: true }),
      });
      expect(response.headers.get('content-type')).to.contain('text/event-stream');
      expect(response.headers.get('request-id')).to.match(/^req_/);
      const names = (await response.text()).split('\n\n').map((block) => /^event: (\w+)\ndata: \{/.exec(block)?.[1]);
      expect(names.filter((name, index) => name !== names[index - 1])).to.deep.equal([
        'message_start',
        'content_block_start',
        'ping',
        'content_block_delta',
        'content_block_stop',
        ...Array.from({ length: 3 }, () => ['content_block_start', 'content_block_delta', 'content_block_stop']).flat(),
        'message_delta',
        'message_stop',
        undefined,
      ]);
    });

    it('thinks first if asked to, and counts thinking as output', async () => {
      const answer = await answerTo({ ...asking('x'), thinking: { type: 'adaptive' } }, { answer: ['Well.', '!'] });
      expect(answer.content.map(({ type }) => type)).to.deep.equal(['thinking', 'text']);
      expect(textOf(answer)).to.equal('Well.!');
      expect(answer.usage.output_tokens).to.equal(102);
      const plain = await answerTo({ ...asking('x'), thinking: { type: 'disabled' } }, { answer: ['Well.', '!'] });
      expect([plain.content.length, plain.usage.output_tokens]).to.deep.equal([1, 2]);
    });

    it('counts a token per four bytes, and what breakpoints read from and write to the cache', async () => {
      const system = (text: string): Anthropic.TextBlockParam => ({
        type: 'text',
        text,
        cache_control: { type: 'ephemeral' },
      });
      const usageOf = async (...texts: string[]) => {
        const { usage } = await answerTo({ ...asking('x'.repeat(40)), system: texts.map(system) });
        return [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
      };
      expect(await usageOf('a'.repeat(4_000))).to.deep.equal([1_013, 0, 0], 'too short to be kept');
      expect(await usageOf('a'.repeat(8_000))).to.deep.equal([13, 2_000, 0]);
      expect(await usageOf('a'.repeat(8_000))).to.deep.equal([13, 0, 2_000]);
      expect(await usageOf('a'.repeat(8_000), 'b'.repeat(400))).to.deep.equal([13, 100, 2_000]);
      expect(await usageOf('c'.repeat(8_000))).to.deep.equal([13, 2_000, 0]);
      const { usage } = await answerTo({
        ...asking('x'),
        model: 'claude-haiku-5-5',
        system: [system('c'.repeat(8_000))],
      });
      expect(usage.cache_read_input_tokens).to.equal(0, 'of another model');
      model.reset();
      expect(await usageOf('c'.repeat(8_000))).to.deep.equal([13, 2_000, 0], 'forgotten');
    });

    it('caches a prefix for 5 minutes or 1 hour since its last use, and looks 20 blocks back', () => {
      const cache = new PromptCache();
      const minute = 60_000;
      const prefix = { type: 'text', text: 'a'.repeat(8_000) } as const;
      const readOf = (ttl: '5m' | '1h', atMinute: number, between = 0) => {
        const marked = { ...prefix, cache_control: { type: 'ephemeral', ttl } } as const;
        const further = Array.from({ length: between }, () => ({ type: 'text', text: 'b' }) as const);
        const last = { type: 'text', text: 'c', cache_control: { type: 'ephemeral' } } as const;
        const request = readRequest({
          ...asking('x'),
          stream: true,
          system: between === 0 ? [marked] : [prefix, ...further, last],
        });
        return cache.use(request, atMinute * minute).cacheRead;
      };
      expect([readOf('5m', 0), readOf('5m', 4), readOf('5m', 8), readOf('5m', 13)]).to.deep.equal([0, 2_000, 2_000, 0]);
      expect([readOf('1h', 20), readOf('1h', 79), readOf('1h', 139)]).to.deep.equal([0, 2_000, 0]);
      expect([readOf('5m', 140, 19), readOf('5m', 140, 20)]).to.deep.equal([2_000, 0]);
      expect([readOf('5m', 200), readOf('5m', 203, 18), readOf('5m', 207, 17)]).to.deep.equal([0, 2_000, 2_000]);
    });

    it('sends the deltas of a script, also half characters, empty ones and NUL, in any pieces', async () => {
      const deltas = ['\ud83d', '\ude00 ', '', 'a\u0000b', ' é'];
      await eachCase([undefined, 1, 7], async (bytesAPiece) => {
        const answer = await answerTo(asking('x'), { answer: deltas, ...(bytesAPiece && { bytesAPiece }) });
        expect(textOf(answer)).to.equal('😀 a\u0000b é');
      });
    });

    it('recites as much as a script says, with other words for each request', async () => {
      const recite = { deltas: 3, characters: 12 };
      const texts = [await answerTo(asking('x'), { recite }), await answerTo(asking('x'), { recite })].map(textOf);
      expect(texts[0]).to.match(/^0 req_.{6}1 req_.{6}2 req_.{6}$/);
      expect(texts[1]).to.not.equal(texts[0]);
      expect(model.requests.map(({ text, deltaEnds }) => [text, deltaEnds])).to.deep.equal(
        texts.map((text) => [text, [12, 24, 36]]),
      );
    });

    it('cites what a script says, also wrongly', async () => {
      const citations = [
        { result: 0, start: 1, end: 3 },
        { result: 9, start: 5, end: 6, citedText: 'never said' },
      ];
      const answer = await answerTo(question('x', knots), {
        blocks: [{ deltas: ['So.'], citations }, { deltas: ['!'] }],
      });
      expect(citationsOf(answer).map(({ cited_text: text }) => text)).to.deep.equal([
        'It holds ropes of unequal thickness. Wet rope slips.',
        'never said',
      ]);
      expect(answer.content).to.have.length(2);
    });

    it('ends with every stop reason', async () => {
      const reasons = [
        'max_tokens',
        'refusal',
        'model_context_window_exceeded',
        'stop_sequence',
        'pause_turn',
        'tool_use',
      ] as const;
      await eachCase(reasons, async (stopReason) =>
        expect((await answerTo(asking('x'), { answer: ['A'], stopReason })).stop_reason).to.equal(stopReason),
      );
    });

    it('waits between deltas and before the first', async () => {
      const begunAt = performance.now();
      await answerTo(asking('x'), { answer: ['a', 'b', 'c'], delayMs: 30, beginAfterMs: 40 });
      expect(performance.now() - begunAt).to.be.at.least(98);
      expect(model.requests[0]).to.deep.include({ text: 'abc', deltaEnds: [1, 2, 3], outcome: 'answered' });
    });
  });

  describe('faults', () => {
    const four: Script = { answer: ['a', 'b', 'c', 'd'] };

    it('cuts the connection after each event and within each', async () => {
      for (let cutAfter = 0; cutAfter < 10; cutAfter += 1) {
        await eachCase([false, true], async (cutInside) => {
          const heard: string[] = [];
          model.next({ ...four, cutAfter, cutInside });
          const stream = client.messages.stream(asking('x')).on('text', (text) => heard.push(text));
          const failure = await failureOf(stream.finalMessage());
          expect(failure, `after ${cutAfter}`).to.not.equal('answered');
          expect(heard.join('')).to.equal('abcd'.slice(0, Math.max(0, cutAfter - 3)), `after ${cutAfter}`);
          expect(model.requests.at(-1), `after ${cutAfter}`).to.include({ outcome: 'cut', events: cutAfter });
        });
      }
    });

    it('a cut is an error for every reader, an orderly end is not', async () => {
      const read = async (script: Script) => {
        model.next({ ...four, ...script });
        const body = JSON.stringify({ ...asking('x'), stream: true });
        const headers = { 'x-api-key': 'any', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' };
        return (await fetch(`${model.url}/v1/messages`, { method: 'POST', headers, body })).text();
      };
      expect(await failureOf(read({ cutAfter: 5 }))).to.equal('TypeError');
      expect(await failureOf(read({ endAfter: 5 }))).to.equal('answered');
    });

    it('stops when the client disconnects', async () => {
      model.next({ answer: Array<string>(100).fill('a'), delayMs: 5 });
      const stream = client.messages.stream(asking('x'));
      stream.once('text', () => stream.abort());
      expect(await failureOf(stream.finalMessage())).to.equal('APIUserAbortError');
      expect(await outcomeOf(1)).to.equal('closed_by_client');
      await new Promise((resolve) => setTimeout(resolve, 30));
      const sent = model.requests[0]?.text.length;
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(model.requests[0]?.text.length).to.equal(sent);
    });

    it('ends the response in order before the message is complete', async () => {
      await eachCase([0, 1, 5], async (endAfter) =>
        expect(await failureOf(answerTo(asking('x'), { ...four, endAfter }))).to.equal('AnthropicError'),
      );
    });

    it('cuts the connection in place of an answer', async () => {
      expect(await failureOf(answerTo(asking('x'), { drop: true }))).to.equal('APIConnectionError');
    });

    it('is silent before the status or after any event, until the client disconnects', async () => {
      await eachCase(
        [{ neverAnswer: true }, { ...four, silentAfter: 5 }, { ...four, silentAfter: 0, pingEveryMs: 5 }],
        async (script) => {
          model.next(script);
          const stream = client.messages.stream(asking('x'));
          setTimeout(() => stream.abort(), 60);
          expect(await failureOf(stream.finalMessage())).to.equal('APIUserAbortError');
          expect(await outcomeOf(model.requests.length)).to.equal('closed_by_client');
        },
      );
      expect(model.requests.map(({ text }) => text)).to.deep.equal(['', 'ab', '']);
      expect(model.closedByClient()).to.equal(3);
    });

    it('sends an error event in the stream', async () => {
      expect(await failureOf(answerTo(asking('x'), { ...four, errorAfter: 5 }))).to.equal('undefined overloaded_error');
      expect(await failureOf(answerTo(asking('x'), { ...four, errorAfter: 0, errorType: 'api_error' }))).to.equal(
        'undefined api_error',
      );
    });

    it('refuses with every status, and with Retry-After', async () => {
      const refusals = {
        400: 'invalid_request_error',
        401: 'authentication_error',
        403: 'permission_error',
        404: 'not_found_error',
        413: 'request_too_large',
        429: 'rate_limit_error',
        500: 'api_error',
        529: 'overloaded_error',
      };
      await eachCase(Object.entries(refusals), async ([status, type]) => {
        const refuse = Number(status) as keyof typeof refusals;
        expect(await failureOf(answerTo(asking('x'), { refuse }))).to.equal(`${status} ${type}`);
      });
      const error = await answerTo(asking('x'), { refuse: 429, retryAfterS: 2 }).catch((thrown: unknown) => thrown);
      expect((error as APIError).headers?.get('retry-after')).to.equal('2');
    });
  });

  describe('invalid requests', () => {
    const refusalOf = async (body: unknown) => {
      const error = await client.messages
        .stream(body as Body)
        .finalMessage()
        .catch((thrown: unknown) => thrown);
      return error instanceof APIError
        ? `${error.status} ${(error.error as { error: Error }).error.message}`
        : 'answered';
    };
    const text = { type: 'text', text: 'x' } as const;
    const broken: Record<string, [unknown, string]> = {
      'no model': [{ ...asking('x'), model: '' }, '400 model: Field required'],
      'an unknown model': [{ ...asking('x'), model: 'claude-1' }, '404 model: claude-1'],
      'no max_tokens': [{ ...asking('x'), max_tokens: 0 }, '400 max_tokens: must be a whole number from 1'],
      'an unknown way of thinking': [
        { ...asking('x'), thinking: { type: 'aloud' } },
        '400 thinking.type: must be one of adaptive, enabled, between_tools, disabled',
      ],
      'no messages': [{ ...asking('x'), messages: [] }, '400 messages: at least one message is required'],
      'an empty text': [question('', knots), '400 messages.0.content.1: text content blocks must be non-empty'],
      'a blank text': [asking(' \n'), '400 messages.0.content: text content blocks must contain non-whitespace text'],
      'an unknown block': [
        asking([{ type: 'audio' } as never]),
        '400 messages.0.content.0.type: must be one of text, image, search_result',
      ],
      'the assistant first': [
        { ...asking('x'), messages: [{ role: 'assistant', content: 'x' }] },
        '400 messages.0.role: the first message must be of the user, and roles must alternate',
      ],
      'the user twice': [
        {
          ...asking('x'),
          messages: [
            { role: 'user', content: 'x' },
            { role: 'user', content: 'x' },
          ],
        },
        '400 messages.1.role: the first message must be of the user, and roles must alternate',
      ],
      'the assistant last': [
        {
          ...asking('x'),
          messages: [
            { role: 'user', content: 'x' },
            { role: 'assistant', content: 'x' },
          ],
        },
        '400 messages: the conversation must end with a user message, prefill is not supported',
      ],
      'a search result without a source': [
        question('x', { ...knots, source: '' }),
        '400 messages.0.content.0.source: Field required',
      ],
      'a search result without a title': [
        question('x', { ...knots, title: '' }),
        '400 messages.0.content.0.title: Field required',
      ],
      'a search result without content': [
        question('x', { ...knots, content: [] }),
        '400 messages.0.content.0.content: at least one text block',
      ],
      'an image in a search result': [
        question('x', { ...knots, content: [{ type: 'image' } as never] }),
        '400 messages.0.content.0.content.0.type: must be one of text',
      ],
      'citations on one search result alone': [
        question('x', knots, { ...tides, citations: { enabled: false } }),
        '400 citations: must be enabled on all search results or on none',
      ],
      'five breakpoints': [
        asking(Array.from({ length: 5 }, () => ({ ...text, cache_control: { type: 'ephemeral' } as const }))),
        '400 A maximum of 4 blocks with cache_control may be provided. Found 5.',
      ],
      'an image of another type': [
        asking([{ type: 'image', source: { type: 'base64', media_type: 'image/tiff' as never, data: 'AAAA' } }]),
        '400 messages.0.content.0.source.media_type: must be one of image/jpeg, image/png, image/gif, image/webp',
      ],
      'an image that is not base64': [
        asking([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'data:' } }]),
        '400 messages.0.content.0.source.data: must be base64',
      ],
      'a prompt that is too long': [
        asking('x'.repeat(800_001)),
        '400 prompt is too long: 200004 tokens > 200000 maximum',
      ],
    };
    for (const [what, [body, refusal]] of Object.entries(broken))
      it(`refuses ${what}`, async () => {
        expect(await refusalOf(body)).to.equal(refusal);
        expect(model.requests[0]?.outcome).to.equal('refused');
      });

    it('refuses a body over 32 MB, a request without a key and another path', async () => {
      expect(await failureOf(answerTo(asking('x'.repeat(33 * 1024 * 1024))))).to.equal('413 request_too_large');
      client = new Anthropic({ apiKey: 'invalid', baseURL: model.url, maxRetries: 0 });
      expect(await failureOf(answerTo(asking('x')))).to.equal('401 authentication_error');
      const post = (path: string, headers: Record<string, string>) =>
        fetch(`${model.url}${path}`, { method: 'POST', headers, body: '{}' });
      expect((await post('/v1/messages', {})).status).to.equal(401);
      expect((await post('/v1/messages', { 'x-api-key': 'any' })).status).to.equal(400);
      expect((await post('/v1/complete', { 'x-api-key': 'any' })).status).to.equal(404);
      client = new Anthropic({ apiKey: 'any', baseURL: model.url, maxRetries: 0 });
    });
  });

  describe('scripts and memory', () => {
    it('asks the rule first, then takes the queue, then answers from the material', async () => {
      model.rule((_, asked) => (asked === 'ruled' ? { answer: ['by rule'] } : undefined));
      model.next({ answer: ['first'] }, { answer: ['second'] });
      const answers = [];
      for (const asked of ['one', 'ruled', 'two', 'three']) answers.push(textOf(await answerTo(asking(asked))));
      expect(answers).to.deep.equal(['first', 'by rule', 'second', nothingFits]);
      expect(model.requests.map(({ number }) => number)).to.deep.equal([1, 2, 3, 4]);
      expect((model.requests[1]?.body as Body | undefined)?.messages).to.deep.equal([
        { role: 'user', content: 'ruled' },
      ]);
      expect((await model.waitFor(4, 10)).map(({ outcome }) => outcome)).to.deep.equal(Array(4).fill('answered'));
    });

    it('takes rules and scripts from another process over HTTP', async () => {
      const put = async (path: string, body: unknown) =>
        (await fetch(`${model.url}/control${path}`, { method: 'PUT', body: JSON.stringify(body) })).status;
      expect(await put('/rules', [{ contains: 'fail', script: { refuse: 529 } }])).to.equal(204);
      expect(await put('/next', [{ answer: ['told'] }])).to.equal(204);
      expect(await failureOf(answerTo(asking('please fail')))).to.equal('529 overloaded_error');
      expect(textOf(await answerTo(asking('x')))).to.equal('told');
      const seen = (await (await fetch(`${model.url}/control/requests`)).json()) as { text: string; outcome: string }[];
      expect(seen.map(({ text, outcome }) => [text, outcome])).to.deep.equal([
        ['', 'refused'],
        ['told', 'answered'],
      ]);
      expect([await put('/next', {}), await put('/next', ['x']), await put('/else', [])]).to.deep.equal([
        400, 400, 400,
      ]);
      expect((await fetch(`${model.url}/control`, { method: 'DELETE' })).status).to.equal(204);
      expect(model.requests).to.deep.equal([]);
      expect(await failureOf(answerTo(asking('please fail')))).to.equal('answered');
    });
  });
});
