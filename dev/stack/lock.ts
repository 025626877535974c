/**
 * Allows one run for each data directory. The lock is a file with the port on which its holder listens. A second run gives way only if the
 * holder answers at this port. So the file of a killed run locks nothing, even if another process now has its process id.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { host } from './ports.ts';
import { Problem } from '../problem.ts';

interface Holder {
  readonly pid: number;
  readonly port: number;
  readonly token: string;
}

export interface Lock {
  /** An earlier run ended without releasing the lock. Some of its processes may still be ending. */
  readonly foundStale: boolean;
  release(): Promise<void>;
}

const fileName = 'lock.json';
const answerTimeoutMs = 1_000;

/** @throws Problem if another run has locked the directory */
export async function lockDirectory(directory: string): Promise<Lock> {
  const file = path.join(directory, fileName);
  const found = await readHolder(file);
  if (found && (await answers(found))) {
    throw new Problem(
      `The development stack is running already in ${directory} (process ${found.pid}). Stop it first, with Ctrl-C in its terminal.`,
    );
  }
  const token = randomUUID();
  const server = net.createServer((socket) => socket.on('error', () => undefined).end(token));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host }, resolve);
  });
  const { port } = server.address() as net.AddressInfo;
  await mkdir(directory, { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify({ pid: process.pid, port, token } satisfies Holder), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return {
    foundStale: found !== undefined,
    async release() {
      await rm(file, { force: true });
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The process id of the run that has locked the directory. */
export async function lockHolder(directory: string): Promise<number | undefined> {
  const holder = await readHolder(path.join(directory, fileName));
  return holder && (await answers(holder)) ? holder.pid : undefined;
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

function answers({ port, token }: Holder): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = net.connect({ port, host });
    socket.setEncoding('utf8');
    socket.setTimeout(answerTimeoutMs, () => socket.destroy());
    socket.on('data', (chunk) => (answer += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer === token));
  });
}
