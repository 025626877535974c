/** Compares the answers that clients received with those that the model server sent. */
import { quantile } from '../support.ts';
import type { StreamedAnswer } from './asking.ts';
import type { Sent } from './model-server.ts';

export interface Figures {
  /** From the question to the first piece of its answer, in milliseconds. */
  readonly firsts: readonly number[];
  /** Of it, until the model server has sent that piece: the rest is its way back. */
  readonly reached: readonly number[];
  /** Of each delta: from the model server to the client, in milliseconds. */
  readonly lags: readonly number[];
  /** Deltas that the model server sent and a client did not get in their place. */
  readonly lost: number;
}

/** @throws Error where a question never came to the model server */
export function compare(received: readonly StreamedAnswer[], sent: readonly Sent[]): Figures {
  const byQuestion = new Map(sent.map((one) => [questionIn(one), one]));
  const figures = received.map((one) => {
    const answer = byQuestion.get(one.question);
    if (!answer) throw new Error('A question did not come to the model server.');
    return compareOne(one, answer);
  });
  return {
    firsts: figures.map(({ first }) => first),
    reached: figures.map(({ reached }) => reached),
    lags: figures.flatMap(({ lags }) => lags),
    lost: figures.reduce((sum, { lost }) => sum + lost, 0),
  };
}

function compareOne({ askedAt, text, arrivals }: StreamedAnswer, sent: Sent) {
  const lags: number[] = [];
  let lost = 0;
  let place = 0;
  sent.deltaEnds.forEach((end, index) => {
    const start = sent.deltaEnds[index - 1] ?? 0;
    while ((arrivals[place]?.end ?? Infinity) < end) place += 1;
    const arrival = arrivals[place];
    if (arrival === undefined || text.slice(start, end) !== sent.text.slice(start, end)) lost += 1;
    else lags.push(arrival.at - (sent.deltasAt[index] ?? Number.NaN));
  });
  return {
    first: (arrivals[0]?.at ?? Number.NaN) - askedAt,
    reached: (sent.deltasAt[0] ?? Number.NaN) - askedAt,
    lags,
    lost,
  };
}

/** The last text block of the last turn. */
function questionIn({ body }: Sent): string {
  const last = body.messages.at(-1) as { content: { text?: string }[] };
  return last.content.at(-1)?.text ?? '';
}

/** p50 and p95 of ours and of the bare SDK's, and how much ours are above: for {@link report}. */
export function beside(ours: readonly number[], bare: readonly number[]): Record<string, number> {
  const [p50, p95] = [quantile(ours, 0.5), quantile(ours, 0.95)];
  const [bareP50, bareP95] = [quantile(bare, 0.5), quantile(bare, 0.95)];
  return {
    p50,
    p95,
    'bare p50': bareP50,
    'bare p95': bareP95,
    'above at p50': p50 - bareP50,
    'above at p95': p95 - bareP95,
  };
}
