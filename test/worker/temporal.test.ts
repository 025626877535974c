import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { makeAuthority, type Authority } from '../../dev/stack/certificates.ts';
import { readConfig } from '../../config.ts';
import { Secret } from '../../platform/core/secret.ts';
import { StartProblem } from '../../platform/core/start-problem.ts';
import { connectCommand, connectWorkers, followApiKey } from '../../worker/temporal/connection.ts';
import { startTemporalTerminator, type TemporalTerminator } from '../toolkit/fakes/temporal-terminator.ts';
import { testStack } from '../toolkit/stack/stack.ts';

const keyFile = 'api-key';

describe('a connection to Temporal', function () {
  this.timeout(60_000);
  let authority: Authority;
  let stranger: Authority;
  let strict: TemporalTerminator;
  let open: TemporalTerminator;
  let plain: string;
  let directory: string;
  const files: Record<string, string> = {};

  before('start TLS terminators with and without client certificates', async () => {
    await testStack();
    plain = readConfig().temporal.address;
    directory = await mkdtemp(path.join(os.tmpdir(), 'club-temporal-'));
    [authority, stranger] = await Promise.all([makeAuthority(), makeAuthority()]);
    const [pair, other, strange, old] = await Promise.all([
      authority.issue(['worker'], { ofClient: true }),
      authority.issue(['other'], { ofClient: true }),
      stranger.issue(['worker'], { ofClient: true }),
      authority.issue(['old'], { ofClient: true, expired: true }),
    ]);
    const contents = {
      ca: authority.certificate,
      cert: pair.cert,
      key: pair.key,
      otherKey: other.key,
      strangeCert: strange.cert,
      strangeKey: strange.key,
      oldCert: old.cert,
      oldKey: old.key,
      nonsense: 'no PEM',
    };
    for (const [name, content] of Object.entries(contents)) {
      files[name] = path.join(directory, name);
      await writeFile(files[name], content);
    }
    strict = await startTemporalTerminator({ to: plain, authority, clientsOf: authority });
    open = await startTemporalTerminator({ to: plain, authority });
  });
  after(async () => {
    await Promise.all([strict.stop(), open.stop()]);
    await rm(directory, { recursive: true });
  });

  /** A value `@name` means the file with this name. */
  const settings = (variables: Record<string, string>) => {
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [
        `TEMPORAL_${name}`,
        value.startsWith('@') ? (files[value.slice(1)] ?? '/nowhere') : value,
      ]),
    );
    return readConfig({ ...process.env, ...env }).temporal;
  };
  const mutual = { TLS_SERVER_CA_CERT_PATH: '@ca', TLS_CLIENT_CERT_PATH: '@cert', TLS_CLIENT_KEY_PATH: '@key' };

  /** Connects as commands do, and as workers do. Each result is `there` or the problem. */
  async function connectBoth(variables: Record<string, string>): Promise<string[]> {
    const attempts = [connectCommand, connectWorkers].map(async (connect) => {
      try {
        const connection = await connect(settings(variables));
        await connection.workflowService.describeNamespace({ namespace: readConfig().temporal.namespace });
        await connection.close();
        return 'there';
      } catch (error) {
        if (error instanceof StartProblem) return error.message;
        throw error;
      }
    });
    return [...new Set(await Promise.all(attempts))];
  }

  it('works without TLS, with TLS, and with a client certificate', async () => {
    expect(await connectBoth({})).to.deep.equal(['there']);
    expect(await connectBoth({ ADDRESS: open.address, TLS_SERVER_CA_CERT_PATH: '@ca' })).to.deep.equal(['there']);
    expect(await connectBoth({ ADDRESS: strict.address, ...mutual })).to.deep.equal(['there']);
    const { cert, key } = await authority.issue(['worker'], { ofClient: true });
    const data = {
      TLS_SERVER_CA_CERT_DATA: authority.certificate,
      TLS_CLIENT_CERT_DATA: cert,
      TLS_CLIENT_KEY_DATA: key,
    };
    expect(await connectBoth({ ADDRESS: strict.address, ...data })).to.deep.equal(['there']);
  });

  it('has an error that says what to do if a certificate is wrong', async () => {
    const at = `Temporal at ${strict.address}`;
    expect(await connectBoth({ ADDRESS: strict.address, TLS_SERVER_CA_CERT_PATH: '@ca' })).to.deep.equal([
      `${at} demands a client certificate: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH.`,
    ]);
    const strange = { TLS_CLIENT_CERT_PATH: '@strangeCert', TLS_CLIENT_KEY_PATH: '@strangeKey' };
    const [refused, ...more] = await connectBoth({ ADDRESS: strict.address, ...mutual, ...strange });
    expect(more).to.deep.equal([]);
    expect(refused).to.match(
      /does not accept our client certificate \(\w+\): set a certificate of an authority that the server knows/,
    );
    expect(await connectBoth({ ADDRESS: open.address, TLS: 'true' })).to.deep.equal([
      `Temporal at ${open.address} has a certificate of an unknown authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE): set the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`,
    ]);
    const elsewhere = {
      ADDRESS: open.address,
      TLS_SERVER_CA_CERT_PATH: '@ca',
      TLS_SERVER_NAME: 'temporal.example.com',
    };
    expect(await connectBoth(elsewhere)).to.deep.equal([
      `Temporal at ${open.address} has a certificate for another host name: set TEMPORAL_ADDRESS or TEMPORAL_TLS_SERVER_NAME to a name in that certificate.`,
    ]);
  });

  it('has an error that says what to do if only one side uses TLS', async () => {
    expect(await connectBoth({ ADDRESS: open.address })).to.deep.equal([
      `Temporal at ${open.address} uses TLS, and we do not: set TEMPORAL_TLS to true.`,
    ]);
    expect(await connectBoth({ TLS: 'true' })).to.deep.equal([
      `Temporal at ${plain} does not use TLS, and we do: remove all settings that begin with TEMPORAL_TLS, and TEMPORAL_API_KEY, or use an address with TLS.`,
    ]);
    expect(await connectBoth({ ADDRESS: '127.0.0.1:9' })).to.deep.equal([
      'Temporal at 127.0.0.1:9 cannot be reached (ECONNREFUSED): check TEMPORAL_ADDRESS, and that the server runs.',
    ]);
  });

  it('has an error that names every unreadable file', async () => {
    const wrong = {
      TLS_SERVER_CA_CERT_PATH: '@nonsense',
      TLS_CLIENT_CERT_PATH: '@missing',
      TLS_CLIENT_KEY_PATH: '@key',
    };
    expect(await connectBoth(wrong)).to.deep.equal([
      [
        '2 things are wrong:',
        `  - TEMPORAL_TLS_CLIENT_CERT_PATH names a file that cannot be read (ENOENT): correct the path or the file's permissions`,
        '  - TEMPORAL_TLS_SERVER_CA_CERT_PATH contains no valid PEM: use the PEM as it was issued',
      ].join('\n'),
    ]);
    expect(await connectBoth({ ...mutual, TLS_CLIENT_KEY_PATH: '@otherKey' })).to.deep.equal([
      'The client certificate and the client key of TEMPORAL_TLS_ do not match: set a pair.',
    ]);
    const [expired] = await connectBoth({
      ...mutual,
      TLS_CLIENT_CERT_PATH: '@oldCert',
      TLS_CLIENT_KEY_PATH: '@oldKey',
    });
    expect(expired).to.match(/^The client certificate of TEMPORAL_TLS_ has expired on .+: renew it\.$/);
  });

  it('sends an API key over TLS, and reports a refused or missing key', async () => {
    const apiKey = randomUUID();
    open.apiKeys = [apiKey];
    const tls = { ADDRESS: open.address, TLS_SERVER_CA_CERT_PATH: '@ca' };
    expect(await connectBoth({ ...tls, API_KEY: apiKey })).to.deep.equal(['there']);
    expect(await connectBoth({ ...tls, API_KEY: 'another' })).to.deep.equal([
      `Temporal at ${open.address} refuses the key of TEMPORAL_API_KEY: set a valid key of the namespace.`,
    ]);
    expect(await connectBoth(tls)).to.deep.equal([
      `Temporal at ${open.address} requires an API key: set TEMPORAL_API_KEY_FILE, or TEMPORAL_API_KEY.`,
    ]);
    open.apiKeys = [];
  });

  it('uses a new API key from its file, and ignores an empty file', async () => {
    const file = path.join(directory, keyFile);
    await writeFile(file, 'first\n');
    const keys: string[] = [];
    const reports: string[] = [];
    const { look, stop } = followApiKey(
      { apiKey: new Secret('first'), apiKeyFile: file },
      { setApiKey: (key) => keys.push(key) },
      { changed: () => reports.push('changed'), failed: () => reports.push('failed') },
    );
    await look();
    await writeFile(file, '');
    await look();
    await writeFile(file, 'second\n');
    await look();
    await look();
    await rm(file);
    await look();
    stop();
    expect(keys).to.deep.equal(['second']);
    expect(reports).to.deep.equal(['changed', 'failed']);
  });

  it('uses a new API key even while the worker runs', async () => {
    open.apiKeys = ['first'];
    const file = path.join(directory, keyFile);
    await writeFile(file, 'first');
    const variables = { ADDRESS: open.address, TLS_SERVER_CA_CERT_PATH: '@ca', API_KEY_FILE: file };
    const connection = await connectWorkers(settings(variables));
    const { look, stop } = followApiKey(settings(variables), connection, { changed() {}, failed() {} });
    const asking = () => connection.workflowService.getSystemInfo({});
    await asking();
    open.apiKeys = ['second'];
    await writeFile(file, 'second');
    await look();
    await asking();
    expect(open.callsBy.get('second')).to.equal(1);
    stop();
    await connection.close();
    open.apiKeys = [];
  });
});
