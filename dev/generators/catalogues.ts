/** Checks the message catalogues, and generates types of the arguments of each message. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { en } from '../../domain/language/catalogues/en.ts';

/** A catalogue to check, which may be incomplete. */
export type AnyCatalogue = Readonly<Record<string, string>>;

type ArgumentType = 'number' | 'string';

interface Message {
  /** Sorted by name. */
  arguments: ReadonlyMap<string, ArgumentType>;
  /** The options of each argument of a `select`. */
  selects: ReadonlyMap<string, readonly string[]>;
  /** The plural categories of each argument of a `plural`. */
  plurals: readonly (readonly string[])[];
}

/** @throws SyntaxError if a text is no ICU message */
function readMessage(text: string): Message {
  const found = new Map<string, ArgumentType>();
  const selects = new Map<string, string[]>();
  const plurals: string[][] = [];
  const walk = (elements: readonly MessageFormatElement[]): void => {
    for (const element of elements) {
      if (element.type === TYPE.argument) found.set(element.value, found.get(element.value) ?? 'string');
      if (element.type === TYPE.number) found.set(element.value, 'number');
      if (element.type === TYPE.plural || element.type === TYPE.select) {
        const isPlural = element.type === TYPE.plural;
        found.set(element.value, isPlural ? 'number' : 'string');
        const options = Object.keys(element.options);
        if (isPlural) plurals.push(options);
        else selects.set(element.value, options.toSorted());
        for (const option of Object.values(element.options)) walk(option.value);
      }
    }
  };
  walk(parse(text, { ignoreTag: true }));
  return { arguments: new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1))), selects, plurals };
}

/** @returns the text of `domain/language/arguments.ts` */
export function argumentTypes(): string {
  const lines = Object.entries(en).map(([key, text]) => {
    const { arguments: entries } = readMessage(text);
    const fields = [...entries].map(([name, type]) => `${name}: ${type}`).join('; ');
    return `  '${key}': ${fields === '' ? 'Record<never, never>' : `{ ${fields} }`};`;
  });
  return `/** Generated from catalogues/en.ts by \`npm run generate\`: the arguments of each message. */
export interface MessageArguments {
${lines.join('\n')}
}

export type MessageKey = keyof MessageArguments;
`;
}

/** People see small counts, so only the categories of counts up to 1,000 are needed. A category only for millions gets the text `other`. */
const categoriesOf = (language: string) => {
  const rules = new Intl.PluralRules(language);
  return [...new Set(Array.from({ length: 1_001 }, (_, count) => rules.select(count)))];
};

/**
 * @param language BCP 47 tag
 * @param english the catalogue that defines the messages; ours if absent
 * @returns a sentence for each problem: wrong keys or arguments, missing options or plural forms
 */
export function catalogueProblems(language: string, catalogue: AnyCatalogue, english: AnyCatalogue = en): string[] {
  const problems: string[] = [];
  for (const key of Object.keys(catalogue))
    if (!Object.hasOwn(english, key)) problems.push(`${language}: ${key} is unknown.`);
  for (const [key, defined] of Object.entries(english)) {
    const text = catalogue[key];
    if (text === undefined) {
      problems.push(`${language}: ${key} is missing.`);
      continue;
    }
    problems.push(
      ...messageProblems(language, text, readMessage(defined)).map((problem) => `${language}: ${key} ${problem}`),
    );
  }
  return problems;
}

/** @returns the problems of a translation, without its key */
function messageProblems(language: string, text: string, english: Message): string[] {
  let message: Message;
  try {
    message = readMessage(text);
  } catch (error) {
    return [`is no ICU message: ${error instanceof Error ? error.message : String(error)}.`];
  }
  const listed = (entries: ReadonlyMap<string, unknown>) =>
    [...entries].map(([name, type]) => `${name} (${String(type)})`).join(', ');
  const missing = message.plurals.flatMap((options) =>
    [...categoriesOf(language), 'other'].filter((category) => !options.includes(category)),
  );
  return [
    ...(listed(message.arguments) === listed(english.arguments)
      ? []
      : [`has the arguments ${listed(message.arguments)} instead of ${listed(english.arguments)}.`]),
    ...(listed(message.selects) === listed(english.selects) ? [] : ['has other options than the English message.']),
    ...(missing.length === 0 ? [] : [`lacks the plural forms ${[...new Set(missing)].join(', ')}.`]),
  ];
}

/** Code in these folders uses messages. Tests and catalogues do not count. */
const codeFolders = ['activities', 'api', 'dev', 'domain', 'worker'];

/** @returns keys that no code uses. A key built with `${…}` counts as used if it could match. */
export function unusedKeys(projectDirectory: string, keys: readonly string[] = Object.keys(en)): string[] {
  const unused = new Set(keys);
  const files = codeFolders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: projectDirectory }));
  for (const file of files.filter(
    (name) => !/^(?:domain\/language\/(?:catalogues\/|arguments)|dev\/tour\/words\/)/.test(name),
  )) {
    const code = readFileSync(path.join(projectDirectory, file), 'utf8');
    for (const key of unused) if (code.includes(`'${key}'`)) unused.delete(key);
    for (const [, form = ''] of code.matchAll(/`([a-z_]+\.(?:[a-z_.]|\$\{[^{}]*\})+)`/g)) {
      const parts = form.split(/\$\{[^{}]*\}/);
      for (const key of unused) if (fits(key, parts)) unused.delete(key);
    }
  }
  return [...unused];
}

/** Whether the key consists of these parts, with exactly one segment between two neighbouring parts. */
function fits(key: string, parts: readonly string[]): boolean {
  const [first = '', ...others] = parts;
  if (!key.startsWith(first)) return false;
  let rest = key.slice(first.length);
  for (const part of others) {
    const step = /^[a-z_]+/.exec(rest)?.[0] ?? '';
    if (step === '') return false;
    rest = rest.slice(step.length);
    if (!rest.startsWith(part)) return false;
    rest = rest.slice(part.length);
  }
  return rest === '';
}
