import { expect } from 'chai';
import { mock } from 'node:test';
import { readConfig } from '../../../config.ts';
import { bucketMistakes } from '../../../platform/infra/store/bucket-checks.ts';
import { testBucket } from '../../toolkit/stack/storage.ts';

describe('the check whether the buckets accept files', () => {
  it('leaves no file behind, even if a check fails', async () => {
    const bucket = await testBucket();
    const { storage } = readConfig();
    const fetching = mock.method(globalThis, 'fetch'); // records the requests of this test alone
    const unsendable = 'https://pages.example.com\n.'; // no header can have it: the look at it throws
    expect(await bucketMistakes(storage, [unsendable])).to.deep.equal([
      'S3 cannot be used with the bucket club-private (S3_PRIVATE_BUCKET) (TypeError): is S3_ENDPOINT right, and is the server up?',
    ]);
    const [key = ''] = fetching.mock.calls.flatMap(
      ({ arguments: [to] }) => /media\/doctor-[\w-]+/.exec(to instanceof Request ? to.url : to.toString()) ?? [],
    );
    fetching.mock.restore();
    expect(key).to.match(/^media\/doctor-/);
    expect(await bucket.objects(key)).to.deep.equal([]);
  });
});
