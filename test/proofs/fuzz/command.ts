/** The command itself: reads its arguments, fuzzes or replays, shrinks what fails, and prints how it went. */
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf, Problem, say } from '../../../dev/problem.ts';
import { everyOperation } from '../../toolkit/drive/every-operation.ts';
import { fuzz, type Failure, type FuzzOptions } from './fuzzing.ts';
import { outcomeOf, replay } from './replay.ts';
import { isRequest, type Step } from './requests/step.ts';
import { linesOf } from './report.ts';
import { shrink } from './shrink.ts';
import { openGround, type FuzzGround } from './world/ground.ts';

const usage = `npm run prove -- fuzz [--seed N] [--requests N] [--operation id] [--longest-hold MS]
npm run prove -- fuzz --replay FILE, or the JSON that a failure printed`;

const usualRequests = 2_000;
/** Shrinking one takes up to a minute. */
const maxShrunk = 20;

interface Wanted extends FuzzOptions {
  /** The run fails if a request held the thread of the API for longer. A busy machine takes longer, so it is asked for. */
  readonly longestHoldMs?: number;
}

/** @returns the exit code: 0 where no rule was broken */
export async function main(args: readonly string[]): Promise<number> {
  const wanted = fuzzArguments(args);
  const ground = await openGround();
  try {
    return await ('steps' in wanted ? replayOnce(ground, wanted.steps) : fuzzOnce(ground, wanted));
  } finally {
    await ground.close();
  }
}

async function fuzzOnce(
  ground: FuzzGround,
  { longestHoldMs = Number.POSITIVE_INFINITY, ...options }: Wanted,
): Promise<number> {
  say(`seed ${options.seed}, requests ${options.requests}`);
  const tally = await fuzz(ground, {
    ...options,
    onFailure: ({ kind, what, sent }) => say(`failure: ${kind}\n  ${what}\n  ${sent ?? ''}`),
    onRound: (done) => say(`${done} requests`),
  });
  for (const failure of tally.failures.slice(0, maxShrunk)) await sayCase(ground, failure);
  for (const line of linesOf(tally, options.seed)) say(line);
  const isHeldTooLong = (tally.longestHold?.ms ?? 0) > longestHoldMs;
  if (isHeldTooLong) say(`A request held the thread for more than ${longestHoldMs} ms.`);
  return tally.failures.length === 0 && !isHeldTooLong ? 0 : 1;
}

async function sayCase(ground: FuzzGround, failure: Failure): Promise<void> {
  const steps = await shrink(ground, failure);
  say(`\n${failure.kind}`);
  say(
    steps
      ? `replay: ${JSON.stringify({ steps })}`
      : `It did not fail again: not every time, or by what the whole run left behind. All ${failure.steps.length} steps: ${JSON.stringify({ steps: failure.steps })}`,
  );
}

async function replayOnce(ground: FuzzGround, steps: readonly Step[]): Promise<number> {
  const { exchanges, failures } = await replay(ground, steps);
  for (const exchange of exchanges)
    say(`${exchange.method} ${exchange.path} answered ${outcomeOf(exchange)} ${exchange.answer?.text ?? ''}`);
  for (const failure of failures) say(`failure: ${failure}`);
  say(`steps ${steps.length}, failures ${failures.length}`);
  return failures.length === 0 ? 0 : 1;
}

/** @throws Problem naming what is not understood, and what there is */
function fuzzArguments(args: readonly string[]): Wanted | { steps: readonly Step[] } {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: { seed: text, requests: text, operation: text, replay: text, 'longest-hold': text },
    });
    if (values.replay !== undefined) return { steps: stepsIn(values.replay) };
    const operation = everyOperation.find(({ operationId }) => operationId === values.operation)?.operationId;
    if (values.operation !== undefined && operation === undefined)
      throw new Error(`The contract has no operation ${values.operation}.`);
    return {
      seed: wholeNumber('--seed', values.seed, Math.floor(Math.random() * 2 ** 31)),
      requests: wholeNumber('--requests', values.requests, usualRequests),
      ...(operation && { operation }),
      ...(values['longest-hold'] !== undefined && {
        longestHoldMs: wholeNumber('--longest-hold', values['longest-hold'], 0),
      }),
    };
  } catch (error) {
    throw new Problem(`${messageOf(error)}\nThere is:\n${usage}`);
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}.`);
  return Number(text);
}

function stepsIn(given: string): readonly Step[] {
  const { steps } = JSON.parse(existsSync(given) ? readFileSync(given, 'utf8') : given) as { steps?: readonly Step[] };
  if (!Array.isArray(steps) || !steps.some(isRequest)) throw new Error('A replay takes {"steps": [...]}.');
  return steps as readonly Step[];
}
