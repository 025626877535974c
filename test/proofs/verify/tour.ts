/** Plays the tour on a built service. The development stack for the tour begins with an empty database and namespace. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { allocatorSettings } from '../../../dev/stack/allocator.ts';
import { startChild, type Exit } from '../../../dev/stack/children.ts';
import { locate } from '../../../dev/components.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { startFakeModel } from '../../../dev/fake-model/fake-model.ts';
import { freePorts, host } from '../../../dev/stack/ports.ts';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import { runTour } from '../../../dev/tour/tour.ts';
import { progress } from '../faults/progress.ts';
import { startStackOn, type Site } from './site.ts';

type Environment = Readonly<Record<string, string>>;

/** Returns the command line that starts a command of the service, such as `migrate`, and the variables that are already set. */
type Service = (command: string) => { command: string; args: readonly string[]; cwd: string; env?: Environment };

interface TourOptions {
  settings?: (environment: Environment) => Promise<Environment>;
}

const readyWithinMs = 60_000;
const drainMs = 25_000;
/** The proof fails if a process logs a line of this pino level or a higher level. */
const errorLevel = 50;

/**
 * Installs and starts the service as an operator does: migrate, setup, API and worker. Then plays the tour, and stops API and worker.
 * @throws Problem when a command has an unexpected output or exit code, the tour fails, or a process logs an error
 */
export async function playTourOn(
  site: Site,
  service: Service,
  { settings = async () => ({}) }: TourOptions = {},
): Promise<void> {
  const stack = await startStackOn(site);
  const model = await startFakeModel({ delayMs: 1 });
  site.stops.push(() => model.stop());
  const ports = await freePorts(['api', 'files', 'worker']);
  const environment: Environment = {
    ...allocatorSettings,
    ...stack.environment,
    TEMPORAL_NAMESPACE: 'made-by-setup',
    API_PORT: String(ports.api),
    API_METRICS_PORT: '0',
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
    PUBLIC_URL: `http://${host}:${ports.api}`,
    FILES_URL: `http://${host}:${ports.files}`,
    FFMPEG_BINARY: await locate(components.ffmpeg),
    AUTOMATION_WAIT_SPEED: '3600',
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'fake',
    ...(await settings(stack.environment)),
  };

  const behind = run(service('api'), environment);
  const refusal = `The process cannot start: The schema is behind this version: run "node dist/main.js migrate" first.\n`;
  expectRun('api, before migrate', behind, { status: 1, begin: '', stderr: refusal });
  expectRun('migrate', run(service('migrate'), environment), { status: 0, begin: 'Migrated: ' });
  expectRun('migrate, again', run(service('migrate'), environment), {
    status: 0,
    begin: 'The schema is up to date.\n',
  });
  expectRun('setup', run(service('setup'), environment), {
    status: 0,
    begin: 'The namespace made-by-setup is created. It keeps closed runs for 72 h.\nThe search attributes ClubId, ',
  });
  expectRun('setup, again', run(service('setup'), environment), {
    status: 0,
    begin: 'The namespace made-by-setup exists.\nThe search attributes ClubId, ',
  });

  const logs = path.join(site.directory, 'logs');
  const children = (['api', 'worker'] as const).map((name) =>
    startChild({
      name,
      ...service(name),
      env: envOf(service(name), environment),
      stopSignal: name === 'api' ? 'SIGINT' : 'SIGTERM',
      graceMs: drainMs,
      logFile: path.join(logs, `${name}.log`),
    }),
  );
  for (const child of children) site.stops.push(() => child.stop());
  const beganAt = performance.now();
  for (const child of children)
    await untilOk(`http://${host}:${child.name === 'api' ? ports.api : ports.worker}/readyz`, {
      timeoutMs: readyWithinMs,
      child,
    });
  progress(`API and worker are ready after ${((performance.now() - beganAt) / 1_000).toFixed(1)} s`);

  const stop = async () => {
    for (const child of children) await child.stop();
    return children.flatMap(({ name }) => errorsIn(readFileSync(path.join(logs, `${name}.log`), 'utf8')));
  };
  const { status, stdout, stderr } = run(service('promote'), environment);
  if (status !== 0 || !stdout.endsWith('is current.\n'))
    throw new Problem(`promote ended with ${status}:\n${stdout}${stderr}`);
  progress(`promote: ${stdout.trim().split('\n').join(' | ')}`);

  const tour = await runTour({
    environment: { ...environment, TEMPORAL_UI_URL: 'http://127.0.0.1:9' },
    authority: stack.authority,
    say: tellTitle,
  }).catch(async (error: unknown) => {
    throw new Problem([messageOf(error), ...(await stop())].join('\n'));
  });
  await tour.stop();
  const errors = await stop();
  if (errors.length > 0) throw new Problem(`The service has logged errors:\n${errors.join('\n')}`);
  for (const child of children) expectEnd(child.name, await child.exited);
}

interface CommandResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

function run(start: ReturnType<Service>, environment: Environment): CommandResult {
  const { command, args, cwd } = start;
  return spawnSync(command, args, { cwd, env: envOf(start, environment), encoding: 'utf8' });
}

function envOf({ env = {} }: ReturnType<Service>, environment: Environment): Environment {
  return { PATH: process.env['PATH'] ?? '', ...env, ...environment };
}

function expectRun(
  name: string,
  { status, stdout, stderr }: CommandResult,
  expected: { status: number; begin: string; stderr?: string },
): void {
  if (status === expected.status && stdout.startsWith(expected.begin) && stderr === (expected.stderr ?? ''))
    return progress(`${name}: ${(stdout || stderr).trim().split('\n').join(' | ').slice(0, 160)}`);
  throw new Problem(`${name} ended with ${status}:\n${stdout}${stderr}\nwanted: ${JSON.stringify(expected)}`);
}

function expectEnd(name: string, { code, signal }: Exit): void {
  if (code !== 0) throw new Problem(`${name} ended with ${signal ?? `exit code ${code}`} instead of exit code 0`);
}

function errorsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .filter((line) => !line.startsWith('{') || (JSON.parse(line) as { level: number }).level >= errorLevel);
}

/** Prints only the lines in capital letters. They are the titles of the parts of the tour. */
function tellTitle(line: string): void {
  if (/^\n?[A-Z][A-Z ,]+/.test(line)) progress(`the tour: ${line.trim().slice(0, 100)}`);
}
