/**
 * Child processes with their output in a file. To stop a child, this module sends a signal, and SIGKILL if the child does not end in time.
 * All children end with this process, even if it is killed.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../../config.ts';

export interface ChildOptions {
  /** The name in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment; if absent, the child gets the environment of this process. */
  readonly env?: Environment;
  readonly cwd?: string;
  /** Receives the output. The output of the previous run stays as `<file>.previous`. */
  readonly logFile: string | undefined;
  /** `terminal`: the output goes to our terminal, and the child can send messages to this process. */
  readonly attached?: 'terminal';
  /** Asks the process to end. */
  readonly stopSignal?: NodeJS.Signals;
  /** The process is killed if it needs longer to end. */
  readonly graceMs?: number;
  /** The current user if absent. */
  readonly identity?: { readonly uid: number; readonly gid: number };
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether this process has stopped the child. */
  readonly wasRequested: boolean;
}

export interface Child {
  readonly name: string;
  /** Undefined only if the process could not start; then `exited` rejects. */
  readonly pid: number | undefined;
  readonly exited: Promise<Exit>;
  /** Sends the stop signal, and after the grace period SIGKILL. Resolves when the child has ended. */
  stop(): Promise<void>;
  /** Returns the last lines of the output. */
  lastLines(count?: number): string;
  onMessage(listener: (message: unknown) => void): void;
}

const usualGraceMs = 10_000;

/**
 * A shell script that guards one child and reads a pipe from this process. A line means that the child has ended; the guard ends, too. If
 * the pipe closes without a line, this process has ended, perhaps by SIGKILL. Then the guard ends the child. $1: process id of the child,
 * $2: signal.
 */
const guardScript = `
if read -r line; then exit 0; fi
kill -s "$2" "$1" || exit 0
for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -s 0 "$1" || exit 0; done
kill -s KILL "$1"
`;

/** Starts a child in its own process group. Ctrl-C then reaches only this process, which stops its children in order. */
export function startChild(options: ChildOptions): Child {
  const stopSignal = options.stopSignal ?? 'SIGTERM';
  const output = options.attached === 'terminal' ? 'inherit' : openLog(options.logFile);
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: options.attached === 'terminal' ? ['ignore', output, output, 'ipc'] : ['ignore', output, output],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...options.identity,
  });
  if (typeof output === 'number') closeSync(output);

  let isStopRequested = false;
  const release = child.pid === undefined ? () => undefined : guard(child.pid, stopSignal);
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      release();
      resolve({ code, signal, wasRequested: isStopRequested });
    });
  });
  exited.catch(() => undefined);

  return {
    name: options.name,
    pid: child.pid,
    exited,
    async stop() {
      isStopRequested = true;
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill(stopSignal);
      const firmly = setTimeout(() => child.kill('SIGKILL'), options.graceMs ?? usualGraceMs);
      await exited;
      clearTimeout(firmly);
    },
    lastLines: (count = 15) => (options.logFile === undefined ? '' : lastLinesOf(options.logFile, count)),
    onMessage: (listener) => void child.on('message', listener),
  };
}

/** The process may belong to another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Returns one sentence, and the last lines of the output. */
export function describeExit(child: Child, exit: Exit): string {
  const how = exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
  const lines = child.lastLines();
  return `${child.name} ended unexpectedly (${how}).${lines === '' ? '' : ` Its last output:\n${lines}`}`;
}

function guard(pid: number, signal: NodeJS.Signals): () => void {
  const args = ['-c', guardScript, 'guard', String(pid), signal.replace('SIG', '')];
  const shell = spawn('/bin/sh', args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => undefined);
  shell.stdin.on('error', () => undefined);
  // The guard must not keep this process running.
  shell.unref();
  return () => void shell.stdin.end('ended\n');
}

function openLog(file: string | undefined): number | 'ignore' {
  if (file === undefined) return 'ignore';
  mkdirSync(path.dirname(file), { recursive: true });
  try {
    renameSync(file, `${file}.previous`);
  } catch {
    // There was no previous run.
  }
  return openSync(file, 'a', 0o600);
}

function lastLinesOf(file: string, count: number): string {
  try {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    return lines
      .slice(-count)
      .map((line) => `  | ${line}`)
      .join('\n');
  } catch {
    return '';
  }
}
