import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../../../dev/project.ts';
import {
  historyShards,
  nodeConfiguration,
  nodePorts,
  serverVersion,
  services,
  type NodePort,
} from './configuration.ts';

const compose = readFileSync(path.join(projectDirectory, 'deploy', 'compose.yaml'), 'utf8');
const portsFrom = (first: number) =>
  Object.fromEntries(nodePorts.map((name, index) => [name, first + index])) as Record<NodePort, number>;
const store = { address: '127.0.0.1:5432', user: 'temporal', password: 'of-the-store' };
const [one, other] = [nodeConfiguration(portsFrom(20_000), store), nodeConfiguration(portsFrom(20_100), store)];

describe('nodeConfiguration of the cluster proof', () => {
  it('has the version, the shards and the dynamic configuration of deploy/compose.yaml', () => {
    expect(compose).to.include(`temporalio/server:${serverVersion}\n`);
    expect(compose).to.include(`NUM_HISTORY_SHARDS: '${historyShards}'\n`);
    expect(one.persistence.numHistoryShards).to.equal(historyShards);
    const { filepath } = one.dynamicConfigClient;
    expect(readFileSync(filepath, 'utf8')).to.match(/^matching\.enableFairness:\n {2}- value: true\n/m);
  });

  it('gives both nodes the same database and different ports', () => {
    expect(one.persistence).to.deep.equal(other.persistence);
    const { default: runs, visibility } = one.persistence.datastores;
    expect([runs.sql.databaseName, visibility.sql.databaseName]).to.deep.equal(['temporal', 'temporal_visibility']);
    const portsOf = (node: typeof one) =>
      services.flatMap((name) => [node.services[name]?.rpc.grpcPort, node.services[name]?.rpc.membershipPort]);
    expect(portsOf(one)).to.deep.equal([20_000, 20_001, 20_002, 20_003, 20_004, 20_005, 20_006, 20_007]);
    expect(portsOf(other)).to.deep.equal([20_100, 20_101, 20_102, 20_103, 20_104, 20_105, 20_106, 20_107]);
    expect(other.publicClient.hostPort).to.equal('127.0.0.1:20100');
  });
});
