/** A Temporal cluster of two nodes on this machine. Each node runs all services, and can be killed and restarted. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { describeExit, startChild, type Child } from '../../../../dev/stack/children.ts';
import { host, quietPorts } from '../../../../dev/stack/ports.ts';
import { Problem } from '../../../../dev/problem.ts';
import { until } from '../../../../dev/stack/readiness.ts';
import { killed } from '../../faults/processes.ts';
import type { Site } from '../site.ts';
import { startBalancer } from './balancer.ts';
import { historyShards, nodeConfiguration, nodePorts, type NodePort, type ClusterStore } from './configuration.ts';
import { shardsOf } from './store.ts';

const names = ['node 1', 'node 2'] as const;
/** The time limit for a start. A node waits up to half a minute for nodes that its database names, and the machine has only two cores. */
const readyWithinMs = 120_000;

/** The name of the frontend in the health protocol of gRPC, and the status of a healthy service. */
const health = { service: 'temporal.api.workflowservice.v1.WorkflowService', serving: '1' } as const;

export interface Node {
  readonly name: string;
  kill(): Promise<void>;
  /** Resolves when the node answers and owns shards. */
  start(): Promise<void>;
  /** Reads from the store how many shards the node owns. */
  shards(): Promise<number>;
}

export interface TemporalCluster {
  readonly address: string;
  readonly nodes: readonly [Node, Node];
  /** Rejects when a node ends that the proof did not kill. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

export async function startCluster(site: Site, server: string, store: ClusterStore): Promise<TemporalCluster> {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const free = await quietPorts(names.flatMap((name) => nodePorts.map((port) => `${name}, ${port}` as const)));
  const places = await Promise.all(
    names.map((name) => {
      const own = nodePorts.map((port) => [port, free[`${name}, ${port}`]]);
      return placeOf(name, Object.fromEntries(own) as Place['ports'], site.directory, store);
    }),
  );
  const balancer = await startBalancer(places.map(({ ports }) => ports.frontend));
  const nodes = places.map((place) => nodeAt(place, server, store, broken.reject));
  const stop = async () => {
    balancer.stop();
    await Promise.all(nodes.map((node) => node.kill()));
  };
  site.stops.push(stop);
  // The nodes start one after another. If two nodes found empty databases at the same time, both would write the metadata of the cluster,
  // and one would end.
  for (const node of nodes) await node.start();
  const [first, second] = nodes;
  if (!first || !second) throw new Error('The cluster needs two nodes');
  return { address: balancer.address, nodes: [first, second], broken: broken.promise, stop };
}

interface Place {
  readonly name: string;
  /** At first the directory contains only the configuration. */
  readonly directory: string;
  readonly configuration: string;
  readonly ports: Readonly<Record<NodePort, number>>;
}

async function placeOf(name: string, ports: Place['ports'], parent: string, store: ClusterStore): Promise<Place> {
  const directory = path.join(parent, name.replace(' ', '-'));
  await mkdir(directory);
  const configuration = path.join(directory, 'temporal.yaml');
  await writeFile(configuration, JSON.stringify(nodeConfiguration(ports, store)), { mode: 0o600 });
  return { name, directory, configuration, ports };
}

function nodeAt(
  { name, directory, configuration, ports }: Place,
  server: string,
  store: ClusterStore,
  fail: (problem: Problem) => void,
): Node {
  const address = `${host}:${ports.frontend}`;
  let running: Child | undefined;
  let lives = 0;
  const shards = () => shardsOf(store, `${host}:${ports.history}`);

  return {
    name,
    shards,
    async kill() {
      const child = running;
      running = undefined;
      if (child) await killed(child);
    },
    async start() {
      const child = startChild({
        name: `Temporal, ${name}`,
        command: server,
        args: ['--config-file', configuration, '--allow-no-auth', 'start'],
        cwd: directory,
        logFile: path.join(directory, `${++lives}.log`),
      });
      running = child;
      child.exited.then(
        (exit) => running === child && fail(new Problem(describeExit(child, exit))),
        () => undefined, // the wait below reports the error
      );
      const wait = { timeoutMs: readyWithinMs, child };
      await until(`The frontend of ${name}`, () => expectServing(address), wait);
      await until(`The history of ${name}`, async () => expectSome(await shards()), wait);
    },
  };
}

async function expectServing(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '2s' });
  try {
    const { status } = await connection.healthService.check({ service: health.service });
    if (String(status) !== health.serving) throw new Error(`health ${status}`);
  } finally {
    await connection.close();
  }
}

function expectSome(shards: number): void {
  if (shards === 0) throw new Error(`the node owns none of ${historyShards} shards`);
}
