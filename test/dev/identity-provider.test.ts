/** Tests the local identity provider of `npm start` and of the tests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { startLocalProvider } from '../../dev/identity-provider/provider.ts';
import { makeAuthority } from '../../dev/stack/certificates.ts';

describe('the local identity provider', function () {
  this.timeout(60_000);

  it('stops also if its process has already ended by a signal, as after Ctrl-C', async () => {
    const authority = await makeAuthority();
    const certificate = await authority.issue(['localhost']);
    const provider = await startLocalProvider({ certificate, redirectUris: ['http://localhost/back'], people: [] });
    process.kill(provider.pid, 'SIGINT');
    await sleep(500);
    await provider.stop();
    expect(() => process.kill(provider.pid, 0)).to.throw('ESRCH');
  });
});
