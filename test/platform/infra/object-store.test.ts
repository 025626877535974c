/** Tests the object store. */
import {
  CreateBucketCommand,
  GetBucketCorsCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketCorsCommand,
  PutBucketVersioningCommand,
  S3Client,
  type CORSRule,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { readConfig } from '../../../config.ts';
import { newId } from '../../../platform/core/ids.ts';
import { openBucketTo } from '../../../api/files/bucket-origins.ts';
import { clientConfig, createObjectStore, type ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { joinParts } from '../../../platform/infra/store/part-store.ts';
import { createAddressSigner } from '../../../platform/infra/store/signed-addresses.ts';
import { dispositionOf } from '../../../domain/media/file-name.policy.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';
import { withClockStopped } from '../../toolkit/fakes/timers.ts';
import { testStack } from '../../toolkit/stack/stack.ts';

describe('the removal of a file', function () {
  this.timeout(20_000);
  const bucket = `versions-${newId()}`;
  let s3: S3Client;
  let store: ObjectStore;
  before('a bucket with versioning', async () => {
    await testStack();
    const { storage } = readConfig();
    s3 = new S3Client({
      endpoint: storage.endpoint,
      region: storage.region,
      forcePathStyle: true,
      credentials: { accessKeyId: storage.accessKeyId.reveal(), secretAccessKey: storage.secretAccessKey.reveal() },
    });
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }));
    store = createObjectStore({ ...storage, privateBucket: bucket });
  });
  after(() => {
    store.close();
    s3.destroy();
  });

  const putText = (key: string, text: string) => store.put(key, 'text/plain', Readable.from([Buffer.from(text)]));
  const versions = async () => {
    const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket }));
    return [...Versions, ...DeleteMarkers].map(({ Key }) => Key);
  };

  it('removes each version and delete marker of only this file', async () => {
    for (const text of ['one', 'two', 'three']) await putText('media/a', text);
    await putText('media/ab', 'another');
    expect(await versions()).to.deep.equal(['media/a', 'media/a', 'media/a', 'media/ab']);
    await store.remove('media/a');
    expect(await versions()).to.deep.equal(['media/ab']);
    await store.remove('media/a');
    expect(await versions()).to.deep.equal(['media/ab']);
    expect(await store.size('media/ab')).to.equal(7);
  });

  it('succeeds for each of several simultaneous removals of one file', async () => {
    const { storage } = readConfig(); // The bucket of the test stack has no versioning.
    const plain = createObjectStore(storage);
    try {
      for (let round = 0; round < 5; round++) {
        const key = `removal/${newId()}`;
        await plain.put(key, 'text/plain', Readable.from([Buffer.from('one')]));
        await Promise.all(Array.from({ length: 6 }, () => plain.remove(key)));
        expect(await plain.size(key)).to.equal(undefined);
      }
    } finally {
      plain.close();
    }
  });

  describe('while another process removes the file', () => {
    /** Answers the first deletions with these errors, and then succeeds. */
    const storeThatAnswers = async (codes: readonly string[]) => {
      const remainingCodes = [...codes];
      const server = createServer((request, response) => {
        const code = request.method === 'DELETE' ? remainingCodes.shift() : undefined;
        const status =
          code === undefined ? (request.method === 'DELETE' ? 204 : 200) : code === 'AccessDenied' ? 403 : 404;
        response.writeHead(status, { 'content-type': 'application/xml' });
        response.end(
          status === 204 ? undefined : code === undefined ? '<Result/>' : `<Error><Code>${code}</Code></Error>`,
        );
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const one = createObjectStore({ ...readConfig().storage, endpoint: `http://127.0.0.1:${port}` });
      const removed = await one.remove('media/a').then(
        () => 'removed',
        ({ name }: Error) => name,
      );
      one.close();
      server.close();
      server.closeAllConnections();
      return { removed, unusedCodes: remainingCodes.length };
    };

    it('is repeated up to five times', async () => {
      expect(await storeThatAnswers(['NoSuchKey', 'NoSuchVersion', 'NoSuchUpload'])).to.deep.equal({
        removed: 'removed',
        unusedCodes: 0,
      });
      const always = Array.from({ length: 9 }, () => 'NoSuchKey');
      expect(await storeThatAnswers(always)).to.deep.equal({ removed: 'NoSuchKey', unusedCodes: 4 });
    });

    it('is not repeated if the store refuses for another reason', async () => {
      const refused = await storeThatAnswers(['AccessDenied', 'AccessDenied', 'AccessDenied']);
      expect(refused.removed).to.equal('AccessDenied');
      expect(refused.unusedCodes).to.equal(2);
    });
  });
});

