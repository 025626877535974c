import { expect } from 'chai';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import https, { type RequestOptions } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { authorityIn, type IssueOptions, makeAuthority } from '../../dev/stack/certificates.ts';
import { type Answer, isSignedWith, type Receiver, startReceiver } from '../../dev/clients/receiver.ts';

describe('dev/receiver and dev/certificates', () => {
  const receivers: Receiver[] = [];
  afterEach(() => Promise.all(receivers.splice(0).map((receiver) => receiver.stop())));

  const start = async (
    respond?: (number: number) => Answer,
    hosts = ['127.0.0.1', 'localhost'],
    issue: IssueOptions = {},
  ) => {
    const authority = await makeAuthority();
    const receiver = await startReceiver({
      certificate: await authority.issue(hosts, issue),
      ...(respond === undefined ? {} : { respond: (_request, number) => respond(number) }),
    });
    receivers.push(receiver);
    const post = (body: string, options: RequestOptions = {}) =>
      new Promise<number | string>((resolve) => {
        const request = https.request(
          `${receiver.url}/hooks`,
          { method: 'POST', ca: authority.certificate, ...options },
          (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          },
        );
        request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        request.end(body);
      });
    return { receiver, post };
  };

  it('answers each request as configured for its number, and stores the raw bytes', async () => {
    const { receiver, post } = await start((number) => (number === 1 ? { status: 503 } : { status: 204 }));
    expect([await post('eins'), await post('zwei ü', { headers: { 'x-kind': 'test' } })]).to.deep.equal([503, 204]);
    const [first, second] = await receiver.waitFor(2, 1_000);
    expect(first).to.include({ number: 1, method: 'POST', path: '/hooks' });
    expect(second?.body).to.deep.equal(Buffer.from('zwei ü'));
    expect(second?.headers['x-kind']).to.equal('test');
  });

  it('closes the connection or never answers if it is configured to do so', async () => {
    const { post } = await start((number) => (number === 1 ? 'drop' : 'hang'));
    expect(await post('x')).to.equal('ECONNRESET');
    expect(await post('x', { signal: AbortSignal.timeout(100) })).to.equal('ABORT_ERR');
  });

  it('reports the number of received requests if expected requests do not arrive', async () => {
    const { receiver, post } = await start();
    await post('x');
    const failure = await receiver.waitFor(2, 20).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(failure).to.equal('1 of 2 requests arrived within 20 ms.');
  });

  it('verifies signatures with the library that receivers use', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const { receiver, post } = await start();
    const now = new Date();
    const signed = (body: string) => ({
      'webhook-id': 'one',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('one', now, body),
    });
    await post('{}', { headers: signed('{}') });
    await post('{} ', { headers: signed('{}') });
    expect(receiver.requests.map((request) => isSignedWith(secret, request))).to.deep.equal([true, false]);
  });

  it('creates a certificate that is valid for its authority, hosts and time', async () => {
    expect(await (await start()).post('x')).to.equal(200);
    expect(await (await start()).post('x', { ca: (await makeAuthority()).certificate })).to.match(
      /CERT|SIGNATURE|VERIFY/,
    );
    expect(await (await start(undefined, ['example.com'])).post('x')).to.equal('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await (await start(undefined, ['127.0.0.1'], { expired: true })).post('x')).to.equal('CERT_HAS_EXPIRED');
  });

  it('reuses a stored certificate authority, and lets only the owner read its key', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'authority-'));
    try {
      const first = await authorityIn(directory);
      const second = await authorityIn(directory);
      expect(second.authority.certificate).to.equal(first.authority.certificate);
      expect(await readFile(first.file, 'utf8')).to.equal(first.authority.certificate);
      expect((await stat(path.join(directory, 'authority-key.pem'))).mode & 0o777).to.equal(0o600);
      const receiver = await startReceiver({ certificate: await second.authority.issue(['127.0.0.1']) });
      receivers.push(receiver);
      const status = await new Promise((resolve, reject) => {
        https
          .get(receiver.url, { ca: first.authority.certificate }, (response) => resolve(response.resume().statusCode))
          .on('error', reject);
      });
      expect(status).to.equal(200);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
