/** Asks one question through the product or the bare SDK, and records the arrival of each piece of the answer. */
import type Anthropic from '@anthropic-ai/sdk';
import { eventsOf } from '../../dev/clients/event-stream.ts';
import { steadyMs } from '../../dev/fake-model/fake-model.ts';
import type { BenchStudent } from './scene.ts';

/** Times are in milliseconds of the machine's steady clock. */
export interface StreamedAnswer {
  readonly question: string;
  readonly askedAt: number;
  text: string;
  /** `end`: the length of the text up to the end of this piece. */
  readonly arrivals: { readonly at: number; readonly end: number }[];
}

let questionCount = 0;
/** Each question is unique, so that it can be found among the requests to the model. */
function nextQuestion(): string {
  questionCount += 1;
  return `Which bend joins rope ${questionCount} to a rope? (question ${questionCount}.)`;
}

/**
 * @param onBegin called at the first piece
 * @throws Error if the answer does not end with `done`
 */
export async function askProduct(
  api: string,
  student: BenchStudent,
  onBegin: () => void = () => {},
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
    if (event === 'delta') note(received, (data as { text: string }).text, onBegin);
    if (event === 'error') throw new Error(`An answer failed: ${JSON.stringify((data as { error: object }).error)}`);
    if (event === 'done') return received;
  }
  throw new Error('A stream ended before its answer.');
}

/** Sends the product's request with a different question. */
export async function askBare(
  client: Anthropic,
  request: Anthropic.MessageStreamParams,
  onBegin: () => void = () => {},
): Promise<StreamedAnswer> {
  const question = nextQuestion();
  const last = request.messages.at(-1);
  const blocks = (last?.content ?? []) as Anthropic.ContentBlockParam[];
  const content = [...blocks.slice(0, -1), { type: 'text' as const, text: question }];
  const received: StreamedAnswer = { question, askedAt: steadyMs(), text: '', arrivals: [] };
  const stream = client.messages.stream({ ...request, messages: [{ role: 'user', content }] });
  stream.on('text', (text) => note(received, text, onBegin));
  await stream.finalMessage();
  return received;
}

function note(received: StreamedAnswer, text: string, onBegin: () => void): void {
  received.text += text;
  received.arrivals.push({ at: steadyMs(), end: received.text.length });
  if (received.arrivals.length === 1) onBegin();
}
