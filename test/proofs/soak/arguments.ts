/** What may stand behind `npm run prove -- soak`. */
import { parseArgs } from 'node:util';
import { messageOf, Problem } from '../../../dev/problem.ts';

const [least, most] = [0.02, 24];

/** @returns for how many hours people are busy @throws Problem for anything but `--hours` with a number from 0.02 to 24 */
export function soakArguments(args: readonly string[]): { hours: number } {
  const usage = `Say how long: npm run prove -- soak --hours 2 (a number from ${least} to ${most}).`;
  let given: string | undefined;
  try {
    given = parseArgs({ args: [...args], options: { hours: { type: 'string' } } }).values.hours;
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}. ${usage}`);
  }
  if (given === undefined) throw new Problem(usage);
  const hours = given.trim() === '' ? Number.NaN : Number(given);
  if (!(hours >= least && hours <= most)) throw new Problem(`--hours ${given} is no such number. ${usage}`);
  return { hours };
}
