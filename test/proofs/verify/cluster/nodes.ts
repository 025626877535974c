/** A Temporal cluster of two nodes on this machine, with all services in each, which can be killed and started again. */
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
/** A node waits for others that its database still names, up to half a minute; and two cores have more to do. */
const readyWithinMs = 120_000;

/** By gRPC's own protocol for health the frontend is a service of this name; 1 says that it serves. */
const health = { service: 'temporal.api.workflowservice.v1.WorkflowService', serving: '1' } as const;

export interface Node {
  readonly name: string;
  /** SIGKILL. Resolves once it has ended. */
  kill(): Promise<void>;
  /** Resolves once it answers and has shards. @throws Problem when it does not come up */
  start(): Promise<void>;
  /** How many of the shards it has, by what the store says. */
  shards(): Promise<number>;
}

export interface TemporalCluster {
  /** Of the balancer before its frontends. */
  readonly address: string;
  readonly nodes: readonly [Node, Node];
  /** Rejects when a node ends that nobody has killed. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

/** @param server the path of the program */
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
  // Of two that find empty databases at the same moment, one ends: both would write what the cluster is.
  for (const node of nodes) await node.start();
  const [first, second] = nodes;
  if (!first || !second) throw new Error('There are two nodes.');
  return { address: balancer.address, nodes: [first, second], broken: broken.promise, stop };
}

interface Place {
  readonly name: string;
  /** Empty at first, but for the configuration. */
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
        () => undefined, // the wait below says why
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
  if (shards === 0) throw new Error(`it has none of ${historyShards} shards`);
}
