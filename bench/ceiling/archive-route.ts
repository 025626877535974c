/** The ceiling for archives: Node pipes the requested objects from the store into one answer. */
import { createServer } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { readConfig } from '../../config.ts';
import { clientConfig } from '../../platform/infra/store/object-store.ts';

const { storage } = readConfig();
const s3 = new S3Client(clientConfig(storage));

createServer((request, response) => {
  if (request.url === '/readyz') return void response.end('ready');
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  const [Key, files] = [searchParams.get('key') ?? '', Number(searchParams.get('files'))];
  void (async () => {
    for (let file = 1; file <= files; file++) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: storage.privateBucket, Key }));
      await pipeline(Body as Readable, response, { end: file === files });
    }
  })();
}).listen(Number(process.env['CEILING_PORT']), '127.0.0.1');
