/** Downloads official archives, and checks their checksums where the publisher has them. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, interceptors, request, type Dispatcher } from 'undici';
import { runCommand } from '../stack/commands.ts';
import type { Source } from './catalogue.ts';

export interface Download {
  /** Leads to a .tar.gz file. */
  readonly url: string;
  /** The publisher's list of checksums, if it has a list. Each line begins with `<sha256> <file name>`. */
  readonly checksums?: string;
}

export interface Archive extends Download {
  /** Path of the executable inside the archive. */
  readonly member: string;
}

const connectTimeoutMs = 5_000;
const headersTimeoutMs = 15_000;
const stallTimeoutMs = 30_000;
const progressEveryBytes = 20_000_000;
const maxRedirects = 5;
/**
 * More bytes than any file has, so that undici never pauses a response. If a server closes a paused connection, undici 7 ends the whole
 * process (https://github.com/nodejs/undici/issues/5360).
 */
const bufferBytes = 1_000_000_000;

/** A source that downloads an archive and extracts one executable. It uses HTTPS_PROXY and NO_PROXY. */
export function downloadArchive(archive: Archive): Source {
  return {
    title: archive.url,
    async fetch(directory, report) {
      await unpackDownload(archive, directory, report);
      await promote(directory, archive.member);
    },
  };
}

export async function unpackDownload(
  { url, checksums }: Download,
  directory: string,
  report: (line: string) => void,
): Promise<void> {
  const expected = checksums === undefined ? undefined : await publishedChecksum(checksums, url);
  const file = path.join(directory, 'archive.tar.gz');
  const actual = await saveDownload(url, file, report);
  if (expected !== undefined && actual !== expected) {
    throw new Error(`its SHA-256 is ${actual}, but the publisher says ${expected}`);
  }
  await runCommand('tar', ['-xzf', file, '-C', directory]);
  await rm(file);
}

/** In some archives, the executable is inside a directory. */
async function promote(directory: string, member: string): Promise<void> {
  const [top = '', ...below] = member.split('/');
  if (below.length === 0) return;
  const unpacked = path.join(directory, '.unpacked');
  await rename(path.join(directory, top), unpacked);
  await rename(path.join(unpacked, ...below), path.join(directory, path.basename(member)));
  await rm(unpacked, { recursive: true });
}

async function publishedChecksum(checksums: string, url: string): Promise<string> {
  const name = url.slice(url.lastIndexOf('/') + 1);
  const lines = (await (await get(checksums)).body.text()).split('\n').map((line) => line.trim().split(/\s+/));
  const found = lines
    .find((words) => words.some((word) => word.replace(/^\*/, '') === name))
    ?.find((word) => /^[0-9a-f]{64}$/i.test(word));
  if (found === undefined) throw new Error(`${checksums} has no line for ${name}`);
  return found.toLowerCase();
}

/** Uses HTTPS_PROXY and NO_PROXY. @returns the SHA-256 of the content, in hexadecimal */
export async function saveDownload(url: string, file: string, report: (line: string) => void): Promise<string> {
  const { body, headers } = await get(url);
  const total = Number(headers['content-length'] ?? 0);
  const hash = createHash('sha256');
  let received = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      hash.update(chunk);
      const before = received;
      received += chunk.length;
      if (Math.floor(before / progressEveryBytes) !== Math.floor(received / progressEveryBytes)) {
        report(`  ${megabytes(received)}${total > 0 ? ` of ${megabytes(total)}` : ''}`);
      }
      callback(null, chunk);
    },
  });
  await pipeline(body, counted, createWriteStream(file));
  return hash.digest('hex');
}

async function get(url: string): Promise<Dispatcher.ResponseData> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: stallTimeoutMs,
    // Each connection serves one request, so that no open connection keeps the process alive.
    pipelining: 0,
  }).compose(interceptors.redirect({ maxRedirections: maxRedirects }));
  const response = await request(url, { dispatcher, highWaterMark: bufferBytes });
  if (response.statusCode !== 200) {
    await response.body.dump();
    throw new Error(`it answers ${response.statusCode}`);
  }
  return response;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_000_000)} MB`;
}
