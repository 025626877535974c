/** What may stand behind `npm start --`. */
import { parseArgs } from 'node:util';
import {
  defaultLanguage,
  isOffered,
  nearestLanguage,
  offeredLanguages,
  type OfferedLanguage,
} from '../domain/language/languages.ts';
import { messageOf, Problem } from './problem.ts';

export interface StartArguments {
  /** Agents ask the fake model of this machine. */
  readonly fakeModel: boolean;
  /** Of the tour, its club and the people in it. */
  readonly language: OfferedLanguage;
}

const usage =
  'There is: npm start, npm start -- --fake-model (agents ask a fake model on this machine), and ' +
  `npm start -- --language TAG (the tour and its club speak ${offeredLanguages.join(', ')}).`;

/**
 * @param args what was given
 * @param locale of the machine, as in `LANG`: the tour speaks its language, if the service does
 * @throws Problem naming what is not known, and what there is
 */
export function startArguments(args: readonly string[], locale = ''): StartArguments {
  const { 'fake-model': fakeModel, language = nearestLanguage(tagOf(locale)) ?? defaultLanguage } = parsed(args);
  if (!isOffered(language)) throw new Problem(`The service does not speak ${JSON.stringify(language)}.\n${usage}`);
  return { fakeModel, language };
}

function parsed(args: readonly string[]) {
  try {
    const options = { 'fake-model': { type: 'boolean', default: false }, language: { type: 'string' } } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}.\n${usage}`);
  }
}

/** @param locale such as `pt_BR.UTF-8` @returns such as `pt-BR` */
const tagOf = (locale: string) => (locale.split(/[.@]/)[0] ?? '').replaceAll('_', '-');
