/**
 * Simulates a cluster on this machine. It applies manifests as Helm and Kubernetes do, in the same order. Each pod is a process with its
 * own address (127.x.y.z). It has the arguments, variables, secrets, probes and grace period of its manifest. The variables of the image
 * come from deploy/Dockerfile. The simulation has no network, volumes, limits or accounts as in a real cluster.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit, startChild, type Child } from '../../../../dev/stack/children.ts';
import { Problem } from '../../../../dev/problem.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import type { InstalledBuild } from '../../faults/deploy/builds.ts';
import { killed } from '../../faults/processes.ts';
import { progress } from '../../faults/progress.ts';
import { templateOf, type Container, type Resource } from './manifests.ts';

type Environment = Readonly<Record<string, string>>;

interface ClusterOptions {
  readonly directory: string;
  readonly builds: Readonly<Record<string, InstalledBuild>>;
  readonly secrets: Readonly<Record<string, Environment>>;
  /** The load balancer. The cluster tells it when a pod of the API becomes ready or unready, and when the pod ends. */
  readonly service: { tell(url: string, isReady: boolean): void; remove(url: string): void };
}

interface Pod {
  readonly name: string;
  readonly tag: string;
  readonly url: string;
  readonly pid: number | undefined;
  readonly isReady: boolean;
  /** The end of the pod: its exit code or signal, and the time since SIGTERM. */
  readonly ended: Promise<{ code: number | null; signal: string | null; afterMs: number }>;
}

export interface Cluster {
  /**
   * Works like `helm install` and `helm upgrade`: runs the hooks before the release, applies the resources, and runs the hooks after the
   * release. The Deployments replace their pods later: see {@link settled}.
   */
  apply(resources: readonly Resource[], event: 'install' | 'upgrade'): Promise<void>;
  /** @throws Problem with the last output of a failed test */
  test(resources: readonly Resource[]): Promise<void>;
  /** Resolves when every Deployment is in its desired state and the old pods have ended. @throws Problem with the faults */
  settled(): Promise<void>;
  pods(words: string): readonly Pod[];
  /** Pods that ended unexpectedly or with an exit code other than 0, and unexpected failures of probes. */
  readonly faults: readonly string[];
  stop(): Promise<void>;
}

/** When a pod begins to end, the proxies of Kubernetes learn this about one second later. */
const endpointsLagMs = 1_000;
const portOfApi = 'http';

interface RunningPod extends Pod {
  isReady: boolean;
  end(): Promise<void>;
}

interface RunningDeployment {
  template: string;
  pods: RunningPod[];
}

