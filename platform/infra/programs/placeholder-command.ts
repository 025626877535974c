/** Runs programs within limits. A deployment configures each program by a command with placeholders, such as `{input}`. */
import { runBounded, type ProgramBounds } from './bounded-program.ts';
import { lookUp } from './programs.ts';

interface CommandRun {
  /** The working directory, and the only directory for files of the program. It is removed after the work. */
  directory: string;
  bounds: ProgramBounds;
  signal: AbortSignal;
}

/** @returns the file that the command starts; undefined if it is not an executable file */
export async function findProgram([executable = '']: readonly string[]): Promise<string | undefined> {
  const [file] = (await lookUp(executable, process.env['PATH'] ?? '')).files;
  return file;
}

/**
 * @param command the program and its arguments, with placeholders
 * @param values the values by the names of their placeholders
 * @returns `absent` if there is no such executable file. `failed` if the program failed or exceeded a bound
 * @throws the signal's reason
 */
export async function runCommand(
  command: readonly string[],
  values: Readonly<Record<string, string>>,
  { directory, bounds, signal }: CommandRun,
): Promise<'done' | 'failed' | 'absent'> {
  const file = await findProgram(command);
  signal.throwIfAborted();
  if (file === undefined) return 'absent';
  const args = command.slice(1).map((word) => filled(word, values));
  return runBounded(file, args, { bounds, env: environmentIn(directory), signal, cwd: directory });
}

/**
 * The environment contains no secret of this service. Temporary files go into the directory that is removed after the work. Each program
 * may use only one thread, because more threads would slow down other work.
 */
const environmentIn = (directory: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: directory,
  TMPDIR: directory,
  LANG: 'C.UTF-8',
  OMP_THREAD_LIMIT: '1',
});

/** Replaces each placeholder once; a value that looks like a placeholder stays unchanged. */
function filled(word: string, values: Readonly<Record<string, string>>): string {
  return word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
