/**
 * Declares environment variables, each once, with its meaning, bounds and default. The configuration and its documentation use this
 * declaration.
 */
import { readFileSync } from 'node:fs';
import { Secret } from '../core/secret.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Variable<T> {
  readonly name: string;
  /** In Markdown. */
  readonly meaning: string;
  /** In Markdown. */
  readonly kind: string;
  readonly fallback: string | undefined;
  readonly isRequired: boolean;
  /** A secret is never printed, and may be in a file: see {@link fileOf}. */
  readonly isSecret: boolean;
  /**
   * @param given undefined if the variable is not set and has no default
   * @returns the value, or the mistake without the value: "must be …"
   */
  readonly parse: (input: string | undefined) => Parsed<T>;
}

/** If there is a mistake, `value` is a substitute, so that reading continues. */
interface Parsed<T> {
  value: T;
  mistake?: string;
}

/** The configuration, a tree of the parsed values, has this shape, too. */
export type Declarations = { readonly [name: string]: Variable<unknown> | Declarations };
export type Read<D> = D extends Variable<infer T> ? T : { -readonly [K in keyof D]: Read<D[K]> };

export const fileOf = (name: string): string => `${name}_FILE`;

export function variablesIn(declarations: Declarations): Variable<unknown>[] {
  return Object.values(declarations).flatMap((one) => (isVariable(one) ? [one] : variablesIn(one)));
}

/**
 * @param env an empty string counts as absent
 * @param problems gets a sentence for each mistake, with names only, because a value may be a secret
 */
export function readVariables<const D extends Declarations>(
  declarations: D,
  env: Environment,
  problems: string[],
): Read<D> {
  const read = (node: Variable<unknown> | Declarations): unknown =>
    isVariable(node)
      ? readVariable(node, env, problems)
      : Object.fromEntries(Object.entries(node).map(([place, child]) => [place, read(child)]));
  return read(declarations) as Read<D>;
}

const isVariable = (node: Variable<unknown> | Declarations): node is Variable<unknown> =>
  typeof node['parse'] === 'function';

function readVariable(one: Variable<unknown>, env: Environment, problems: string[]): unknown {
  const { name, fallback, isRequired, isSecret, parse } = one;
  const setting = isSecret ? secretIn(name, env) : { input: env[name] || undefined, name };
  if ('mistake' in setting) problems.push(setting.mistake);
  else if (setting.input === undefined && isRequired) problems.push(`${name} is missing`);
  else {
    const { value, mistake } = parse(setting.input ?? fallback);
    if (mistake !== undefined) problems.push(`${setting.name} ${mistake}`);
    return value;
  }
  return parse(undefined).value;
}

