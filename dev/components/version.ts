/** Compares the versions that programs print with the oldest usable versions. */
import { askProgram, firstWords, lookUp } from '../../platform/infra/programs/programs.ts';
import { messageOf } from '../problem.ts';

interface Wanted {
  /** Finds the version in the output. An empty group means a build without a version, which is accepted. */
  readonly pattern: RegExp;
  readonly oldest: string;
  /** These arguments print the version; `--version` if absent. */
  readonly args?: readonly string[];
  /** The clause for a version that is too old. */
  readonly found?: (version: string) => string;
  /** The clause for an output without a version. */
  readonly unknown?: string;
}

/** @returns a function that checks a program; its result says which version was found and required, or is undefined */
export function versionFlaw({
  pattern,
  oldest,
  args = ['--version'],
  found = (version) => `is version ${version}`,
  unknown = 'does not print its version',
}: Wanted): (executable: string) => Promise<string | undefined> {
  const needed = `${oldest} or newer is needed`;
  return async (executable) => {
    try {
      const output = await askProgram(executable, args);
      const match = pattern.exec(output);
      if (!match) return `${unknown}, but ${firstWords(output)}; ${needed}`;
      const [, version] = match;
      return version !== undefined && isOlder(version, oldest) ? `${found(version)}; ${needed}` : undefined;
    } catch (error) {
      return `${messageOf(error)}; ${needed}`;
    }
  };
}

/**
 * Finds a program on the PATH that this project does not install.
 * @param flawOf returns why a program is unusable; by default, a program must run with `--version`
 * @returns the path of the first usable program
 * @throws Error when no program is usable; the message says why
 */
export async function findOnPath(
  name: string,
  flawOf: (executable: string) => Promise<string | undefined> = (file) =>
    askProgram(file, ['--version']).then(() => undefined, messageOf),
): Promise<string> {
  const { files, unusable } = await lookUp(name, process.env['PATH'] ?? '');
  const flawsFound = [...unusable];
  for (const file of files) {
    const flaw = await flawOf(file);
    if (flaw === undefined) return file;
    flawsFound.push(`${file} ${flaw}`);
  }
  throw new Error(flawsFound.length === 0 ? `${name} is not installed` : flawsFound.join(', '));
}

/** Compares number by number: 1.9.0 is older than 1.29.0. */
function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}