export function createCluster({ directory, builds, secrets, service }: ClusterOptions): Cluster {
  const image = imageEnvironment();
  const network = `127.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}`;
  const running = new Map<string, RunningDeployment>();
  const children = new Set<Child>();
  const faults: string[] = [];
  let work: Promise<unknown>[] = [];
  let number = 0;
  let isOver = false;

  /** Adds background work. {@link Cluster.settled} waits for the work, and throws its errors. */
  function track(...more: readonly Promise<unknown>[]): void {
    for (const one of more) one.catch(() => undefined);
    work.push(...more);
  }

  function startProcess(name: string, container: Container, resource: Resource, address: string) {
    const { spec } = templateOf(resource) ?? fail(resource);
    const tag = container.image.slice(container.image.lastIndexOf(':') + 1);
    const build = builds[tag] ?? fail(resource);
    const podDirectory = path.join(directory, name);
    const volumes = Object.fromEntries(
      container.volumeMounts.map((mount) => [mount.mountPath, path.join(podDirectory, mount.name)]),
    );
    for (const volume of Object.values(volumes)) mkdirSync(volume, { recursive: true });
    for (const { name: volume, projected } of spec.volumes)
      for (const { secret } of projected?.sources ?? [])
        for (const { key, path: file } of secret.items)
          writeFileSync(path.join(podDirectory, volume, file), secrets[secret.name]?.[key] ?? fail(resource), {
            mode: 0o440,
          });
    const inPodDirectory = (value: string) =>
      Object.entries(volumes).reduce(
        (text, [mount, at]) => (text.startsWith(mount) ? at + text.slice(mount.length) : text),
        value,
      );
    const env: Record<string, string> = {
      PATH: process.env['PATH'] ?? '',
      ...Object.fromEntries(Object.entries(image).map(([variable, value]) => [variable, inPodDirectory(value)])),
      HOME: build.directory,
      API_HOST: address,
      WORKER_HOST: address,
    };
    for (const { name: variable, value = '' } of container.env) env[variable] = inPodDirectory(value);
    const child = startChild({
      name,
      command: process.execPath,
      args: [path.join('dist', 'main.js'), ...container.args],
      env,
      cwd: build.directory,
      logFile: path.join(directory, 'logs', `${name}.log`),
      graceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1_000,
    });
    children.add(child);
    return { child, tag, graceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1_000 };
  }

  async function runJob(resource: Resource): Promise<void> {
    const { backoffLimit = 0, activeDeadlineSeconds = 3_600 } = resource.spec ?? {};
    const [container] = templateOf(resource)?.spec.containers ?? fail(resource);
    for (let attempt = 0; ; attempt++) {
      const { child } = startProcess(`${resource.metadata.name}-${++number}`, container, resource, `${network}.254`);
      const deadline = setTimeout(() => void child.stop(), activeDeadlineSeconds * 1_000);
      const exit = await child.exited;
      clearTimeout(deadline);
      children.delete(child);
      if (exit.code === 0)
        return progress(
          `  ${child.name}: ${child
            .lastLines(2)
            .replaceAll(/\s*\| /g, ' ')
            .trim()
            .slice(-160)}`,
        );
      if (attempt >= backoffLimit) throw new Problem(describeExit(child, exit));
      faults.push(`${child.name} ended with ${exit.signal ?? `exit code ${exit.code}`}`);
    }
  }

  function startPod(resource: Resource): RunningPod {
    const [container] = templateOf(resource)?.spec.containers ?? fail(resource);
    const name = `${resource.metadata.name}-${++number}`;
    const address = `${network}.${number}`;
    const { child, tag, graceMs } = startProcess(name, container, resource, address);
    const url = `http://${address}:${portOf(container, portOfApi)}`;
    const isOfApi = container.args.includes('api');
    let endedAt = 0;
    let isEnding = false;
    const ended = child.exited.then(({ code, signal }) => {
      children.delete(child);
      const afterMs = performance.now() - endedAt;
      if (isEnding) progress(`  ${name} has ended after ${(afterMs / 1_000).toFixed(1)} s of ${graceMs / 1_000}`);
      if (!isEnding && !isOver) faults.push(describeExit(child, { code, signal, wasRequested: false }));
      else if (!isOver && code !== 0)
        faults.push(
          `${name} ended with ${signal ?? `exit code ${code}`} after ${Math.round(afterMs / 1_000)} s of ${graceMs / 1_000}`,
        );
      return { code, signal, afterMs };
    });
    const pod: RunningPod = {
      name,
      tag,
      url,
      pid: child.pid,
      isReady: false,
      ended,
      async end() {
        isEnding = true;
        endedAt = performance.now();
        const stopped = child.stop();
        await sleep(endpointsLagMs);
        if (isOfApi) service.remove(url);
        await stopped;
      },
    };
    const probe = async (of: Container['readinessProbe'], onResult: (failures: number) => boolean) => {
      if (!of) return;
      const { httpGet, periodSeconds, timeoutSeconds } = of;
      const target = `http://${address}:${portOf(container, httpGet.port)}${httpGet.path}`;
      for (let failures = 0; !isEnding && !isOver;) {
        const isRight = await fetch(target, { signal: AbortSignal.timeout(timeoutSeconds * 1_000) }).then(
          async (answer) => {
            await answer.arrayBuffer();
            return answer.ok;
          },
          () => false,
        );
        failures = isRight ? 0 : failures + 1;
        if (isEnding || isOver || onResult(failures)) return;
        await sleep(periodSeconds * 1_000);
      }
    };
    const { startupProbe, livenessProbe, readinessProbe } = container;
    track(
      (async () => {
        await probe(startupProbe, (failures) => {
          if (failures === startupProbe?.failureThreshold) faults.push(`${name} did not start in time`);
          return failures === 0;
        });
        void probe(livenessProbe, (failures) => {
          if (failures === livenessProbe?.failureThreshold) faults.push(`${name} would have been restarted`);
          return false;
        });
        void probe(readinessProbe, (failures) => {
          if (failures === 0) pod.isReady = true;
          else if (failures >= (readinessProbe?.failureThreshold ?? 1)) pod.isReady = false;
          if (isOfApi) service.tell(url, pod.isReady);
          return false;
        });
      })(),
    );
    return pod;
  }

  /**
   * Works like a rolling update with `maxSurge: 1` and `maxUnavailable: 0`: a new pod starts, and an old pod ends when the new pod is
   * ready.
   */
  async function rollOut(resource: Resource): Promise<void> {
    const { name } = resource.metadata;
    const { replicas = 1 } = resource.spec ?? {};
    const template = JSON.stringify(resource.spec?.template);
    const before = running.get(name);
    if (before?.template === template) return;
    const old = [...(before?.pods ?? [])];
    const deployment: RunningDeployment = { template, pods: [...old] };
    running.set(name, deployment);
    const ends: Promise<void>[] = [];
    for (let count = 0; count < replicas; count++) {
      const pod = startPod(resource);
      deployment.pods.push(pod);
      const replaced = old.shift();
      if (replaced === undefined) continue;
      await untilReady(pod);
      deployment.pods = deployment.pods.filter((other) => other !== replaced);
      ends.push(replaced.end());
    }
    await Promise.all([...ends, ...deployment.pods.map(untilReady)]);
  }

  async function untilReady(pod: RunningPod): Promise<void> {
    const hasEnded = pod.ended.then(() => true);
    while (!pod.isReady && !isOver) if (await Promise.race([hasEnded, sleep(100).then(() => false)])) return;
  }

  return {
    faults,
    async apply(resources, event) {
      for (const hook of hooksOf(resources, `pre-${event}`)) await runJob(hook);
      const deployments = resources.filter(({ kind }) => kind === 'Deployment');
      track(...deployments.map(rollOut));
      for (const [name, { pods }] of running) {
        if (deployments.some(({ metadata }) => metadata.name === name)) continue;
        running.delete(name);
        track(...pods.map((pod) => pod.end()));
      }
      for (const hook of hooksOf(resources, `post-${event}`)) await runJob(hook);
    },
    async test(resources) {
      for (const hook of hooksOf(resources, 'test')) await runJob(hook);
    },
    async settled() {
      while (work.length > 0) {
        const now = work;
        work = [];
        await Promise.all(now);
      }
      if (faults.length > 0) throw new Problem(faults.join('\n'));
    },
    pods: (words) => [...running].filter(([name]) => name.includes(words)).flatMap(([, { pods }]) => pods),
    async stop() {
      isOver = true;
      await Promise.all([...children].map(killed)); // at the end of a proof, pods need no grace period
    },
  };
}

/** Returns the hooks of an event in the order of their weights. */
const hooksOf = (resources: readonly Resource[], event: string): Resource[] =>
  resources
    .filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']?.split(',').includes(event))
    .toSorted((one, other) => weightOf(one) - weightOf(other));

const weightOf = ({ metadata }: Resource): number => Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0);

const portOf = ({ ports = [] }: Container, portName: string): number | undefined =>
  ports.find(({ name }) => name === portName)?.containerPort;

function fail({ kind, metadata }: Resource): never {
  throw new Problem(
    `${kind} ${metadata.name} cannot become a pod: it needs a template, a known image, and existing secrets`,
  );
}

function imageEnvironment(): Environment {
  const dockerfile = readFileSync(path.join(projectDirectory, 'deploy', 'Dockerfile'), 'utf8');
  const [, lines = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  return Object.fromEntries([...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]));
}
