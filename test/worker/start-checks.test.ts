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

describe('what must be right of Temporal for a start', function () {
  this.timeout(60_000);
  let directory: string;
  before('a directory', async () => {
    await testStack();
    directory = await mkdtemp(path.join(os.tmpdir(), 'club-checks-'));
  });
  after(() => rm(directory, { recursive: true }));

  const settings = (env: Record<string, string> = {}) => readConfig({ ...process.env, ...env }).temporal;

  const tooOld = (version: string) =>
    `The Temporal server is ${version}; 1.29.1 or later is needed: upgrade it, one minor version after another.`;

  /** @returns what is told of a server that answers some calls so */
  async function mistakesBehind(answers: Pick<TerminatorOptions, 'serverVersion' | 'statuses'>) {
    const authority = await makeAuthority();
    const file = path.join(directory, 'authority');
    await writeFile(file, authority.certificate);
    const terminator = await startTemporalTerminator({ to: settings().address, authority, ...answers });
    const { address } = terminator;
    const told = await engineMistakes(settings({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS_SERVER_CA_CERT_PATH: file }));
    await terminator.stop();
    return { told, address };
  }

  it('is right of the development stack', async () => {
    expect(await engineMistakes(settings())).to.deep.equal([]);
  });

  it('tells a namespace that is not there, and search attributes that it has not', async () => {
    const namespace = `checks-${randomUUID()}`;
    expect(await engineMistakes(settings({ TEMPORAL_NAMESPACE: namespace }))).to.deep.equal([
      `Temporal has no namespace ${namespace}: run "${setup}", or set TEMPORAL_NAMESPACE.`,
    ]);
    const connection = await connectCommand(settings());
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    await connection.close();
    const told = await until('the namespace', { timeoutMs: 30_000 }, async () => {
      const mistakes = await engineMistakes(settings({ TEMPORAL_NAMESPACE: namespace }));
      return mistakes.some((one) => one.startsWith('Temporal has no')) ? undefined : mistakes;
    });
    expect(told).to.deep.equal([
      `The namespace ${namespace} has no search attribute ClubId, EndpointId, EventType, AgentId, CampaignId, AutomationId, AutomationVersion: run "${setup}", which creates them, or says who must.`,
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
    it(`a server that says ${version} is ${isOld ? 'too old' : 'new enough'}`, async () => {
      expect((await mistakesBehind({ serverVersion: version })).told).to.deep.equal(isOld ? [tooOld(version)] : []);
    });
  }

  for (const [status, why] of [
    ['7', 'permission denied'],
    ['16', 'unauthenticated'],
  ] as const) {
    it(`tells a namespace that is refused to us (${why}), beside what else is wrong`, async () => {
      const { told } = await mistakesBehind({ serverVersion: '1.28.0', statuses: { DescribeNamespace: status } });
      expect(told).to.deep.equal([
        tooOld('1.28.0'),
        `Temporal does not let us see the namespace ${settings().namespace} (gRPC status ${status}): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to the one that they are for.`,
      ]);
    });
  }

  it('tells any other status of gRPC, beside what else is wrong', async () => {
    const { told, address } = await mistakesBehind({ serverVersion: '1.28.0', statuses: { DescribeNamespace: '9' } });
    expect(told).to.deep.equal([
      tooOld('1.28.0'),
      `Temporal at ${address} cannot be used (gRPC status 9): its log may say why.`,
    ]);
  });

  it('tells all that its files lack, and that nobody is there', async () => {
    const missing = { TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca', TEMPORAL_TLS_CLIENT_CERT_PATH: '/nowhere/cert' };
    const told = await engineMistakes(settings({ ...missing, TEMPORAL_TLS_CLIENT_KEY_PATH: '/nowhere/key' }));
    expect(told).to.deep.equal(
      ['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT'].map(
        (name) => `TEMPORAL_TLS_${name}_PATH names a file that cannot be read (ENOENT): mend the path, or its rights`,
      ),
    );
    expect(await engineMistakes(settings({ TEMPORAL_ADDRESS: '127.0.0.1:9' }))).to.deep.equal([
      'Temporal at 127.0.0.1:9 cannot be reached (ECONNREFUSED): is TEMPORAL_ADDRESS right, and is the server up?',
    ]);
  });
});
