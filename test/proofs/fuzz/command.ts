/** The command of the fuzzer: it reads the arguments, sends or replays requests, shrinks the failures, and prints the result. */
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
/** Shrinking one failure takes up to a minute. */
const maxShrunk = 20;

interface CommandOptions extends FuzzOptions {
  /**
   * The run fails if a request blocks the thread of the API for longer than this. The limit is optional, because requests block longer on
   * a busy machine.
   */
  readonly longestHoldMs?: number;
}

/** @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const options = fuzzArguments(args);
  const ground = await openGround();
  try {
    return await ('steps' in options ? replayOnce(ground, options.steps) : fuzzOnce(ground, options));
  } finally {
    await ground.close();
  }
}

async function fuzzOnce(
  ground: FuzzGround,
  { longestHoldMs = Number.POSITIVE_INFINITY, ...options }: CommandOptions,
): Promise<number> {
  say(`seed ${options.seed}, requests ${options.requests}`);
  const tally = await fuzz(ground, {
    ...options,
    onFailure: ({ kind, what, curl }) => say(`failure: ${kind}\n  ${what}\n  ${curl ?? ''}`),
    onRound: (requestCount) => say(`${requestCount} requests`),
  });
  for (const failure of tally.failures.slice(0, maxShrunk)) await sayCase(ground, failure);
  for (const line of linesOf(tally, options.seed)) say(line);
  const isBlockedTooLong = (tally.longestHold?.ms ?? 0) > longestHoldMs;
  if (isBlockedTooLong) say(`A request blocked the thread for more than ${longestHoldMs} ms.`);
  return tally.failures.length === 0 && !isBlockedTooLong ? 0 : 1;
}

async function sayCase(ground: FuzzGround, failure: Failure): Promise<void> {
  const steps = await shrink(ground, failure);
  say(`\n${failure.kind}`);
  say(
    steps
      ? `replay: ${JSON.stringify({ steps })}`
      : `The failure did not repeat: it is intermittent, or needs data of the whole run. All ${failure.steps.length} steps: ${JSON.stringify({ steps: failure.steps })}`,
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

/** @throws Problem with the usage, if an argument is wrong */
function fuzzArguments(args: readonly string[]): CommandOptions | { steps: readonly Step[] } {
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
    throw new Problem(`${messageOf(error)}\nUsage:\n${usage}`);
  }
}

function wholeNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${name} takes a whole number, not ${text}.`);
  return Number(text);
}

function stepsIn(fileOrJson: string): readonly Step[] {
  const { steps } = JSON.parse(existsSync(fileOrJson) ? readFileSync(fileOrJson, 'utf8') : fileOrJson) as {
    steps?: readonly Step[];
  };
  if (!Array.isArray(steps) || !steps.some(isRequest))
    throw new Error('A replay needs {"steps": [...]} with at least one request.');
  return steps as readonly Step[];
}
