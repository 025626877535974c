/**
 * Makes the configuration of a node of the cluster. The image of Temporal makes this configuration from the variables in
 * deploy/compose.yaml.
 */
import path from 'node:path';
import { host } from '../../../../dev/stack/ports.ts';
import { projectDirectory } from '../../../../dev/project.ts';

export const serverVersion = '1.31.2';

export const services = ['frontend', 'history', 'matching', 'worker'] as const;
export type NodePort = `${(typeof services)[number]}${'' | 'Membership'}`;
export const nodePorts: readonly NodePort[] = services.flatMap((name) => [name, `${name}Membership`] as const);

/**
 * The number of shards in deploy/compose.yaml. A shard writes one operation at a time, so the number of shards limits the load on a slow
 * disk.
 */
export const historyShards = 128;

const dynamicConfiguration = path.join(projectDirectory, 'deploy', 'compose', 'temporal.yaml');

export interface ClusterStore {
  /** Host and port. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
}

export const databases = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;

/**
 * Makes the configuration of a node. The nodes share a machine, so they differ in their ports, and only in these.
 * @returns the content of the file for `--config-file`, as JSON. The server reads YAML, and JSON is valid YAML
 */
export function nodeConfiguration(
  ports: Readonly<Record<NodePort, number>>,
  { address, user, password }: ClusterStore,
) {
  const database = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: address,
      connectProtocol: 'tcp',
      user,
      password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const frontend = `${host}:${ports.frontend}`;
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: historyShards,
      datastores: { default: database(databases.temporal, 20), visibility: database(databases.visibility, 10) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
    services: Object.fromEntries(
      services.map((name) => [
        name,
        { rpc: { grpcPort: ports[name], membershipPort: ports[`${name}Membership`], bindOnIP: host } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: frontend },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: frontend },
    dynamicConfigClient: { filepath: dynamicConfiguration, pollInterval: '60s' },
  };
}
