/** Finds programs on the PATH, and runs them with limits of time and output. */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import path from 'node:path';

export interface Lookup {
  /** Absolute paths of executable files, in the order of the PATH. */
  readonly files: readonly string[];
  /** A clause with path and reason for each file that cannot be executed. */
  readonly unusable: readonly string[];
}

/** Programs of Linux distributions load hundreds of libraries, perhaps from a disk without a warm cache. */
export const answerTimeoutMs = 15_000;
const mostOutputBytes = 4 * 1_048_576;
const mostWords = 200;
/** The maximum time between the end of a program and the end of its output. */
const drainMs = 500;

/**
 * Finds the files of a program without starting the program.
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

/** @returns undefined if it is executable, `absent` if it does not exist, otherwise the reason */
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
 * Waits for the output, such as the text of `--version`. The program and its children end at the limit of time or output.
 * @param program a path, or a name on the PATH
 * @param options.env the environment of this process if absent
 * @returns the standard output, then the standard error
 * @throws Error if the program fails; the message can follow the program's name, and quotes the last words of the output
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
      detached: true, // Its own process group, so that the children of a script end with the script.
      ...(env !== undefined && { env }),
    });
    const output = { out: [] as Buffer[], error: [] as Buffer[], bytes: 0 };
    let failure: string | undefined;
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // All processes of the group have already ended.
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

/** A message quotes these words. */
export function firstWords(output: string): string {
  const line = output.split('\n').find((one) => one.trim() !== '');
  return line === undefined ? 'nothing' : `"${printable(line).slice(0, mostWords)}"`;
}

function lastWords(output: string): string {
  const line = output.split('\n').findLast((one) => one.trim() !== '');
  return line === undefined ? 'it prints nothing' : printable(line).slice(-mostWords);
}

/** A shell reads a program for another processor as a script, and its message then quotes bytes. */
const printable = (line: string): string => line.replaceAll(/[\p{C}\uFFFD]+/gu, '?').trim();
