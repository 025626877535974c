/** Runs a command to its end. Prints its output only if it fails. */
import { spawn } from 'node:child_process';
import type { Environment } from '../../config.ts';

export interface CommandOptions {
  readonly env?: Environment;
  readonly cwd?: string;
  /** Called every 15 s with the whole seconds since the start. */
  readonly stillRunning?: (seconds: number) => void;
  /** The command is stopped after this time. */
  readonly timeoutMs?: number;
  /** The current user if absent. */
  readonly identity?: { readonly uid: number; readonly gid: number };
}

const heartbeatMs = 15_000;

/**
 * Without a shell.
 * @returns its standard output, then its standard error
 * @throws Error when the command fails or does not start; the message has the reason or the last lines of the output
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
    // When this process ends, the command ends, too.
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
