import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import {
  asking,
  failureOf,
  knots,
  question,
  tides,
  useModelClient,
  type ModelRequest,
} from '../../toolkit/drive/model-client.ts';

const turnsOf = (...roles: ('user' | 'assistant')[]) => ({
  messages: roles.map((role) => ({ role, content: 'x' })),
});
const image = (media_type: string, data: string) =>
  asking([{ type: 'image', source: { type: 'base64', media_type: media_type as 'image/png', data } }]);
const marked = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } } as const;

const broken: Record<string, [object, string]> = {
  'no model': [asking('x', { model: '' }), '400 model: Field required'],
  'an unknown model': [asking('x', { model: 'claude-1' }), '404 model: claude-1'],
  'no max_tokens': [asking('x', { max_tokens: 0 }), '400 max_tokens: must be a whole number from 1'],
  'an unknown thinking type': [
    asking('x', { thinking: { type: 'aloud' as 'adaptive' } }),
    '400 thinking.type: must be one of adaptive, enabled, between_tools, disabled',
  ],
  'no messages': [asking('x', turnsOf()), '400 messages: at least one message is required'],
  'an empty text': [question('', knots), '400 messages.0.content.1: text content blocks must be non-empty'],
  'a blank text': [asking(' \n'), '400 messages.0.content: text content blocks must contain non-whitespace text'],
  'an unknown block': [
    asking([{ type: 'audio' } as never]),
    '400 messages.0.content.0.type: must be one of text, image, search_result',
  ],
  'the assistant first': [
    asking('x', turnsOf('assistant')),
    '400 messages.0.role: the first message must be of the user, and roles must alternate',
  ],
  'the user twice': [
    asking('x', turnsOf('user', 'user')),
    '400 messages.1.role: the first message must be of the user, and roles must alternate',
  ],
  'the assistant last': [
    asking('x', turnsOf('user', 'assistant')),
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
  'citations on only one search result': [
    question('x', knots, { ...tides, citations: { enabled: false } }),
    '400 citations: must be enabled on all search results or on none',
  ],
  'five breakpoints': [
    asking(Array.from({ length: 5 }, () => marked)),
    '400 A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  'an image of another type': [
    image('image/tiff', 'AAAA'),
    '400 messages.0.content.0.source.media_type: must be one of image/jpeg, image/png, image/gif, image/webp',
  ],
  'an image that is not base64': [image('image/png', 'data:'), '400 messages.0.content.0.source.data: must be base64'],
  'a prompt that is too long': [asking('x'.repeat(800_001)), '400 prompt is too long: 200004 tokens > 200000 maximum'],
};

describe('dev/fake-model: requests that the fake model refuses like the real service', () => {
  const { answerTo, model, post } = useModelClient();

  for (const [what, [body, refusal]] of Object.entries(broken))
    it(`refuses a request with ${what}`, async () => {
      const error = await answerTo(body as ModelRequest).catch((thrown: unknown) => thrown);
      if (!(error instanceof APIError)) throw new Error('It was answered.');
      expect(`${error.status} ${(error.error as { error: Error }).error.message}`).to.equal(refusal);
      expect(model().requests[0]?.outcome).to.equal('refused');
    });

  it('refuses a body over 32 MB', async () => {
    expect(await failureOf(answerTo(asking('x'.repeat(33 * 1_024 * 1_024))))).to.equal('413 request_too_large');
  });

  it('refuses the API key `invalid`, which stands for a wrong key', async () => {
    const stranger = new Anthropic({ apiKey: 'invalid', baseURL: model().url, maxRetries: 0 });
    expect(await failureOf(stranger.messages.stream(asking('x')).finalMessage())).to.equal('401 authentication_error');
  });

  for (const [what, path, key, status] of [
    ['a request without a key', '/v1/messages', '', 401],
    ['an empty request', '/v1/messages', 'any', 400],
    ['another path', '/v1/complete', 'any', 404],
  ] as const)
    it(`refuses ${what} with ${status}`, async () => {
      expect((await post(path, '{}', key)).status).to.equal(status);
    });
});
