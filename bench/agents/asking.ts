/** One question and its streamed answer: through the product, and from the bare SDK; with the time at which each piece came. */
import type Anthropic from '@anthropic-ai/sdk';
import { eventsOf } from '../../dev/event-stream.ts';
import { steadyMs } from '../../dev/fake-model.ts';
import type { BenchStudent } from './scene.ts';

/** An answer as a client received it; times of the machine's steady clock, in milliseconds. */
export interface StreamedAnswer {
  readonly question: string;
  readonly askedAt: number;
  text: string;
  /** When the text up to so many characters had come. */
  readonly arrivals: { readonly at: number; readonly end: number }[];
}

let asked = 0;
/** No two are alike, so that each is found again among what the model was asked. */
function nextQuestion(): string {
  asked += 1;
  return `Which bend joins rope ${asked} to a rope? (question ${asked}.)`;
}

/**
 * @param begun is called with the first piece of the answer
 * @throws Error when it does not end in `done`
 */
export async function askProduct(
  api: string,
  student: BenchStudent,
  begun: () => void = () => {},
): Promise<StreamedAnswer> {
  const question = nextQuestion();
  const received: StreamedAnswer = { question, askedAt: steadyMs(), text: '', arrivals: [] };
  const response = await fetch(`${api}/v1/clubs/${student.clubId}/classroom/agents/${student.publicId}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${student.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: crypto.randomUUID(), content: question }),
  });
  if (!response.ok || response.body === null) throw new Error(`A question was answered ${response.status}.`);
  for await (const { event, data } of eventsOf(response.body)) {
    if (event === 'delta') note(received, (data as { text: string }).text, begun);
    if (event === 'error') throw new Error(`An answer failed: ${JSON.stringify((data as { error: object }).error)}`);
    if (event === 'done') return received;
  }
  throw new Error('A stream ended before its answer.');
}

/** The same request to the model as the product makes, with another question. */
export async function askBare(
  client: Anthropic,
  request: Anthropic.MessageStreamParams,
  begun: () => void = () => {},
): Promise<StreamedAnswer> {
  const question = nextQuestion();
  const last = request.messages.at(-1);
  const blocks = (last?.content ?? []) as Anthropic.ContentBlockParam[];
  const content = [...blocks.slice(0, -1), { type: 'text' as const, text: question }];
  const received: StreamedAnswer = { question, askedAt: steadyMs(), text: '', arrivals: [] };
  const stream = client.messages.stream({ ...request, messages: [{ role: 'user', content }] });
  stream.on('text', (text) => note(received, text, begun));
  await stream.finalMessage();
  return received;
}

function note(received: StreamedAnswer, text: string, begun: () => void): void {
  received.text += text;
  received.arrivals.push({ at: steadyMs(), end: received.text.length });
  if (received.arrivals.length === 1) begun();
}
