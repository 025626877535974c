/** Files that are removed from a bucket that keeps versions of them. */
import {
  CreateBucketCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
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
      for (let round = 0; round < 30; round++) {
        const key = `removal/${newId()}`;
        await plain.put(key, 'text/plain', Readable.from([Buffer.from('one')]));
        await Promise.all(Array.from({ length: 6 }, () => plain.remove(key)));
        expect(await plain.size(key)).to.equal(undefined);
      }
    } finally {
      plain.close();
    }
  });
});
