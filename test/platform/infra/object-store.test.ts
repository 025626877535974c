/** Files that are removed from a bucket that keeps versions of them, and files that are copied. */
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { readConfig } from '../../../config.ts';
import { newId } from '../../../platform/core/ids.ts';
import { createObjectStore, type ObjectStore } from '../../../platform/infra/object-store.ts';
import { testStack } from '../../toolkit/stack/stack.ts';

describe('the removal of a file', function () {
  this.timeout(20_000);
  const bucket = `versions-${newId()}`;
  let s3: S3Client;
  let store: ObjectStore;
  before('a bucket that keeps versions', async () => {
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

  const put = (key: string, text: string) => store.put(key, 'text/plain', Readable.from([Buffer.from(text)]));
  const versions = async () => {
    const { Versions = [], DeleteMarkers = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket: bucket }));
    return [...Versions, ...DeleteMarkers].map(({ Key }) => Key);
  };

  it('takes every version and delete marker of it, and nothing of a file whose name begins alike', async () => {
    for (const text of ['one', 'two', 'three']) await put('media/a', text);
    await put('media/ab', 'another');
    expect(await versions()).to.deep.equal(['media/a', 'media/a', 'media/a', 'media/ab']);
    await store.remove('media/a');
    expect(await versions()).to.deep.equal(['media/ab']);
    await store.remove('media/a');
    expect(await versions()).to.deep.equal(['media/ab']);
    expect(await store.size('media/ab')).to.equal(7);
  });

  it('succeeds for each of those who remove the same file at once', async () => {
    const { storage } = readConfig(); // the stack's bucket keeps no versions
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

  describe('that somebody else removes meanwhile', () => {
    /** A store whose first deletions answer like this, and the others as they should. */
    const storeThatAnswers = async (codes: readonly string[]) => {
      const left = [...codes];
      const server = createServer((request, response) => {
        const code = request.method === 'DELETE' ? left.shift() : undefined;
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
      return { removed, left: left.length };
    };

    it('is tried again, up to five times', async () => {
      expect(await storeThatAnswers(['NoSuchKey', 'NoSuchVersion', 'NoSuchUpload'])).to.deep.equal({
        removed: 'removed',
        left: 0,
      });
      const always = Array.from({ length: 9 }, () => 'NoSuchKey');
      expect(await storeThatAnswers(always)).to.deep.equal({ removed: 'NoSuchKey', left: 4 });
    });

    it('is not tried again where the store refuses it for another reason', async () => {
      const refused = await storeThatAnswers(['AccessDenied', 'AccessDenied', 'AccessDenied']);
      expect(refused.removed).to.equal('AccessDenied');
      expect(refused.left).to.equal(2);
    });
  });
});

describe('the copy of a file inside the store', function () {
  this.timeout(20_000);
  const parts = 5 * 1_024 * 1_024; // the smallest that S3 takes
  const prefix = newId();
  let store: ObjectStore;
  before('a store that copies in small parts', async () => {
    await testStack();
    store = createObjectStore(readConfig().storage, { copiedBytes: parts });
  });
  after(() => store.close());

  const go = () => new AbortController().signal;
  const put = async (name: string, bytes: Buffer): Promise<string> => {
    const key = `media/${prefix}/${name}`;
    await store.put(key, 'application/x-original', Readable.from([bytes]));
    return key;
  };

  it('goes to the other bucket, by the key alone, with the headers that it is given; whole or in parts', async () => {
    for (const size of [10, 2 * parts + 3]) {
      const bytes = Buffer.alloc(size, 'knot');
      const [from, to] = [await put(`${size}`, bytes), `public/${prefix}/${size}`];
      const headers = {
        contentType: 'text/plain',
        disposition: 'inline; filename="a"',
        cacheControl: 'public, max-age=7',
      };
      expect(await store.copy(from, to, headers, go())).to.equal(true);
      const answer = await fetch(store.publicAddress(to));
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).to.equal(true);
      const shown = ['content-type', 'content-disposition', 'cache-control'].map((name) => answer.headers.get(name));
      expect(shown).to.deep.equal(Object.values(headers));
      expect(await store.size(from), 'the original').to.equal(size);
      await store.remove(to);
      expect([await store.size(to), (await fetch(store.publicAddress(to))).status]).to.deep.equal([undefined, 404]);
    }
  });

  it('of nothing is nothing; one that is broken off leaves nothing that can be read, and goes with its key', async () => {
    const headers = { contentType: 'text/plain' };
    const to = `public/${prefix}/broken`;
    expect(await store.copy(`media/${prefix}/unknown`, to, headers, go())).to.equal(false);
    const from = await put('large', Buffer.alloc(2 * parts + 3));
    const stopped = AbortSignal.abort(new Error('The worker stops.'));
    const outcome = await store.copy(from, to, headers, stopped).catch((error: Error) => error.name);
    expect([outcome, await store.size(to)]).to.deep.equal(['AbortError', undefined]);
    expect(() => store.publicAddress(from)).to.throw('A private file has no public address');
  });
});
