/** Runs a command to its end, for installations. Prints its output only if it fails. */
import { spawn } from 'node:child_process';
import type { Environment } from '../../config.ts';

export interface CommandOptions {
  readonly env?: Environment;
  readonly cwd?: string;
  /** Is called every 15 s while the command runs. It receives the whole seconds since the start of the command. */
  readonly stillRunning?: (seconds: number) => void;
  /** The time limit in milliseconds, after which the command is stopped. */
  readonly timeoutMs?: number;
  /** The user that runs the command; if absent, the current user. */
  readonly identity?: { readonly uid: number; readonly gid: number };
}

const heartbeatMs = 15_000;

/**
 * Runs one command without a shell.
 * @returns the standard output of the command, and then its standard error
 * @throws Error when the command fails or does not start; the message has the last lines of the output, or the reason
 */
export function runCommand(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const startedAt = Date.now();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...options.identity,
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
    });
    const chunks: { out: Buffer[]; error: Buffer[] } = { out: [], error: [] };
    child.stdout.on('data', (chunk: Buffer) => chunks.out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.error.push(chunk));
    const heartbeat = setInterval(
      () => options.stillRunning?.(Math.round((Date.now() - startedAt) / 1000)),
      heartbeatMs,
    );
    // When this process ends, it also stops the command.
    const kill = () => void child.kill();
    process.once('exit', kill);
    const finish = () => {
      clearInterval(heartbeat);
      process.off('exit', kill);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish();
      reject(error.code === 'ENOENT' ? new Error(`${command} is not installed`) : error);
    });
    child.once('close', (code, signal) => {
      finish();
      const output = Buffer.concat([...chunks.out, ...chunks.error]).toString('utf8');
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ended with ${signal ?? `exit code ${code}`}: ${lastWords(output)}`));
    });
  });
}

function lastWords(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.slice(-3).join(' | ').slice(-400) || 'it said nothing';
}
