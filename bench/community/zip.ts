/**
 * `npm run bench -- community zip`: an archive of 5 GB from the file listener (REPO-6), beside bare streams of its objects, and beside a
 * process that only pipes them; also the API's memory. All ten rows name one object, so the store reads it from its cache.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { freePorts } from '../../dev/stack/ports.ts';
import { downloadsPath } from '../../domain/repositories/archive.ts';
import { downloadToken } from '../../domain/repositories/tokens.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { newId } from '../../platform/core/ids.ts';
import { clientConfig, createObjectStore } from '../../platform/infra/store/object-store.ts';
import { createVault } from '../../platform/infra/keys/vault.ts';
import { addClub } from '../clubs.ts';
import { onFreshStack, progress, report, reportBeside, type Round } from '../support.ts';

const rounds = 3;
const megabyte = 1_024 * 1_024;
const fileBytes = 512 * megabyte;
const files = 10;
const sampledMs = 100;

export async function measureZip(): Promise<void> {
  await onFreshStack(['postgres', 'storage'], async ({ env, launch }) => {
    const config = readConfig(env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const { id: clubId } = await addClub(source);
    const key = `media/${clubId}/bench`;
    const store = createObjectStore(config.storage);
    await store.put(key, 'application/octet-stream', Readable.from(pieces()));
    const who = await addReader(source, clubId, key);
    const { files: filesPort } = await freePorts(['files']);
    const filesUrl = `http://127.0.0.1:${filesPort}`;
    const { child } = await launch('api/server.ts', 'API_PORT', {
      FILES_PORT: String(filesPort),
      FILES_URL: filesUrl,
    });
    const token = { ...who, expiresAt: new Date(Date.now() + 3_600_000) };
    const address = `${filesUrl}${downloadsPath}/${downloadToken(createVault(config.masterKey), token)}`;
    const s3 = new S3Client(clientConfig(config.storage));
    const bare = () =>
      rateOf(async () => {
        let bytes = 0;
        for (let file = 0; file < files; file++) {
          const { Body } = await s3.send(new GetObjectCommand({ Bucket: config.storage.privateBucket, Key: key }));
          for await (const piece of Body as Readable) bytes += (piece as Buffer).length;
        }
        return bytes;
      });
    const download = (from: string) =>
      rateOf(async () => {
        // This is Node's own HTTP client, like in the S3 client above.
        const [answer] = (await once(get(from), 'response')) as [IncomingMessage];
        if (answer.statusCode !== 200) throw new Error(`The archive was answered ${answer.statusCode}.`);
        let bytes = 0;
        for await (const piece of answer) bytes += (piece as Buffer).length;
        const promised = answer.headers['content-length'];
        if (promised !== undefined && bytes !== Number(promised)) throw new Error('The archive came short.');
        return bytes;
      });
    const { port: pipePort } = await launch('bench/ceiling/archive-route.ts', 'CEILING_PORT');
    const pipe = `http://127.0.0.1:${pipePort}/?key=${encodeURIComponent(key)}&files=${files}`;
    const before = await residentBytes(child.pid);
    const besideStreams: Round[] = [];
    const besidePipe: Round[] = [];
    let most = before;
    for (let round = 1; round <= rounds; round++) {
      const sampling = setInterval(() => {
        void residentBytes(child.pid).then((now) => (most = Math.max(most, now)));
      }, sampledMs);
      const ours = await download(address);
      clearInterval(sampling);
      besidePipe.push({ ours, bare: await download(pipe) });
      besideStreams.push({ ours, bare: await bare() });
      progress(`round ${round}: ${JSON.stringify([besidePipe.at(-1), besideStreams.at(-1)])}`);
    }
    reportBeside('MB/s of an archive of 5 GB', besideStreams);
    reportBeside('MB/s of an archive of 5 GB, beside a bare pipe in Node', besidePipe);
    report('MB of memory of the API', {
      before: before / megabyte,
      most: most / megabyte,
      grown: (most - before) / megabyte,
    });
    s3.destroy();
    store.close();
    await source.destroy();
  });
}

const piece = Buffer.alloc(megabyte, 'knot card ');

function* pieces(): Generator<Buffer> {
  for (let remaining = fileBytes; remaining > 0; remaining -= piece.length) yield piece;
}

/** A student with access to a repository of ten files, all with the content of one object. @param key the key of this object */
async function addReader(
  source: DataSource,
  clubId: string,
  key: string,
): Promise<{ repositoryId: string; studentId: string }> {
  const [repositoryId, studentId, deliveryId] = [newId(), newId(), newId()];
  let sum = 0;
  for (const each of pieces()) sum = crc32(each, sum);
  await source.query(
    `INSERT INTO repositories (id, club_id, public_id, title, status, created_at, updated_at, published_at)
     VALUES ($1, $2, 'cards', 'Cards', 'published', now(), now(), now())`,
    [repositoryId, clubId],
  );
  await source.query(
    `WITH file AS (
       INSERT INTO media (id, club_id, purpose, kind, title, provider, status, file_name, mime, size_bytes, crc32, object_key, created_at, updated_at)
       SELECT gen_random_uuid(), $2, 'library', 'document', 'Card ' || n, 'objstore', 'ready', n || '.bin', 'application/zip', $3, $4, $5, now(), now()
         FROM generate_series(1, $6::int) AS n RETURNING id)
     INSERT INTO repository_items (repository_id, media_id, position, added_at)
     SELECT $1, id, row_number() OVER () - 1, now() FROM file`,
    [repositoryId, clubId, fileBytes, sum, key, files],
  );
  await source.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Berta', 'berta@example.com', now(), now())`,
    [studentId, clubId],
  );
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, repository_id, created_at, updated_at)
     VALUES ($1, $2, 'Cards', 'repository', $3, now(), now())`,
    [deliveryId, clubId, repositoryId],
  );
  await source.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'grant', now(), now(), now())`,
    [newId(), clubId, studentId, deliveryId],
  );
  return { repositoryId, studentId };
}

/** @param work returns the number of received bytes @returns megabytes a second */
async function rateOf(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const bytes = await work();
  return bytes / megabyte / ((performance.now() - startedAt) / 1_000);
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}
