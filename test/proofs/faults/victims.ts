/** The processes that a proof kills: the worker, the API, Temporal, Postgres and S3, on a stack that is removed afterwards. */
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
  /** A complete configuration, also for other processes of the proof. */
  readonly env: Readonly<Record<string, string>>;
  readonly urls: Readonly<Record<'worker' | 'API', string>>;
  /** The process ids; undefined while the process is dead. */
  readonly pids: Readonly<Record<'worker' | 'API', number | undefined>>;
  /**
   * The number of times that a worker or an API process ended without a kill. The proof restarted each of them, as a supervisor would do.
   */
  readonly endedByItself: number;
  kill(victim: Victim): Promise<void>;
  /** Kills the worker, restarts it with a failpoint, and resolves when the worker has ended at the failpoint. */
  killWorkerAt(failpoint: string): Promise<void>;
  /** Kills the worker, restarts it with variables that make it end, and resolves when it has ended. */
  killWorkerBy(variables: Readonly<Record<string, string>>): Promise<void>;
  /** Kills the API, restarts it with variables that make it end, and resolves when it has ended. */
  killApiBy(variables: Readonly<Record<string, string>>): Promise<void>;
  /** Changes variables of the configuration. The worker and the API use them from their next start. */
  configure(variables: Readonly<Record<string, string>>): void;
  /** Starts a process again with its old data and port, and resolves when the process is ready. */
  startAgain(victim: Victim): Promise<void>;
}

const readyWithinMs = 180_000;
const restMs = 1_000;
/** If a process ends by itself, the proof prints the last lines of the log of the process. They contain an error with its stack. */
const lastLogLines = 40;

/**
 * Runs `work` on a running stack, until the end of `work` or an interruption. Then ends all processes and removes the data.
 * @param parts the parts of the stack; proofs with files also need S3
 * @returns the result of `work`; undefined after an interruption
 */
export async function onGround<T>(
  interrupted: Promise<unknown>,
  work: (ground: Ground) => Promise<T>,
  more: Readonly<Record<string, string>> = {},
  parts: readonly PartName[] = ['temporal', 'postgres'],
): Promise<T | undefined> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-faults-'));
  const ports = await quietPorts(Object.keys(fixedPorts) as PortName[]);
  // A stack with fixed ports stores its data durably. The Postgres of the test run may lose commits at a kill.
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
    // The mail server of a proof of mails has this address. In other proofs the address only completes the configuration.
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
    killWorkerBy: worker.killBy,
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

/** A program of ours that the proof kills and restarts. After an unexpected end it is restarted automatically. */
function keptUp({ name, script, url, env, logs }: Program) {
  let running: Child | undefined;
  /** The process that ends at a failpoint on purpose. */
  let expectedToEnd: Child | undefined;
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
        if (running !== child || expectedToEnd === child || over) return;
        endedByItself++;
        progress(
          `${name} ended by itself (${exit.signal ?? `exit code ${exit.code}`})\n${child.lastLines(lastLogLines)}`,
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
      return; // the process has just ended by itself
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
      expectedToEnd = launch(variables);
      await expectedToEnd.exited;
    },
    async start() {
      launch();
      await untilOk(`${url}/readyz`, { timeoutMs: readyWithinMs });
    },
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
