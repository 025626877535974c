/** The arguments after `npm start --`. */
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
  /** A fake model on this machine answers instead of the real one. */
  readonly fakeModel: boolean;
  /** Only installs the programs of the stack and of the tests. */
  readonly components: boolean;
  /** The language of the tour, and of its club and people. */
  readonly language: OfferedLanguage;
}

const usage =
  'Usage: npm start, npm start -- --fake-model (agents ask a fake model on this machine), ' +
  `npm start -- --language TAG (the tour and its club speak ${offeredLanguages.join(', ')}), and ` +
  'npm start -- --components (only installs the programs of the stack and of the tests).';

/**
 * @param args the given arguments
 * @param locale the locale of the machine, as in `LANG`; the tour uses its language if the service offers it
 * @throws Problem when an argument is unknown; the message lists the known ones
 */
export function startArguments(args: readonly string[], locale = ''): StartArguments {
  const {
    'fake-model': fakeModel,
    components,
    language = nearestLanguage(tagOf(locale)) ?? defaultLanguage,
  } = parsed(args);
  if (!isOffered(language))
    throw new Problem(`The service does not support the language ${JSON.stringify(language)}.\n${usage}`);
  return { fakeModel, components, language };
}

function parsed(args: readonly string[]) {
  try {
    const options = {
      'fake-model': { type: 'boolean', default: false },
      components: { type: 'boolean', default: false },
      language: { type: 'string' },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new Problem(`${messageOf(error).split('. ')[0]}.\n${usage}`);
  }
}

/** @param locale a locale such as `pt_BR.UTF-8` @returns a language tag such as `pt-BR` */
const tagOf = (locale: string) => (locale.split(/[.@]/)[0] ?? '').replaceAll('_', '-');
