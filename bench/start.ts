/** `npm run bench -- start`: the time of API and worker from start to ready, for a build and this checkout, alternately. */
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { readConfig } from '../config.ts';
import { buildInto } from '../dev/build.ts';
import { startChild } from '../dev/stack/children.ts';
import { freePorts } from '../dev/stack/ports.ts';
import { projectDirectory, scriptArguments } from '../dev/project.ts';
import { untilOk } from '../dev/stack/readiness.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { median, onFreshStack, progress, report } from './support.ts';

export const startMeasurements = ['api', 'worker'] as const;
type Measurement = (typeof startMeasurements)[number];

const rounds = 5;
const timeoutMs = 60_000;

const programs = {
  api: { script: 'api/server.ts', portVariable: 'API_PORT' },
  worker: { script: 'worker/main.ts', portVariable: 'WORKER_PORT' },
} as const satisfies Record<Measurement, { script: string; portVariable: string }>;

export async function benchStart(selection: readonly string[]): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-bench-start-'));
  try {
    const logs = path.join(directory, 'logs');
    await buildInto(path.join(directory, 'dist'));
    await cp(path.join(projectDirectory, 'package.json'), path.join(directory, 'package.json'));
    await symlink(path.join(projectDirectory, 'node_modules'), path.join(directory, 'node_modules'));
    await onFreshStack(['temporal', 'postgres'], async ({ env }) => {
      const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
      await migrate(source);
      await source.destroy();
      for (const name of startMeasurements.filter((one) => selection.includes(one))) {
        const { script, portVariable } = programs[name];
        const ofBuild = () => msToReady(['dist/main.js', name], portVariable, env, directory, logs);
        const ofCheckout = () => msToReady(scriptArguments(script), portVariable, env, projectDirectory, logs);
        await Promise.all([ofBuild(), ofCheckout()]); // both are started once before the measurement, so that files and code are in memory
        const times: { build: number; checkout: number }[] = [];
        for (let round = 1; round <= rounds; round++) {
          const measured = { build: await ofBuild(), checkout: await ofCheckout() };
          times.push(measured);
          progress(`${name}: build ${measured.build.toFixed(0)} ms, checkout ${measured.checkout.toFixed(0)}`);
        }
        report(`start to ready ${name} ms`, {
          build: median(times.map(({ build }) => build)),
          checkout: median(times.map(({ checkout }) => checkout)),
          ratio: median(times.map(({ build, checkout }) => build / checkout)),
        });
      }
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @returns milliseconds until `/readyz` answers 200 */
async function msToReady(
  args: readonly string[],
  portVariable: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
  logs: string,
): Promise<number> {
  const { port } = await freePorts(['port']);
  const startedAt = performance.now();
  const child = startChild({
    name: args.at(-1) ?? '',
    command: process.execPath,
    args: [...args],
    env: { ...env, [portVariable]: String(port) },
    cwd,
    logFile: path.join(logs, `${port}.log`),
  });
  try {
    await untilOk(`http://127.0.0.1:${port}/readyz`, { timeoutMs, child });
    return performance.now() - startedAt;
  } finally {
    await child.stop();
  }
}
