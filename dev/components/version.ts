/** Versions of programs that are there: what they say themselves, beside the oldest that will do. */
import { askProgram, firstWords, lookUp } from '../../platform/infra/programs.ts';
import { messageOf } from '../problem.ts';

interface Wanted {
  /** Finds the version in what the program says; a match without a group is a build that has none. */
  readonly pattern: RegExp;
  readonly oldest: string;
  /** Asks for the version; `--version` when absent. */
  readonly args?: readonly string[];
  /** A clause for a version that is too old. */
  readonly found?: (version: string) => string;
  /** A clause for words without a version. */
  readonly unknown?: string;
}

/** @returns looks at a program, and says in a clause which version was found and which is needed; undefined if it will do */
export function versionFlaw({
  pattern,
  oldest,
  args = ['--version'],
  found = (version) => `is version ${version}`,
  unknown = 'does not say its version',
}: Wanted): (executable: string) => Promise<string | undefined> {
  const needed = `${oldest} or newer is needed`;
  return async (executable) => {
    try {
      const said = await askProgram(executable, args);
      const match = pattern.exec(said);
      if (!match) return `${unknown}, but ${firstWords(said)}; ${needed}`;
      const [, version] = match;
      return version !== undefined && isOlder(version, oldest) ? `${found(version)}; ${needed}` : undefined;
    } catch (error) {
      return `${messageOf(error)}; ${needed}`;
    }
  };
}

/**
 * Finds a program that an installation or a proof needs, and that we do not bring.
 * @param flawOf says in a clause why a program will not do; without it, a program must answer `--version`
 * @returns the path of the first on the PATH that will do
 * @throws Error that says of each one on the PATH why it will not
 */
export async function findOnPath(
  name: string,
  flawOf: (executable: string) => Promise<string | undefined> = (file) =>
    askProgram(file, ['--version']).then(() => undefined, messageOf),
): Promise<string> {
  const { files, unusable } = await lookUp(name, process.env['PATH'] ?? '');
  const seen = [...unusable];
  for (const file of files) {
    const flaw = await flawOf(file);
    if (flaw === undefined) return file;
    seen.push(`${file} ${flaw}`);
  }
  throw new Error(seen.length === 0 ? `${name} is not installed` : seen.join(', '));
}

/** Compares number by number: 1.9.0 is older than 1.29.0. */
function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}