describe('joining the parts of a file (MED-26)', () => {
  const xml = (name: string, content: string) => `<${name}>${content}</${name}>`;
  const part = xml('Part', '<PartNumber>1</PartNumber><Size>5</Size><ETag>"e"</ETag>');
  let server: Server;
  let endpoint: string;

  /** Copying the parts takes three times as long as the timeout of other requests. */
  before(async () => {
    server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://store');
      const isJoining = request.method === 'POST' && searchParams.has('uploadId');
      response.setHeader('content-type', 'application/xml').setHeader('etag', '"e"');
      const answer = () => {
        if (isJoining) return xml('CompleteMultipartUploadResult', '<ETag>"e"</ETag>');
        if (request.method === 'GET') return xml('ListPartsResult', part);
        return request.method === 'POST' ? xml('InitiateMultipartUploadResult', '<UploadId>u</UploadId>') : '';
      };
      request.resume().on('end', () => setTimeout(() => response.end(answer()), isJoining ? 900 : 0));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  it('has a longer timeout than other requests', async () => {
    const client = new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'unused', secretAccessKey: 'unused' },
      requestHandler: { requestTimeout: 300, throwOnRequestTimeout: true },
      maxAttempts: 1,
    });
    expect(await joinParts(client, { Bucket: 'private', Key: 'media/a', UploadId: 'u' }, 5)).to.equal('joined');
    client.destroy();
  });

  it('has the longer timeout also for files that the service uploads', async () => {
    await testStack();
    const store = createObjectStore({ ...readConfig().storage, endpoint }, { answeredWithinMs: 300 });
    await store.put('media/a.1-mp4-1', 'video/mp4', Readable.from([Buffer.alloc(6 * 1_024 * 1_024)]));
    store.close();
  });
});

describe('copying a file inside the store', function () {
  this.timeout(20_000);
  const parts = 5 * 1_024 * 1_024; // The smallest part size of S3.
  const prefix = newId();
  let store: ObjectStore;
  before('a store that copies in small parts', async () => {
    await testStack();
    store = createObjectStore(readConfig().storage, { copiedBytes: parts });
  });
  after(() => store.close());

  const go = () => new AbortController().signal;
  const putFile = async (name: string, bytes: Buffer): Promise<string> => {
    const key = `media/${prefix}/${name}`;
    await store.put(key, 'application/x-original', Readable.from([bytes]));
    return key;
  };

  it('copies even a file of several parts, and sets the given headers', async () => {
    for (const size of [10, 2 * parts + 3]) {
      const bytes = Buffer.alloc(size, 'knot');
      const [from, to] = [await putFile(`${size}`, bytes), `public/${prefix}/${size}`];
      const headers = {
        contentType: 'text/plain',
        disposition: 'inline; filename="a"',
        cacheControl: 'public, max-age=7',
      };
      expect(await store.copy(from, to, headers, go())).to.equal(true);
      const answer = await fetch(store.publicAddress(to));
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).to.equal(true);
      const headersOfAnswer = ['content-type', 'content-disposition', 'cache-control'].map((name) =>
        answer.headers.get(name),
      );
      expect(headersOfAnswer).to.deep.equal(Object.values(headers));
      expect(await store.size(from), 'the original').to.equal(size);
      await store.remove(to);
      expect([await store.size(to), (await fetch(store.publicAddress(to))).status]).to.deep.equal([undefined, 404]);
    }
  });

  it('returns false for a missing file', async () => {
    const headers = { contentType: 'text/plain' };
    const to = `public/${prefix}/broken`;
    expect(await store.copy(`media/${prefix}/unknown`, to, headers, go())).to.equal(false);
    const from = await putFile('large', Buffer.alloc(2 * parts + 3));
    const stopped = AbortSignal.abort(new Error('The worker stops.'));
    const outcome = await store.copy(from, to, headers, stopped).catch((error: Error) => error.name);
    expect([outcome, await store.size(to)]).to.deep.equal(['AbortError', undefined]);
    expect(() => store.publicAddress(from)).to.throw('The key belongs to a private file, but a public file is needed');
  });
});

