import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { makeAuthority } from '../../dev/stack/certificates.ts';
import { readConfig } from '../../config.ts';
import { engineMistakes } from '../../worker/temporal/start-checks.ts';
import { connectCommand } from '../../worker/temporal/connection.ts';
import { startTemporalTerminator, type TerminatorOptions } from '../toolkit/fakes/temporal-terminator.ts';
import { until } from '../toolkit/drive/until.ts';
import { testStack } from '../toolkit/stack/stack.ts';

const setup = 'node --import ./platform/load.mjs main.ts setup';

describe('the checks of Temporal at the start of a worker', function () {
  this.timeout(60_000);
  let directory: string;
  before('create a directory', async () => {
    await testStack();
    directory = await mkdtemp(path.join(os.tmpdir(), 'club-checks-'));
  });
  after(() => rm(directory, { recursive: true }));

  const settings = (env: Record<string, string> = {}) => readConfig({ ...process.env, ...env }).temporal;

  const tooOld = (version: string) =>
    `The Temporal server is ${version}. This service needs 1.29.1 or later: upgrade the server, one minor version after another.`;

  async function mistakesBehind(answers: Pick<TerminatorOptions, 'serverVersion' | 'statuses'>) {
    const authority = await makeAuthority();
    const file = path.join(directory, 'authority');
    await writeFile(file, authority.certificate);
    const terminator = await startTemporalTerminator({ to: settings().address, authority, ...answers });
    const { address } = terminator;
    const reported = await engineMistakes(
      settings({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: file }),
    );
    await terminator.stop();
    return { reported, address };
  }

  it('find no mistake in the development stack', async () => {
    expect(await engineMistakes(settings())).to.deep.equal([]);
  });

  it('report a missing namespace, and missing search attributes', async () => {
    const namespace = `checks-${randomUUID()}`;
    expect(await engineMistakes(settings({ TEMPORAL_NAMESPACE: namespace }))).to.deep.equal([
      `Temporal has no namespace ${namespace}: run "${setup}", or set TEMPORAL_NAMESPACE.`,
    ]);
    const connection = await connectCommand(settings());
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    await connection.close();
    const reported = await until('the namespace', { timeoutMs: 30_000 }, async () => {
      const mistakes = await engineMistakes(settings({ TEMPORAL_NAMESPACE: namespace }));
      return mistakes.some((one) => one.startsWith('Temporal has no')) ? undefined : mistakes;
    });
    expect(reported).to.deep.equal([
      `The namespace ${namespace} has no search attribute ClubId, EndpointId, EventType, AgentId, CampaignId, AutomationId, AutomationVersion: run "${setup}", which creates them or prints the commands for an operator.`,
    ]);
  });

  for (const [version, isOld] of [
    ['1.28.9', true],
    ['1.29.0-145.1', true],
    ['0.99.99', true],
    ['1.29.1', false],
    ['1.30.0-cloud.2', false],
    ['2.0.0', false],
    ['unknown', false],
  ] as const) {
    it(`find a server of version ${version} ${isOld ? 'too old' : 'new enough'}`, async () => {
      expect((await mistakesBehind({ serverVersion: version })).reported).to.deep.equal(isOld ? [tooOld(version)] : []);
    });
  }

  for (const [status, why] of [
    ['7', 'permission denied'],
    ['16', 'unauthenticated'],
  ] as const) {
    it(`report that the server refuses the namespace (${why})`, async () => {
      const { reported } = await mistakesBehind({ serverVersion: '1.28.0', statuses: { DescribeNamespace: status } });
      expect(reported).to.deep.equal([
        tooOld('1.28.0'),
        `Temporal does not show us the namespace ${settings().namespace} (gRPC status ${status}): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to their namespace.`,
      ]);
    });
  }

  it('report any other gRPC status together with other mistakes', async () => {
    const { reported, address } = await mistakesBehind({
      serverVersion: '1.28.0',
      statuses: { DescribeNamespace: '9' },
    });
    expect(reported).to.deep.equal([
      tooOld('1.28.0'),
      `Temporal at ${address} cannot be used (gRPC status 9): see its log.`,
    ]);
  });

  it('report every unreadable file and an unreachable server', async () => {
    const missing = { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca', TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere/cert' };
    const reported = await engineMistakes(settings({ ...missing, TEMPORAL_TLS_CLIENT_KEY_PATH: '/nowhere/key' }));
    expect(reported).to.deep.equal(
      ['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT'].map(
        (name) =>
          `TEMPORAL_TLS_${name}_PATH names a file that cannot be read (ENOENT): correct the path or the file's permissions`,
      ),
    );
    expect(await engineMistakes(settings({ TEMPORAL_ADDRESS: '127.0.0.1:9' }))).to.deep.equal([
      'Temporal at 127.0.0.1:9 cannot be reached (ECONNREFUSED): check TEMPORAL_ADDRESS, and that the server runs.',
    ]);
  });
});
