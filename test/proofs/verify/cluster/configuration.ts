/** What a node of the cluster is configured with: as Temporal's own image configures itself by the variables of deploy/compose.yaml. */
import path from 'node:path';
import { host } from '../../../../dev/stack/ports.ts';
import { projectDirectory } from '../../../../dev/project.ts';

/** As in deploy/compose.yaml. */
export const serverVersion = '1.31.2';

/** All in each node. */
export const services = ['frontend', 'history', 'matching', 'worker'] as const;
export type NodePort = `${(typeof services)[number]}${'' | 'Membership'}`;
export const nodePorts: readonly NodePort[] = services.flatMap((name) => [name, `${name}Membership`] as const);

/** As in deploy/compose.yaml: a shard writes one thing at a time, so that their number bounds what a slow disk lets through. */
export const historyShards = 128;

/** What operators set on a cluster, and nothing more. */
const dynamicConfiguration = path.join(projectDirectory, 'deploy', 'compose', 'temporal.yaml');

/** In Postgres, as deploy/compose/databases.sql makes it. */
export interface ClusterStore {
  /** Host and port. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
}

/** The databases, by what they hold. */
export const databases = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;

/**
 * The configuration of one node. Nodes of a cluster differ in their ports alone, because they share a machine here.
 * @returns what becomes the file of `--config-file`: YAML takes JSON
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
