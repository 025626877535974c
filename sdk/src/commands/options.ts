/** Reads the options of the commands (SDK-9): arguments, environment, and the API key, which is never an argument. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './command.ts';

type Options = NonNullable<ParseArgsConfig['options']>;
type Environment = Readonly<Record<string, string | undefined>>;

/** The options of every command that calls the service. */
export const serviceOptions = {
  'api-url': { type: 'string' },
  club: { type: 'string' },
} as const satisfies Options;

/** The lines about these options for the usage of a command. */
export const serviceUsage = `\
  --api-url URL    address of the service, or CLUB_LEARNING_API_URL
  --club ID        id of the club, or CLUB_LEARNING_CLUB_ID
The API key is the variable CLUB_LEARNING_API_KEY. It is no option, because other users of
the machine see the arguments of a program.`;

export interface ServiceAccess {
  readonly baseUrl: string;
  readonly clubId: string;
  /** The API key, `clk_…`. */
  readonly key: string;
}

/**
 * @param options the options, in the form of `parseArgs` of Node
 * @returns the values and the arguments that are no options
 * @throws UsageError for an unknown option, a missing value, or an argument if `allowPositionals` is not true
 */
export function parseOptions<Config extends Options, Positionals extends boolean = false>(
  args: readonly string[],
  options: Config,
  allowPositionals?: Positionals,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: allowPositionals ?? false });
  } catch (error) {
    if (isParseError(error)) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/**
 * @param values the parsed `serviceOptions`
 * @throws UsageError if the address, the club or the key is missing or malformed
 */
export function serviceAccess(
  values: { readonly 'api-url'?: string; readonly club?: string },
  env: Environment,
): ServiceAccess {
  const baseUrl = values['api-url'] ?? env['CLUB_LEARNING_API_URL'];
  const clubId = values.club ?? env['CLUB_LEARNING_CLUB_ID'];
  const key = env['CLUB_LEARNING_API_KEY'];
  if (!key) throw new UsageError('Set the variable CLUB_LEARNING_API_KEY to an API key of the club.');
  if (!/^clk_[\w-]+$/.test(key)) throw new UsageError('CLUB_LEARNING_API_KEY is no API key: a key begins with clk_.');
  if (!baseUrl) throw new UsageError('Give the address of the service with --api-url or CLUB_LEARNING_API_URL.');
  if (!clubId) throw new UsageError('Give the id of the club with --club or CLUB_LEARNING_CLUB_ID.');
  return { baseUrl: httpUrl(baseUrl, 'The address of the service').href.replace(/\/$/, ''), clubId, key };
}

/** @throws UsageError if the text is no address of http or https, or has a password */
export function httpUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`${name} must be an address of http or https, not ${JSON.stringify(text)}.`);
  if (url.username !== '' || url.password !== '') throw new UsageError(`${name} must not have a user or a password.`);
  return url;
}

/** @returns the text with API keys and secrets of endpoints replaced, so that a message does not show them */
export const withoutSecrets = (text: string): string => text.replaceAll(/\b(clk|whsec)_[\w+/=-]+/g, '$1_…');

function isParseError(error: unknown): error is Error {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('ERR_PARSE')
  );
}