/** The name of the variable that was used: the secret's, or its file's. */
function secretIn(name: string, env: Environment): { input: string | undefined; name: string } | { mistake: string } {
  const file = env[fileOf(name)] || undefined;
  if (file === undefined) return { input: env[name] || undefined, name };
  if (env[name]) return { mistake: `${name} and ${fileOf(name)} are both set: set one of them` };
  try {
    // Editors and `echo` end a file with a line break.
    const input = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return input === '' ? { mistake: `${fileOf(name)} names a file that is empty` } : { input, name: fileOf(name) };
  } catch (error) {
    return { mistake: `${fileOf(name)} names a file that cannot be read (${codeOf(error)})` };
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'no code';

interface Rule<T> {
  kind: string;
  /** This value replaces a missing or invalid text, so that reading can continue. */
  standIn: T;
  /** @param given not empty */
  parse: (input: string) => Parsed<T>;
  fallback?: string | number | undefined;
}

function declared<T>(name: string, meaning: string, { kind, standIn, parse, fallback }: Rule<T>): Variable<T> {
  return {
    name,
    meaning,
    kind,
    fallback: fallback === undefined ? undefined : String(fallback),
    isRequired: fallback === undefined,
    isSecret: false,
    parse: (input) => (input === undefined ? { value: standIn } : parse(input)),
  };
}

/** @returns undefined if it is not set */
export function optional<T>(of: Variable<T>): Variable<T | undefined> {
  return { ...of, isRequired: false, parse: (input) => (input === undefined ? { value: undefined } : of.parse(input)) };
}

/** @returns a variable whose value is never printed, and may be in a file */
export function secret<T>(of: Variable<T>): Variable<Secret<T>> {
  const parse = (input: string | undefined): Parsed<Secret<T>> => {
    const { value, ...mistake } = of.parse(input);
    return { value: new Secret(value), ...mistake };
  };
  return { ...of, isSecret: true, parse };
}

interface TextOptions {
  readonly default?: string;
  /** The whole text must match. */
  readonly pattern?: RegExp;
}

/** Without a default it must be set. */
export function text(name: string, meaning: string, options: TextOptions = {}): Variable<string> {
  const { pattern, default: fallback } = options;
  return declared(name, meaning, {
    kind: 'text',
    standIn: '',
    fallback,
    parse: (value) =>
      pattern && !pattern.test(value) ? { value, mistake: `must match ${pattern.source}` } : { value },
  });
}

/** An address, or a name and an address in `<` and `>`. Nothing may follow, for example a quote for a shell. */
const senders = /^[^<>]*<[^\s<>@"]+@[^\s<>@"]+>$|^[^\s<>@"]+@[^\s<>@"]+$/;

/** Without a default it must be set. */
export function sender(name: string, meaning: string, options: Pick<TextOptions, 'default'> = {}): Variable<string> {
  return declared(name, meaning, {
    kind: 'an address, or `Name <address>`',
    standIn: '',
    fallback: options.default,
    parse: (value) =>
      senders.test(value)
        ? { value }
        : { value, mistake: 'must be an address, or a name and <address>, without quotes around both' },
  });
}

/** A file's path. */
export function filePath(name: string, meaning: string): Variable<string> {
  return { ...text(name, meaning), kind: 'path' };
}

interface CommandOptions {
  /** `needs`: placeholders that the command must have; `knows`: all that it may have. */
  readonly needs: readonly string[];
  readonly knows: readonly string[];
}

/** The words are separated by blanks. No shell reads them, so quotes are refused. A placeholder is a name in braces. */
export function command(name: string, meaning: string, { needs, knows }: CommandOptions): Variable<readonly string[]> {
  return declared<readonly string[]>(name, meaning, {
    kind: `command with ${codes(needs.map((one) => `{${one}}`))}`,
    standIn: [],
    parse(input) {
      const value = input.split(' ').filter((word) => word !== '');
      const placeholders = [...input.matchAll(/\{(\w*)\}/g)].map(([, one = '']) => one);
      const missing = needs.filter((one) => !placeholders.includes(one));
      const unknown = placeholders.filter((one) => !knows.includes(one));
      const isFit = missing.length === 0 && unknown.length === 0 && !/['"]/.test(input) && !value[0]?.includes('{');
      return isFit
        ? { value }
        : {
            value,
            mistake: `must be a program and its arguments without quotes, with ${needs.map((one) => `{${one}}`).join(' and ')}, and no placeholders but ${knows.map((one) => `{${one}}`).join(', ')}`,
          };
    },
  });
}

interface UrlOptions {
  readonly default?: string;
  /** Such as `https:`. */
  readonly protocols: readonly string[];
}

/** A slash at the end is removed. Without a default, the variable must be set. */
export function url(name: string, meaning: string, { protocols, default: fallback }: UrlOptions): Variable<string> {
  const begins = protocols.map((protocol) => `${protocol}//`).join(' or ');
  return declared(name, meaning, {
    kind: `URL, ${codes(protocols)}`,
    standIn: '',
    fallback,
    parse(input) {
      const value = input.replace(/\/$/, '');
      return URL.canParse(input) && protocols.includes(new URL(input).protocol)
        ? { value }
        : { value, mistake: `must be a URL that begins with ${begins}` };
    },
  });
}

interface IntegerOptions {
  readonly default: number;
  readonly from: number;
  readonly to: number;
}

/** Both bounds are inclusive. */
export function integer(name: string, meaning: string, options: IntegerOptions): Variable<number> {
  const { default: fallback, from, to } = options;
  return declared(name, meaning, {
    kind: `whole number, ${from} to ${to}`,
    standIn: fallback,
    fallback,
    parse(input) {
      const value = Number(input);
      return Number.isInteger(value) && value >= from && value <= to
        ? { value }
        : { value: fallback, mistake: `must be a whole number from ${from} to ${to}` };
    },
  });
}

export function oneOf<T extends string>(
  name: string,
  meaning: string,
  { of, default: fallback }: { readonly of: readonly T[]; readonly default: NoInfer<T> },
): Variable<T> {
  return declared(name, meaning, {
    kind: `one of ${codes(of)}`,
    standIn: fallback,
    fallback,
    parse(input) {
      const value = of.find((word) => word === input);
      return value === undefined ? { value: fallback, mistake: `must be one of ${of.join(', ')}` } : { value };
    },
  });
}

/** Separated by commas; empty if the variable is not set. */
export function anyOf<T extends string>(name: string, meaning: string, of: readonly T[]): Variable<readonly T[]> {
  const each = `one of ${of.join(', ')}`;
  return {
    ...list(name, meaning, { accepts: (item): item is T => of.some((word) => word === item), each }),
    kind: `list with commas; each one of ${codes(of)}`,
  };
}

interface ListOptions<T extends string> {
  readonly accepts: ((item: string) => item is T) | ((item: string) => boolean);
  /** Names one value, such as "a network such as 10.0.0.0/8". */
  readonly each: string;
}

/** Separated by commas; empty if the variable is not set. */
export function list<T extends string = string>(
  name: string,
  meaning: string,
  { accepts, each }: ListOptions<T>,
): Variable<readonly T[]> {
  return {
    ...declared<readonly T[]>(name, meaning, {
      kind: `list with commas; each ${each}`,
      standIn: [],
      parse(input) {
        const items = input
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== '');
        const value = items.filter((item): item is T => accepts(item));
        return value.length === items.length
          ? { value }
          : { value, mistake: `must be a list, separated by commas, each item ${each}` };
      },
    }),
    isRequired: false,
  };
}

/** Whole numbers from 1, separated by commas; `off` for none. */
export function counts(
  name: string,
  meaning: string,
  options: { readonly default: string },
): Variable<readonly number[]> {
  return declared<readonly number[]>(name, meaning, {
    kind: 'whole numbers from 1, with commas, or `off`',
    standIn: [],
    fallback: options.default,
    parse(input) {
      if (input === 'off') return { value: [] };
      if (/^[1-9]\d{0,6}(,[1-9]\d{0,6})*$/.test(input)) return { value: input.split(',').map(Number) };
      return { value: [], mistake: 'must be whole numbers from 1, separated by commas, or off' };
    },
  });
}

interface JsonOptions<T> {
  /** In Markdown. */
  readonly kind: string;
  /** The value if the variable is not set. */
  readonly empty: T;
  /** @returns the value, or the mistake without any value of the text */
  readonly parse: (input: string) => Parsed<T>;
}

/** JSON of a form of its own. */
export function json<T>(name: string, meaning: string, { kind, empty, parse }: JsonOptions<T>): Variable<T> {
  return { ...declared<T>(name, meaning, { kind, standIn: empty, parse }), isRequired: false };
}

/** Bytes in base64. */
export function key(name: string, meaning: string, { bytes }: { readonly bytes: number }): Variable<Buffer> {
  return declared<Buffer>(name, meaning, {
    kind: `${bytes} bytes in base64`,
    standIn: Buffer.alloc(0),
    parse(input) {
      const value = Buffer.from(input, 'base64');
      return isKey(input, bytes) ? { value } : { value, mistake: `must be ${bytes} bytes in base64` };
    },
  });
}

/** The value is several keys in base64, all different, with commas between them; empty if the variable is not set. */
export function keys(
  name: string,
  meaning: string,
  { bytes }: { readonly bytes: number },
): Variable<readonly Buffer[]> {
  const items = list(name, meaning, { accepts: (item) => isKey(item, bytes), each: `${bytes} bytes in base64` });
  return {
    ...items,
    parse(input) {
      const { value, ...mistake } = items.parse(input);
      const isTwice = new Set(value).size < value.length;
      return {
        value: value.map((item) => Buffer.from(item, 'base64')),
        ...(isTwice ? { mistake: 'names a key twice' } : mistake),
      };
    },
  };
}

/** Decoding ignores characters that are not base64. This check prevents that a mistyped key becomes another key. */
function isKey(input: string, bytes: number): boolean {
  const value = Buffer.from(input, 'base64');
  return value.length === bytes && value.toString('base64') === input;
}

const codes = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(' ');
