/** Waits until a started program answers or ends. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, describeExit } from './children.ts';
import { host } from './ports.ts';
import { messageOf, Problem } from '../problem.ts';

export interface Wait {
  readonly timeoutMs: number;
  /** If this process ends, the wait fails. */
  readonly child?: Child;
}

const pauseMs = 50;

/**
 * Calls `attempt` every 50 ms until a call does not throw.
 * @param what what must happen, in words for the error message
 * @throws Problem when the process has ended, or the time is over, with the last failure
 */
export async function until<T>(what: string, attempt: () => Promise<T>, wait: Wait): Promise<T> {
  const deadline = Date.now() + wait.timeoutMs;
  let ended: string | undefined;
  wait.child?.exited.then(
    (exit) => (ended = wait.child && describeExit(wait.child, exit)),
    (error: unknown) => (ended = `${wait.child?.name} could not be started: ${messageOf(error)}`),
  );
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (ended !== undefined) throw new Problem(ended);
      if (Date.now() > deadline) {
        const lines = wait.child?.lastLines() ?? '';
        throw new Problem(
          `${what} did not answer within ${wait.timeoutMs / 1000} s (${messageOf(error)}).${lines && `\n${lines}`}`,
        );
      }
    }
    await sleep(pauseMs);
  }
}

/** The port is on 127.0.0.1. */
export async function untilPortAnswers(port: number, wait: Wait): Promise<void> {
  await until(`Port ${port}`, () => connect(port), wait);
}

export async function untilOk(url: string, wait: Wait): Promise<void> {
  await until(
    url,
    async () => {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await response.body?.cancel();
      if (response.status !== 200) throw new Error(`status ${response.status}`);
    },
    wait,
  );
}

function connect(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