describe('CORS origins that may upload to a bucket (MED-12)', function () {
  this.timeout(20_000);
  const [dashboard, classroom] = ['https://dashboard.example.com', 'https://classroom.example.com'] as const;
  let s3: S3Client;
  before('a client', async () => {
    await testStack();
    s3 = new S3Client(clientConfig(readConfig().storage));
  });
  after(() => s3.destroy());

  async function bucketWith(rules: CORSRule[] = []) {
    const Bucket = `cors-${newId()}`;
    await s3.send(new CreateBucketCommand({ Bucket }));
    if (rules.length > 0) await s3.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: rules } }));
    const store = createObjectStore({ ...readConfig().storage, privateBucket: Bucket });
    const ruled = async () => (await s3.send(new GetBucketCorsCommand({ Bucket }))).CORSRules ?? [];
    return {
      allow: (...origins: string[]) => store.allowOrigins(origins),
      origins: async () => (await ruled()).map(({ AllowedOrigins }) => AllowedOrigins),
      async maySend(origin: string, headers = 'content-type,if-none-match') {
        const url = `${readConfig().storage.endpoint}/${Bucket}/media/a`;
        const requestHeaders = { 'access-control-request-method': 'PUT', 'access-control-request-headers': headers };
        const answer = await fetch(url, { method: 'OPTIONS', headers: { origin, ...requestHeaders } });
        await answer.arrayBuffer();
        return answer.headers.get('access-control-allow-origin') === origin;
      },
      close: () => store.close(),
    };
  }

  it('are the origins of the latest call and of the owner’s rules', async () => {
    const other = { AllowedOrigins: ['https://backup.example.com'], AllowedMethods: ['GET'] };
    const bucket = await bucketWith([other]);
    expect(await bucket.maySend(dashboard)).to.equal(false);
    expect([await bucket.allow(dashboard), await bucket.allow(dashboard)]).to.deep.equal([true, false]);
    expect([await bucket.maySend(dashboard), await bucket.maySend(classroom)]).to.deep.equal([true, false]);
    expect(await bucket.maySend(dashboard, 'x-amz-acl')).to.equal(false);
    expect(await bucket.allow(classroom)).to.equal(true);
    expect([await bucket.maySend(dashboard), await bucket.maySend(classroom)]).to.deep.equal([false, true]);
    expect(await bucket.origins()).to.deep.equal([[classroom], other.AllowedOrigins]);
    bucket.close();
  });

  it('stay unchanged if the existing rules suffice', async () => {
    const wide = { AllowedOrigins: ['https://*.example.com'], AllowedMethods: ['GET', 'PUT'], AllowedHeaders: ['*'] };
    const bucket = await bucketWith([wide]);
    expect(await bucket.allow(dashboard, classroom)).to.equal(false);
    expect(await bucket.origins()).to.deep.equal([wide.AllowedOrigins]);
    expect(await bucket.allow(dashboard, 'https://another.example.org')).to.equal(true);
    bucket.close();
  });

  it('are set as soon as the store answers', async () => {
    const warnings: string[] = [];
    const log = {
      info: (words: unknown) => warnings.push(`info ${String(words)}`),
      warn: (_: object, words = '') => warnings.push(`warn ${words}`),
    };
    const stopping = new AbortController();
    const asking = (origins: string[], allowOrigins: () => Promise<boolean>) =>
      openBucketTo(origins, { allowOrigins }, log as never, stopping.signal);
    await asking([], () => Promise.reject(new Error('It was asked.')));
    await asking([dashboard], () =>
      Promise.reject(Object.assign(new Error('No.'), { $metadata: { httpStatusCode: 403 } })),
    );
    expect(warnings).to.deep.equal([
      'warn the CORS rules of the private bucket cannot be set: set them by hand, or browsers cannot upload',
    ]);
    let requestCount = 0;
    const away = asking([dashboard], () => {
      requestCount += 1;
      return Promise.reject(new Error('The store is away.'));
    });
    stopping.abort(); // Without this abort, the next request would come a minute later.
    await away;
    expect([requestCount, warnings.length]).to.deep.equal([1, 1]);
  });
});

