/**
 * `npm run bench -- media tus`: a video of two gigabytes by tus, beside bare multipart uploads to the same store, with as many parallel
 * parts as ours and with four. It also measures the API's memory (MED-26).
 */
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { readConfig } from '../config.ts';
import { freePorts } from '../dev/stack/ports.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { clientConfig } from '../platform/infra/store/object-store.ts';
import { partBytes } from '../platform/infra/store/part-store.ts';
import type { Id } from '../platform/core/ids.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { reserve } from './media-calls.ts';
import { onFreshStack, progress, report, reportBeside } from './support.ts';

const rounds = 2;
export const megabyte = 1_024 * 1_024;
const fileBytes = 2_048 * megabyte;
/** An upload of this size warms up the processes. */
const warmUpBytes = 128 * megabyte;
const sampledMs = 100;

export async function benchTus(): Promise<void> {
  await onFreshStack(['postgres', 'storage'], async ({ env, launch }) => {
    const config = readConfig(env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const club = await addClub(source);
    const { files } = await freePorts(['files']);
    const { port, child } = await launch('api/server.ts', 'API_PORT', {
      FILES_PORT: String(files),
      FILES_URL: `http://127.0.0.1:${files}`,
    });
    const s3 = new S3Client(clientConfig(config.storage));
    const bare = (bytes: number, queueSize: number) => multipart(s3, config.storage.privateBucket, bytes, queueSize);
    const ours = async (bytes: number) => (await sendByTus(`http://127.0.0.1:${port}`, club, { bytes })).rate;
    await ours(warmUpBytes);
    await bare(warmUpBytes, 1);
    const before = await residentBytes(child.pid);
    const found: { ours: number; one: number; four: number }[] = [];
    let most = before;
    for (let round = 1; round <= rounds; round++) {
      const sampling = setInterval(() => {
        void residentBytes(child.pid).then((now) => (most = Math.max(most, now)));
      }, sampledMs);
      const rate = await ours(fileBytes);
      clearInterval(sampling);
      found.push({ ours: rate, one: await bare(fileBytes, 1), four: await bare(fileBytes, 4) });
      progress(`round ${round}: ${JSON.stringify(found.at(-1))}`);
    }
    const beside = (parts: 'one' | 'four') => found.map((round) => ({ ours: round.ours, bare: round[parts] }));
    reportBeside('MB/s of a video of 2 GB by tus, beside one part at a time', beside('one'));
    reportBeside('MB/s of a video of 2 GB by tus, beside four parts at a time', beside('four'));
    report('MB of memory of the API', {
      before: before / megabyte,
      most: most / megabyte,
      grown: (most - before) / megabyte,
    });
    s3.destroy();
    await source.destroy();
  });
}

/** One repeated piece costs nothing. Players ignore it after a video, because it is an unknown box. */
function* pieces(bytes: number, begins: Buffer = Buffer.alloc(0)): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1_024, 'lecture ');
  let remaining = bytes;
  if (begins.length > 0) {
    remaining -= begins.length + 16;
    const head = Buffer.alloc(16);
    head.writeUInt32BE(1); // the size of this box is a 64-bit number
    head.write('free', 4);
    head.writeBigUInt64BE(BigInt(remaining + 16), 8);
    yield begins;
    yield head;
  }
  for (; remaining > 0; remaining -= piece.length) yield piece.subarray(0, Math.min(remaining, piece.length));
}

async function rateOf(bytes: number, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return bytes / megabyte / ((performance.now() - startedAt) / 1_000);
}

/** Like our code, it holds two parts in memory with one parallel part: a part in transfer, and the next part. */
function multipart(client: S3Client, Bucket: string, bytes: number, queueSize: number): Promise<number> {
  const params = { Bucket, Key: 'bench/bare', Body: Readable.from(pieces(bytes)) };
  return rateOf(bytes, async () => {
    await new Upload({ client, params, partSize: partBytes, queueSize }).done();
  });
}

/**
 * In one request.
 * @param file.begins contains a video; if absent, the file is not a video
 * @returns megabytes a second, until the last answer: then the service has accepted the file
 */
export async function sendByTus(
  base: string,
  club: BenchClub,
  { bytes, begins }: { bytes: number; begins?: Buffer },
): Promise<{ id: Id; rate: number }> {
  const { id, to } = await reserve(base, club, { file_name: 'lecture.mp4', mime: 'video/mp4', size_bytes: bytes });
  const headers = { ...to.headers, 'tus-resumable': '1.0.0' };
  const rate = await rateOf(bytes, async () => {
    const created = await fetch(to.url, { method: 'POST', headers: { ...headers, 'upload-length': String(bytes) } });
    const status = await patch(created.headers.get('location') ?? '', headers, bytes, begins);
    if (status !== 204) throw new Error(`The last piece was answered ${status}.`);
  });
  return { id, rate };
}

async function patch(
  location: string,
  headers: Record<string, string>,
  bytes: number,
  begins?: Buffer,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const piece = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream', 'content-length': bytes };
  const sending = request(location, { method: 'PATCH', headers: { ...headers, ...piece } }, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sending.on('error', reject);
  await pipeline(Readable.from(pieces(bytes, begins)), sending);
  return promise;
}

export async function residentBytes(pid: number | undefined): Promise<number> {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}
