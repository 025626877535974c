/** Runs programs within limits. The deployment configures each as a command with placeholders, such as `{input}`. */
import { runBounded, type ProgramBounds } from './bounded-program.ts';
import { lookUp } from './programs.ts';

interface CommandRun {
  /** The only directory for files of the program. It is removed after the work. */
  directory: string;
  bounds: ProgramBounds;
  signal: AbortSignal;
}

/** @returns undefined if it is not an executable file */
export async function findProgram([executable = '']: readonly string[]): Promise<string | undefined> {
  const [file] = (await lookUp(executable, process.env['PATH'] ?? '')).files;
  return file;
}

/**
 * @param command with placeholders
 * @returns `absent` if there is no such executable file; `failed` if the program failed or exceeded a limit
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
 * The environment has no secret. Temporary files go into the directory that is removed after the work. The program gets one thread, because
 * more would slow down other work.
 */
const environmentIn = (directory: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: directory,
  TMPDIR: directory,
  LANG: 'C.UTF-8',
  OMP_THREAD_LIMIT: '1',
});

/** A value that looks like a placeholder stays unchanged. */
function filled(word: string, values: Readonly<Record<string, string>>): string {
  return word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
