/** Compares the versions that programs print with the oldest usable versions. */
import { askProgram, firstWords, lookUp } from '../../platform/infra/programs/programs.ts';
import { messageOf } from '../problem.ts';

interface Wanted {
  /**
   * Matches the version in the program's output. If the pattern matches but its group is empty, the program is a build without a version,
   * and is accepted.
   */
  readonly pattern: RegExp;
  readonly oldest: string;
  /** The arguments with which the program prints its version; `--version` if absent. */
  readonly args?: readonly string[];
  /** The clause that is reported for a version that is too old. */
  readonly found?: (version: string) => string;
  /** The clause that is reported for an output without a version. */
  readonly unknown?: string;
}

/** @returns a function that checks a program. It returns a clause with the found and the required version, or undefined if the program is
 * usable */
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
 * Finds a program that an installation or a proof needs, and that this project does not install.
 * @param flawOf returns a clause that says why a program is unusable; if absent, a program is usable if it runs with `--version`
 * @returns the path of the first usable program on the PATH
 * @throws Error when no program on the PATH is usable; the message says why each program is unusable
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

/** Compares two versions number by number: 1.9.0 is older than 1.29.0. */
function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}
