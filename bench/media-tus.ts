/**
 * `npm run bench -- media tus`: a video of two gigabytes by tus, beside a bare multipart upload of the same bytes to the same store;
 * and the memory of the API meanwhile (MED-26).
 */
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { readConfig } from '../config.ts';
import { freePorts } from '../dev/ports.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import { clientConfig } from '../platform/infra/object-store.ts';
import { partBytes } from '../platform/infra/part-store.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { onFreshStack, progress, report, reportBeside, type Round } from './support.ts';

const rounds = 2;
const megabyte = 1_024 * 1_024;
const fileBytes = 2_048 * megabyte;
/** The first one warms up. */
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
    const bare = (bytes: number) => multipart(s3, config.storage.privateBucket, bytes);
    const ours = (bytes: number) => byTus(`http://127.0.0.1:${port}`, club, bytes);
    await ours(warmUpBytes);
    await bare(warmUpBytes);
    const before = await residentBytes(child.pid);
    const found: Round[] = [];
    let most = before;
    for (let round = 1; round <= rounds; round++) {
      const sampling = setInterval(() => {
        void residentBytes(child.pid).then((now) => (most = Math.max(most, now)));
      }, sampledMs);
      const rate = await ours(fileBytes);
      clearInterval(sampling);
      found.push({ ours: rate, bare: await bare(fileBytes) });
      progress(`round ${round}: ${JSON.stringify(found.at(-1))}`);
    }
    reportBeside('MB/s of a video of 2 GB by tus', found);
    report('MB of memory of the API', {
      before: before / megabyte,
      most: most / megabyte,
      grown: (most - before) / megabyte,
    });
    s3.destroy();
    await source.destroy();
  });
}

/** The same piece again and again: making it must cost nothing. */
function* pieces(bytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1_024, 'lecture ');
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
}

async function rateOf(bytes: number, work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return bytes / megabyte / ((performance.now() - begun) / 1_000);
}

/** As many bytes in hand as ours: a part on its way, and one that fills. */
function multipart(client: S3Client, Bucket: string, bytes: number): Promise<number> {
  const params = { Bucket, Key: 'bench/bare', Body: Readable.from(pieces(bytes)) };
  return rateOf(bytes, async () => {
    await new Upload({ client, params, partSize: partBytes, queueSize: 1 }).done();
  });
}

/** All of the file in one request. @returns megabytes a second, from the creation until the last answer, with the file settled */
async function byTus(base: string, { id, token }: BenchClub, bytes: number): Promise<number> {
  const reserved = await fetch(`${base}/v1/clubs/${id}/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ file_name: 'lecture.mp4', mime: 'video/mp4', size_bytes: bytes }),
  });
  if (!reserved.ok) throw new Error(`The reservation was answered ${reserved.status}.`);
  const { upload } = (await reserved.json()) as { upload: { url: string; headers: Record<string, string> } };
  const headers = { ...upload.headers, 'tus-resumable': '1.0.0' };
  return rateOf(bytes, async () => {
    const created = await fetch(upload.url, {
      method: 'POST',
      headers: { ...headers, 'upload-length': String(bytes) },
    });
    const status = await patch(created.headers.get('location') ?? '', headers, bytes);
    if (status !== 204) throw new Error(`The last piece was answered ${status}.`);
  });
}

async function patch(location: string, headers: Record<string, string>, bytes: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const piece = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream', 'content-length': bytes };
  const sending = request(location, { method: 'PATCH', headers: { ...headers, ...piece } }, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sending.on('error', reject);
  await pipeline(Readable.from(pieces(bytes)), sending);
  return promise;
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}
