/** Reads the arguments of `npm run prove -- soak`. */
import { parseArgs } from 'node:util';
import { messageOf, Problem } from '../../../dev/problem.ts';

const [least, most] = [0.02, 24];

export function soakArguments(args: readonly string[]): { hours: number } {
  const usage = `Usage: npm run prove -- soak --hours 2 (a number from ${least} to ${most}).`;
  let text: string | undefined;
  try {
    text = parseArgs({ args: [...args], options: { hours: { type: 'string' } } }).values.hours;
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (text === undefined) throw new Problem(usage);
  const hours = text.trim() === '' ? Number.NaN : Number(text);
  if (!(hours >= least && hours <= most)) throw new Problem(`--hours ${text} is not a number in this range. ${usage}`);
  return { hours };
}
