/**
 * A second worker and a second API, which the soak kills. The first worker and the first API run until the end, and the soak measures them.
 */
import path from 'node:path';
import { startChild, type Child } from '../../../dev/stack/children.ts';
import { host } from '../../../dev/stack/ports.ts';
import { projectDirectory, scriptArguments } from '../../../dev/project.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import type { Ground } from '../faults/victims.ts';

export interface Second {
  readonly url: string;
  readonly pid: number | undefined;
  start(): Promise<void>;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  end(): Promise<void>;
}

/** The port of a second process is the port of the stack plus this number. The sum is below the range of ports for outgoing connections. */
const portsAbove = 2_500;
const readyWithinMs = 180_000;

export function secondOf(ground: Ground, kind: 'worker' | 'API', logs: string): Second {
  const ports = ['API_PORT', 'API_METRICS_PORT', 'FILES_PORT', 'WORKER_PORT'].map((name) => [
    name,
    String(Number(ground.env[name]) + portsAbove),
  ]);
  const env: Record<string, string> = { ...ground.env, ...Object.fromEntries(ports) };
  const url = `http://${host}:${kind === 'API' ? env['API_PORT'] : env['WORKER_PORT']}`;
  let running: Child | undefined;
  let lives = 0;
  let over = false;

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
    url,
    get pid() {
      return running?.pid;
    },
    async start() {
      if (over) return;
      running = startChild({
        name: `second ${kind}`,
        command: process.execPath,
        args: scriptArguments(kind === 'API' ? 'api/server.ts' : 'worker/main.ts'),
        env,
        cwd: projectDirectory,
        logFile: path.join(logs, `second-${kind}-${++lives}.log`),
      });
      await untilOk(`${url}/readyz`, { timeoutMs: readyWithinMs });
    },
    kill,
    async end() {
      over = true;
      await kill();
    },
  };
}
