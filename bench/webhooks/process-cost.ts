/** The resources of a process, as Linux counts them. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../support.ts';

/** USER_HZ: the resolution of process times in Linux, on every architecture of Node. */
const ticksASecond = 100;

/** A process counts as idle if it uses fewer milliseconds of CPU time a second. */
const idleCpu = 50;
const settleSeconds = 2;
const settleLimitMs = 120_000;

export interface ProcessCost {
  memoryMb: number;
  /** The CPU time of all threads, in milliseconds a second. 1,000 is one whole core. */
  cpu: number;
}

/** @returns the resident memory at the end, and the CPU meanwhile */
export async function watchCost(pid: number, seconds: number): Promise<ProcessCost> {
  const [before, started] = [await cpuMs(pid), performance.now()];
  await sleep(seconds * 1_000);
  const cpu = ((await cpuMs(pid)) - before) / ((performance.now() - started) / 1_000);
  return { memoryMb: await residentMb(pid), cpu };
}

/** For two seconds. @throws Error if the process does not become idle */
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

/** For Postgres the child processes count, too, because each connection has one. */
export interface Watched {
  pid: number;
  withChildren?: boolean;
}

/** @returns the result of `work`, and the milliseconds of CPU of each process */
export async function cpuDuring<Result>(
  watched: Readonly<Record<string, Watched>>,
  work: () => Promise<Result>,
): Promise<{ result: Result; cpu: ReadonlyMap<string, number> }> {
  const look = () => Promise.all(Object.values(watched).map(cpuOf));
  const before = await look();
  const result = await work();
  const after = await look();
  const times = Object.keys(watched).map((name, place) => [name, (after[place] ?? 0) - (before[place] ?? 0)] as const);
  return { result, cpu: new Map(times) };
}

async function cpuOf({ pid, withChildren = false }: Watched): Promise<number> {
  if (!withChildren) return cpuMs(pid);
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean);
  // A child process may end meanwhile.
  const times = await Promise.all(children.map((child) => cpuMs(Number(child)).catch(() => 0)));
  return times.reduce((sum, ms) => sum + ms, await cpuMs(pid, { endedChildren: true }));
}

/** User and system time since the start (proc_pid_stat(5), fields 14 and 15; fields 16 and 17 for ended children). */
async function cpuMs(pid: number, { endedChildren = false } = {}): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name, the second field, may contain spaces. So the count begins after its bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, endedChildren ? 15 : 13).reduce((sum, field) => sum + Number(field), 0);
  return (ticks * 1_000) / ticksASecond;
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}

/** Reads the memory four times a second. */
export function watchMemory(pid: number): { stop: () => Promise<number> } {
  let [max, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) max = Math.max(max, (await watchCost(pid, 0.25)).memoryMb);
  })();
  return {
    async stop() {
      isOver = true;
      await watching;
      return max;
    },
  };
}
