/**
 * Calls the fake model with the SDK of the provider, so that the SDK checks the answers of the fake model.
 */
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { startFakeModel, type FakeModel } from '../../../dev/fake-model/fake-model.ts';
import type { Script } from '../../../dev/fake-model/script.ts';

export type ModelRequest = Anthropic.MessageStreamParams;
type Block = Anthropic.ContentBlockParam;

/** A passage. The model may cite its sentences. */
export const passage = (title: string, ...sentences: string[]): Anthropic.SearchResultBlockParam => ({
  type: 'search_result',
  source: `passage:${title}`,
  title,
  content: sentences.map((text) => ({ type: 'text', text })),
  citations: { enabled: true },
});
export const knots = passage(
  'Bends',
  'The sheet bend joins two ropes. ',
  'It holds ropes of unequal thickness. ',
  'Wet rope slips.',
);
export const tides = passage('Tides', 'A spring tide comes after the full moon. ', 'Neap tides are small.');

export const asking = (content: string | Block[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'claude-haiku-4-5',
  max_tokens: 1_000,
  messages: [{ role: 'user', content }],
  ...more,
});
export const question = (text: string, ...blocks: Block[]): ModelRequest => asking([...blocks, { type: 'text', text }]);

interface ModelClient {
  model(): FakeModel;
  stream(body: ModelRequest, script?: Script): MessageStream;
  answerTo(body: ModelRequest, script?: Script): Promise<Anthropic.Message>;
  /** @param apiKey empty for none */
  post(path: string, body: string, apiKey?: string): Promise<Response>;
  /** Resolves when the model has noticed that the connection of the request is closed. @param number from 1 */
  outcomeOf(number: number): Promise<string>;
}

/** Starts a fake model for the tests of a `describe`, and resets it before each test. Call this function in the `describe`. */
export function useModelClient(): ModelClient {
  let running: FakeModel | undefined;
  before('start the fake model', async () => {
    running = await startFakeModel();
  });
  beforeEach(() => running?.reset());
  after('stop the fake model', () => running?.stop());
  const model = () => {
    if (!running) throw new Error('The fake model runs only during tests');
    return running;
  };
  const client: ModelClient = {
    model,
    stream(body, script) {
      if (script) model().next(script);
      return new Anthropic({ apiKey: 'any', baseURL: model().url, maxRetries: 0 }).messages.stream(body);
    },
    answerTo: (body, script) => client.stream(body, script).finalMessage(),
    post: (path, body, apiKey = 'any') =>
      fetch(model().url + path, {
        method: 'POST',
        headers: {
          ...(apiKey !== '' && { 'x-api-key': apiKey }),
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
        },
        body,
      }),
    async outcomeOf(number) {
      const outcome = () => model().requests[number - 1]?.outcome ?? 'unknown';
      while (outcome() === 'open') await new Promise((resolve) => setTimeout(resolve, 5));
      return outcome();
    },
  };
  return client;
}

export const answerText = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

export const answerCitations = ({ content }: Anthropic.Message): Anthropic.TextCitation[] =>
  content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));

/** Returns how the SDK reports a failed request: by the status and the type of the error, or by the error's name. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'answered';
  } catch (error) {
    if (error instanceof APIError && error.type) return `${error.status} ${error.type}`;
    return error instanceof Error ? error.constructor.name : 'no error';
  }
}
