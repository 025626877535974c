/** Finds programs of this machine on the PATH, and runs them with limits of time and output. */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import path from 'node:path';

export interface Lookup {
  /** The absolute paths of the executable files with this name, in the order of the PATH. */
  readonly files: readonly string[];
  /** A clause for each file of this name that cannot be executed. The clause contains the path and the reason. */
  readonly unusable: readonly string[];
}

/**
 * The time limit for a program to print its version. It is long, because programs of Linux distributions load hundreds of libraries,
 * perhaps from a disk without a warm cache.
 */
export const answerTimeoutMs = 15_000;
const mostOutputBytes = 4 * 1_048_576;
const mostWords = 200;
/** The maximum time between the end of a program and the end of its output. */
const drainMs = 500;

/**
 * Finds a program without starting it.
 * @param program a path, or a name to find in the absolute directories of `searchPath`
 */
export async function lookUp(program: string, searchPath: string): Promise<Lookup> {
  const directories = new Set(searchPath.split(path.delimiter).filter((directory) => path.isAbsolute(directory)));
  const places = program.includes('/')
    ? [path.resolve(program)]
    : [...directories].map((directory) => path.join(directory, program));
  const files: string[] = [];
  const unusable: string[] = [];
  for (const place of places) {
    const flaw = await whyNotExecutable(place);
    if (flaw === undefined) files.push(place);
    else if (flaw !== 'absent') unusable.push(`${place} ${flaw}`);
  }
  return { files, unusable };
}

/**
 * @returns undefined if the file is executable, `absent` if the file does not exist, and otherwise the reason why the file is not
 * executable
 */
async function whyNotExecutable(file: string): Promise<string | undefined> {
  try {
    if (!(await stat(file)).isFile()) return 'is no file';
    await access(file, constants.X_OK);
    return undefined;
  } catch (error) {
    const { code = 'no code' } = error as NodeJS.ErrnoException;
    if (code === 'EACCES') return 'may not be executed by this user';
    const isLink = await lstat(file).then(
      (found) => found.isSymbolicLink(),
      () => false,
    );
    if (isLink) return 'is a link that leads to no file';
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : `cannot be read (${code})`;
  }
}

/**
 * Starts a program and waits for its output, such as the text of `--version`. The program and its children end at the limit of time or
 * output.
 * @param program a path, or a name on the PATH
 * @param options.env the whole environment of the program; if absent, the environment of this process
 * @returns the standard output of the program, and then its standard error
 * @throws Error, when the program fails. Its message is a clause that can follow the program's name, and quotes the last words of the
 * output
 */
export function askProgram(
  program: string,
  args: readonly string[],
  { timeoutMs = answerTimeoutMs, env }: { timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const argumentText = args.join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // The program has its own process group, so that the children of a script end with the script.
      ...(env !== undefined && { env }),
    });
    const output = { out: [] as Buffer[], error: [] as Buffer[], bytes: 0 };
    let failure: string | undefined;
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The error means that all processes of the group have already ended.
      }
    };
    const fail = (why: string) => {
      failure ??= why;
      end();
    };
    const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
      output.bytes += chunk.length;
      if (output.bytes > mostOutputBytes) fail(`says more than ${mostOutputBytes / 1_048_576} MB to ${argumentText}`);
      else chunks.push(chunk);
    };
    child.stdout.on('data', collect(output.out));
    child.stderr.on('data', collect(output.error));
    const limit = setTimeout(() => fail(`does not answer ${argumentText} within ${timeoutMs / 1_000} s`), timeoutMs);
    process.once('exit', end);
    const finish = () => {
      clearTimeout(limit);
      process.off('exit', end);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish();
      const { code = 'no code' } = error;
      reject(
        new Error(code === 'ENOENT' ? 'is not installed, or its interpreter is not' : `cannot be started (${code})`),
      );
    });
    child.once('exit', () => {
      end();
      // A process in another process group may keep the output open.
      setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), drainMs).unref();
    });
    child.once('close', (code, signal) => {
      finish();
      const printed = Buffer.concat([...output.out, ...output.error]).toString('utf8');
      if (failure !== undefined) reject(new Error(failure));
      else if (code !== 0) reject(new Error(`ends with ${signal ?? `exit code ${code}`}: ${lastWords(printed)}`));
      else resolve(printed);
    });
  });
}

/** @returns the first words of a program's output, to be quoted in a message */
export function firstWords(output: string): string {
  const line = output.split('\n').find((one) => one.trim() !== '');
  return line === undefined ? 'nothing' : `"${printable(line).slice(0, mostWords)}"`;
}

function lastWords(output: string): string {
  const line = output.split('\n').findLast((one) => one.trim() !== '');
  return line === undefined ? 'it prints nothing' : printable(line).slice(-mostWords);
}

/**
 * Replaces characters that cannot be printed. If a program was built for another processor, a shell reads it as a script, and its error
 * message quotes bytes of the program.
 */
const printable = (line: string): string => line.replaceAll(/[\p{C}\uFFFD]+/gu, '?').trim();
