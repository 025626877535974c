/** What is killed: the worker, the API, Temporal, Postgres and S3, each a process of its own, on a stack that is gone afterwards. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, type Child } from '../../../dev/stack/children.ts';
import { fixedPorts, host, quietPorts, type PortName } from '../../../dev/stack/ports.ts';
import { messageOf } from '../../../dev/problem.ts';
import { projectDirectory, scriptArguments } from '../../../dev/project.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import { startStack, type PartName, type Stack } from '../../../dev/stack/stack.ts';
import { removeDataElsewhere } from '../../../dev/stack/postgres-place.ts';
import { runCommand } from '../../../dev/stack/commands.ts';
import { bareEnvironment } from './environment.ts';
import { repeated } from './processes.ts';
import { progress } from './progress.ts';

export const victims = ['worker', 'API', 'Temporal', 'Postgres'] as const;
export type Victim = (typeof victims)[number] | 'S3';

export interface Ground {
  readonly stack: Stack;
  /** A complete configuration; for processes of ours too. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the worker and the API answer. */
  readonly urls: Readonly<Record<'worker' | 'API', string>>;
  /** Process ids of their present lives; undefined while they are dead. */
  readonly pids: Readonly<Record<'worker' | 'API', number | undefined>>;
  /** How often one of our processes ended although nobody had killed it. It was started again, as a supervisor would. */
  readonly endedByItself: number;
  /** SIGKILL. Resolves once the process has ended. */
  kill(victim: Victim): Promise<void>;
  /** Kills the worker, and has its next life end at a failpoint. Resolves once that has ended. */
  killWorkerAt(failpoint: string): Promise<void>;
  /** Kills the API, and has its next life end by these variables. Resolves once that has ended. */
  killApiBy(variables: Readonly<Record<string, string>>): Promise<void>;
  /** Changes variables of the configuration: for the worker and the API from their next lives on. */
  configure(variables: Readonly<Record<string, string>>): void;
  /** Starts it again, with the same data and port. Resolves once it is ready. */
  startAgain(victim: Victim): Promise<void>;
}

const readyWithinMs = 180_000;
/** How long a process that ended by itself rests before it is started again. */
const restMs = 1_000;
/** Lines of its log that are shown then: enough for an error with its stack. */
const wordsOfTheDead = 40;

/**
 * Runs `work` with everything up, or until it is interrupted; then ends all of it and removes its data.
 * @param more variables of the configuration
 * @param parts of the stack: S3 for whoever stores files
 * @returns what `work` gave; undefined when it was interrupted
 */
export async function onGround<T>(
  interrupted: Promise<unknown>,
  work: (ground: Ground) => Promise<T>,
  more: Readonly<Record<string, string>> = {},
  parts: readonly PartName[] = ['temporal', 'postgres'],
): Promise<T | undefined> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-faults-'));
  const ports = await quietPorts(Object.keys(fixedPorts) as PortName[]);
  // With the ports of people, wherever they lie, come data that outlive the process: tests' own Postgres may lose commits.
  const stack = await startStack({
    directory,
    ports: 'fixed',
    parts,
    env: { PATH: process.env['PATH'], ...portVariables(ports) },
    onUnexpectedEnd: progress,
  });
  const env: Record<string, string> = {
    ...bareEnvironment,
    ...portVariables(ports),
    FILES_URL: `http://${host}:${ports.files}`,
    // Whoever wants mails listens here. Nothing is stored; a configuration names it nevertheless.
    SMTP_URL: `smtp://${host}:${ports.smtp}`,
    ...stack.environment,
    ...more,
  };
  const urls = { worker: `http://${host}:${ports.worker}`, API: `http://${host}:${ports.api}` };
  const logs = path.join(directory, 'logs');
  const worker = keptUp({ name: 'worker', script: 'worker/main.ts', url: urls.worker, env, logs });
  const api = keptUp({ name: 'API', script: 'api/server.ts', url: urls.API, env, logs });
  const own = [worker, api];
  const killing: Record<Victim, { kill(): Promise<void>; start(): Promise<void> }> = {
    worker,
    API: api,
    Temporal: { kill: () => stack.kill('temporal'), start: () => repeated(() => stack.startAgain('temporal')) },
    Postgres: { kill: () => stack.kill('postgres'), start: () => stack.startAgain('postgres') },
    S3: { kill: () => stack.kill('storage'), start: () => stack.startAgain('storage') },
  };
  const ground: Ground = {
    stack,
    env,
    urls,
    get pids() {
      return { worker: worker.pid, API: api.pid };
    },
    get endedByItself() {
      return own.reduce((sum, { endedByItself }) => sum + endedByItself, 0);
    },
    kill: (victim) => killing[victim].kill(),
    killWorkerAt: (failpoint) => worker.killBy({ FAILPOINT: failpoint }),
    killApiBy: api.killBy,
    configure: (variables) => void Object.assign(env, variables),
    startAgain: (victim) => killing[victim].start(),
  };

  const run = async () => {
    await runCommand(process.execPath, scriptArguments('commands/migrate.ts'), { env, cwd: projectDirectory });
    await Promise.all(own.map((one) => one.start()));
    return work(ground);
  };
  try {
    return await Promise.race([run(), interrupted.then(() => undefined)]);
  } finally {
    await Promise.all(own.map((one) => one.end()));
    await stack.stop();
    await removeDataElsewhere(path.join(directory, 'postgres'));
    await rm(directory, { recursive: true, force: true });
  }
}

interface Program {
  name: string;
  script: string;
  url: string;
  env: Readonly<Record<string, string>>;
  logs: string;
}

/** One of our programs: killed and started again as told, and by itself when it ended unasked. */
function keptUp({ name, script, url, env, logs }: Program) {
  let running: Child | undefined;
  /** Ends at a failpoint. */
  let told: Child | undefined;
  let lives = 0;
  let endedByItself = 0;
  let over = false;

  function launch(more: Readonly<Record<string, string>> = {}): Child {
    const child = startChild({
      name,
      command: process.execPath,
      args: scriptArguments(script),
      env: { ...env, ...more },
      cwd: projectDirectory,
      logFile: path.join(logs, `${name}-${++lives}.log`),
    });
    running = child;
    child.exited.then(
      async (exit) => {
        if (running !== child || told === child || over) return;
        endedByItself++;
        progress(
          `${name} ended by itself (${exit.signal ?? `exit code ${exit.code}`})\n${child.lastLines(wordsOfTheDead)}`,
        );
        await sleep(restMs);
        if (running === child && !over) launch();
      },
      (error: unknown) => progress(`${name} could not be started: ${messageOf(error)}`),
    );
    return child;
  }

  async function kill(): Promise<void> {
    const child = running;
    running = undefined;
    if (child?.pid === undefined) return;
    try {
      process.kill(child.pid, 'SIGKILL');
    } catch {
      return; // it has just ended by itself
    }
    await child.exited;
  }

  return {
    get pid() {
      return running?.pid;
    },
    get endedByItself() {
      return endedByItself;
    },
    kill,
    async killBy(variables: Readonly<Record<string, string>>) {
      await kill();
      told = launch(variables);
      await told.exited;
    },
    async start() {
      launch();
      await untilOk(`${url}/readyz`, { timeoutMs: readyWithinMs });
    },
    /** For good. */
    async end() {
      over = true;
      await kill();
    },
  };
}

function portVariables(ports: Readonly<Record<PortName, number>>): Record<string, string> {
  const names = Object.keys(fixedPorts) as PortName[];
  return Object.fromEntries(names.map((name) => [fixedPorts[name].variable, String(ports[name])]));
}
