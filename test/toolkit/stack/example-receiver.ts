/**
 * Runs the example receivers of docs/examples/receivers as processes. They are started as a reader of the examples would start them. Tests
 * read their output.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { answerTimeoutMs, firstWords } from '../../../platform/infra/programs/programs.ts';

export const examplesDirectory = fileURLToPath(new URL('../../../docs/examples/receivers/', import.meta.url));

interface Example {
  readonly file: string;
  readonly tool: string;
  readonly versionArgs: readonly string[];
  readonly minorVersion: RegExp;
  /** The lowest version that the file of the example names. */
  readonly leastMinor: number;
  readonly isCompiled: boolean;
}

export const examples: readonly Example[] = [
  {
    file: 'receiver.mjs',
    tool: process.execPath,
    versionArgs: ['--version'],
    minorVersion: /^v(\d+)/,
    leastMinor: 18,
    isCompiled: false,
  },
  {
    file: 'receiver.py',
    tool: 'python3',
    versionArgs: ['--version'],
    minorVersion: /^Python 3\.(\d+)/,
    leastMinor: 9,
    isCompiled: false,
  },
  {
    file: 'receiver.go',
    tool: 'go',
    versionArgs: ['version'],
    minorVersion: /^go version go1\.(\d+)/,
    leastMinor: 20,
    isCompiled: true,
  },
];

/** Returns the reason why an example cannot run on this machine, or undefined if it can. */
export function whyMissing({ tool, versionArgs, minorVersion, leastMinor }: Example): string | undefined {
  const { status, stdout, error } = spawnSync(tool, versionArgs, {
    encoding: 'utf8',
    timeout: answerTimeoutMs,
    killSignal: 'SIGKILL',
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    return `${tool} is not installed on this machine`;
  if (status !== 0) return `${tool} on the PATH does not print its version`;
  const minor = Number(minorVersion.exec(stdout)?.[1]);
  return minor >= leastMinor ? undefined : `${tool} prints ${firstWords(stdout)}, which is too old or another program`;
}

export interface RunningExample {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  timesHandled(eventId: string): number;
  /** @throws Error after 5 s */
  untilHandled(eventId: string): Promise<void>;
  /** Resolves with the exit code of the receiver, or `null` if a signal ended it. */
  stop(): Promise<number | null>;
}

export async function startExample(example: Example, secret: string): Promise<RunningExample> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'example-'));
  const source = path.join(examplesDirectory, example.file);
  const [command, args] = example.isCompiled ? [compiled(example, source, scratch), []] : [example.tool, [source]];
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new AbortController();
  const exited = once(child, 'close').finally(() => ended.abort());
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  const find = async (found: () => boolean, what: string): Promise<void> => {
    const signal = AbortSignal.any([AbortSignal.timeout(5_000), ended.signal]);
    while (!found()) {
      await once(output, 'line', { signal }).catch(() => {
        throw new Error(`${example.file} did not print "${what}" in time. ${complaints}`);
      });
    }
  };
  const timesHandled = (eventId: string) => lines.filter((line) => line.startsWith(`handled ${eventId} `)).length;
  const stop = async (): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill();
    await exited;
    rmSync(scratch, { recursive: true });
    return child.exitCode;
  };

  const listening = 'listening on ';
  try {
    await find(() => lines.some((line) => line.startsWith(listening)), listening);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: lines.find((line) => line.startsWith(listening))?.slice(listening.length) ?? '',
    timesHandled,
    untilHandled: (eventId) => find(() => timesHandled(eventId) > 0, `handled ${eventId}`),
    stop,
  };
}

function compiled({ tool, file }: Example, source: string, directory: string): string {
  const program = path.join(directory, 'receiver');
  const { status, stderr } = spawnSync(tool, ['build', '-o', program, source], {
    encoding: 'utf8',
    // Makes Go use only the installed toolchain, because a test must not download a different toolchain.
    env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' },
  });
  if (status !== 0) throw new Error(`${file} does not compile:\n${stderr}`);
  return program;
}
