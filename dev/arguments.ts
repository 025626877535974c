/** What may stand behind `npm start --`. */
import { parseArgs } from 'node:util';
import { messageOf, Problem } from './problem.ts';

export interface StartArguments {
  /** Agents ask the fake model of this machine. */
  readonly fakeModel: boolean;
}

/**
 * @param args what was given
 * @throws Problem naming what is not known, and what there is
 */
export function startArguments(args: readonly string[]): StartArguments {
  try {
    const { values } = parseArgs({ args: [...args], options: { 'fake-model': { type: 'boolean', default: false } } });
    return { fakeModel: values['fake-model'] };
  } catch (error) {
    throw new Problem(
      `${messageOf(error).split('. ')[0]}.\n` +
        'There is: npm start, and npm start -- --fake-model (agents ask a fake model on this machine).',
    );
  }
}