describe('the signed address of a file (MED-6)', function () {
  this.timeout(20_000);
  const names = [
    'knot.pdf',
    `Größe "100 %" of Herr O'Neil (1)*!~.pdf`,
    'a=b&c?d#e;f,g+h/i\\j.txt',
    '結び目 🪢.png',
    '%41%2F.txt',
  ];
  let store: ObjectStore;
  before('a store', async () => {
    await testStack();
    store = createObjectStore(readConfig().storage);
  });
  after(() => store.close());

  it('equals the address of getSignedUrl for any characters', async () => {
    const { storage } = readConfig();
    const stores = [storage.endpoint, 'https://s3.eu-west-1.amazonaws.com', 'https://files.example:8443/s3/'];
    await eachCase(stores, async (endpoint) => {
      const client = new S3Client({ ...clientConfig({ ...storage, endpoint }), region: 'eu-west-1' });
      const sign = createAddressSigner(endpoint, client.config);
      for (const name of names)
        for (const answer of [
          undefined,
          { disposition: dispositionOf('attachment', name), contentType: 'text/plain; charset=utf-8' },
        ])
          await withClockStopped(async () => {
            const file = { Bucket: 'private', Key: `media/${name}` };
            const headers = {
              ResponseCacheControl: 'private, max-age=900',
              ...(answer && {
                ResponseContentDisposition: answer.disposition,
                ResponseContentType: answer.contentType,
              }),
            };
            const usual = await getSignedUrl(client, new GetObjectCommand({ ...file, ...headers }), { expiresIn: 77 });
            expect(await sign({ bucket: file.Bucket, key: file.Key, answer, seconds: 77 })).to.equal(usual);
          });
      client.destroy();
    });
  });

  it('returns the file only if the address is unchanged', async () => {
    await eachCase(names, async (name) => {
      const key = `media/${newId()}/${name.replaceAll(/[/\\]/g, '')}`;
      await store.put(key, 'text/x-knot', Readable.from([Buffer.from(name)]));
      const disposition = dispositionOf('attachment', name);
      const address = await store.signGet(key, { disposition, contentType: 'text/plain' });
      const named = await fetch(address);
      const headers = ['content-disposition', 'content-type', 'cache-control'].map((header) =>
        named.headers.get(header),
      );
      const expected = [200, name, disposition, 'text/plain', 'private, max-age=900'];
      expect([named.status, await named.text(), ...headers]).to.deep.equal(expected);
      const plain = await fetch(await store.signGet(key));
      expect([plain.status, plain.headers.get('content-type')]).to.deep.equal([200, 'text/x-knot']);
      expect(plain.headers.get('cache-control')).to.equal('private, max-age=900');
      for (const changed of [address.replace('text%2Fplain', 'text%2Fhtml'), address.replace('=1200', '=12000')])
        expect((await fetch(changed)).status).to.equal(403);
      await store.remove(key);
    });
  });

  it('stays equal for 5 minutes and valid for 20 minutes', async () => {
    const [key, answer] = ['media/knot', { disposition: 'inline', contentType: 'text/plain' }];
    const began = Date.now();
    const at = (time: number, work: () => Promise<string>) => withClockStopped(work, began + time);
    const first = await at(0, () => store.signGet(key, answer));
    expect(new URL(first).searchParams.get('X-Amz-Expires')).to.equal('1200');
    expect(await at(5 * 60_000 - 1, () => store.signGet(key, answer))).to.equal(first);
    const later = await at(5 * 60_000 + 1, () => store.signGet(key, answer));
    const others = [
      later,
      await at(0, () => store.signGet('media/knots', answer)),
      await at(0, () => store.signGet(key, { ...answer, contentType: 'text/html' })),
      await at(0, () => store.signGet(key, { ...answer, disposition: 'attachment' })),
      await at(0, () => store.signGet(key)),
      await at(0, () => store.signGet(key, answer, 60)),
      await at(0, () => store.signGet(`public/${key}`, answer)),
    ];
    expect(new Set([first, ...others]).size).to.equal(8);
  });
});
