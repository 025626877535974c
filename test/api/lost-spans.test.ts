import { expect } from 'chai';
import { startApi } from '../../api/server.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { useTracing } from '../toolkit/stack/tracing.ts';

describe('spans of the API', () => {
  let lossesGo = 0;
  useTracing(undefined, () => lossesGo++);

  it('writes a log line if spans are lost', async () => {
    const api = await startApi(await testConfig());
    await api.stop();
    expect(lossesGo).to.equal(1);
  });
});
