/** What a process takes of the machine, as Linux counts it. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../support.ts';

/** USER_HZ: how finely Linux tells processes the time that they have taken, on every architecture that Node runs on. */
const ticksASecond = 100;

/** A process that takes less than this, in milliseconds a second, has nothing to do. */
const idleCpu = 50;
const settleSeconds = 2;
const settleLimitMs = 120_000;

export interface ProcessCost {
  memoryMb: number;
  /** Milliseconds of CPU a second, of all its threads: 1,000 is one core. */
  cpu: number;
}

/** Watches a process for so many seconds. @returns its resident memory at the end, and its CPU meanwhile */
export async function watchCost(pid: number, seconds: number): Promise<ProcessCost> {
  const [before, started] = [await cpuMs(pid), performance.now()];
  await sleep(seconds * 1_000);
  const cpu = ((await cpuMs(pid)) - before) / ((performance.now() - started) / 1_000);
  return { memoryMb: await residentMb(pid), cpu };
}

/** Waits until the process has nothing to do for two seconds. @throws Error when it does not come to rest */
export async function untilIdle(pid: number): Promise<void> {
  let cpu = Number.NaN;
  const isIdle = async () => {
    ({ cpu } = await watchCost(pid, settleSeconds));
    return cpu < idleCpu;
  };
  await waitUntil('the worker comes to rest', isIdle, {
    timeoutMs: settleLimitMs,
    progressSoFar: () => `it takes ${Math.round(cpu)} ms of CPU a second`,
  });
}

/** User and system time since its start (proc_pid_stat(5), fields 14 and 15). */
async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field, the name, may hold spaces: count from behind its bracket, where the third begins.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksASecond;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}
