/** An installed build that runs: an API and a worker on free ports. */
import { freePorts, host } from '../../../../dev/stack/ports.ts';
import { untilOk } from '../../../../dev/stack/readiness.ts';
import type { Child } from '../../../../dev/stack/children.ts';
import { killed } from '../processes.ts';
import type { InstalledBuild } from './builds.ts';

export interface Service {
  readonly apiUrl: string;
  readonly children: readonly Child[];
  kill(): Promise<void>;
}

const readyWithinMs = 180_000;

/** @param stops this function adds a function that kills both processes */
export async function startService(
  build: InstalledBuild,
  shared: Readonly<Record<string, string>>,
  stops: (() => Promise<unknown>)[],
): Promise<Service> {
  const ports = await freePorts(['api', 'files', 'worker']);
  const apiUrl = `http://${host}:${ports.api}`;
  const env = {
    ...shared,
    API_PORT: String(ports.api),
    API_METRICS_PORT: '0',
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
    PUBLIC_URL: apiUrl,
    FILES_URL: `http://${host}:${ports.files}`,
  };
  const [api, worker] = [build.run('api', env), build.run('worker', env)];
  const kill = async () => {
    await Promise.all([killed(api), killed(worker)]);
  };
  stops.push(kill);
  await Promise.all([
    untilOk(`${apiUrl}/readyz`, { timeoutMs: readyWithinMs, child: api }),
    untilOk(`http://${host}:${ports.worker}/readyz`, { timeoutMs: readyWithinMs, child: worker }),
  ]);
  return { apiUrl, children: [api, worker], kill };
}
