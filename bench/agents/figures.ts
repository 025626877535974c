/** Compares the answers that clients received with the answers that the model server sent. */
import { quantile } from '../support.ts';
import type { StreamedAnswer } from './asking.ts';
import type { Sent } from './model-server.ts';

export interface Figures {
  /** Milliseconds from the question to the first piece. */
  readonly firsts: readonly number[];
  /** Milliseconds from the question until the model server sent the first piece. */
  readonly reached: readonly number[];
  /** Milliseconds that a piece takes from the model server to the client. */
  readonly lags: readonly number[];
  /** Deltas that the client did not get, or got in the wrong order. */
  readonly lostDeltas: number;
}

/** @throws Error if a question never reached the model server */
export function compare(received: readonly StreamedAnswer[], serverRecords: readonly Sent[]): Figures {
  const byQuestion = new Map(serverRecords.map((one) => [questionIn(one), one]));
  const figures = received.map((one) => {
    const answer = byQuestion.get(one.question);
    if (!answer) throw new Error('A question did not reach the model server.');
    return compareOne(one, answer);
  });
  return {
    firsts: figures.map(({ first }) => first),
    reached: figures.map(({ reached }) => reached),
    lags: figures.flatMap(({ lags }) => lags),
    lostDeltas: figures.reduce((sum, { lostDeltas }) => sum + lostDeltas, 0),
  };
}

function compareOne({ askedAt, text, arrivals }: StreamedAnswer, serverRecords: Sent) {
  const lags: number[] = [];
  let lostDeltas = 0;
  let position = 0;
  serverRecords.deltaEnds.forEach((end, index) => {
    const start = serverRecords.deltaEnds[index - 1] ?? 0;
    while ((arrivals[position]?.end ?? Infinity) < end) position += 1;
    const arrival = arrivals[position];
    if (arrival === undefined || text.slice(start, end) !== serverRecords.text.slice(start, end)) lostDeltas += 1;
    else lags.push(arrival.at - (serverRecords.deltasAt[index] ?? Number.NaN));
  });
  return {
    first: (arrivals[0]?.at ?? Number.NaN) - askedAt,
    reached: (serverRecords.deltasAt[0] ?? Number.NaN) - askedAt,
    lags,
    lostDeltas,
  };
}

function questionIn({ body }: Sent): string {
  const last = body.messages.at(-1) as { content: { text?: string }[] };
  return last.content.at(-1)?.text ?? '';
}

/** p50 and p95 of the product and of the bare SDK, and their differences, for {@link report}. */
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
