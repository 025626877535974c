/** Files that are removed from a bucket that keeps versions of them. */
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
