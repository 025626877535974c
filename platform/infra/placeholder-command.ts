/** Programs that a deployment names by a command with placeholders, such as `{input}`: how they are started within bounds. */
import { runBounded, type ProgramBounds } from './bounded-program.ts';
import { lookUp } from './programs.ts';

interface CommandRun {
  /** Where it works, and the only place for its own files: it goes with the work. */
  directory: string;
  bounds: ProgramBounds;
  signal: AbortSignal;
}

/** @returns the file that the command starts; undefined if there is none that may be executed */
export async function findProgram([executable = '']: readonly string[]): Promise<string | undefined> {
  const [file] = (await lookUp(executable, process.env['PATH'] ?? '')).files;
  return file;
}

/**
 * @param command the program and its arguments, with placeholders
 * @param values by the names of placeholders
 * @returns `absent`: there is no such file that may be executed. `failed`: it could not do it, or reached a bound
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

/** No secret of ours. Its own files stand in the directory that goes with the work; several threads would only slow other work down. */
const environmentIn = (directory: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: directory,
  TMPDIR: directory,
  LANG: 'C.UTF-8',
  OMP_THREAD_LIMIT: '1',
});

/** Each placeholder once: a value that looks like one stays as it is. */
function filled(word: string, values: Readonly<Record<string, string>>): string {
  return word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
