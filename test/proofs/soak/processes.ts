/** Reads the resources of processes from /proc of Linux. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';

export interface Use {
  rss: number;
  /**
   * The part of the resident memory that contains pages of files, such as the code of programs. The system loads a page at its first use.
   */
  file: number;
  handles: number;
  /** The heaps after a garbage collection; undefined for other programs. */
  heaps?: Heaps;
}

/** Sizes in bytes. Each size is the sum over all threads. */
interface Heaps {
  used: number;
  reserved: number;
  external: number;
}

export function useOf(pid: number): Use | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytesOf = (field: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1_024;
    return { rss: bytesOf('VmRSS'), file: bytesOf('RssFile'), handles: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}

/** Longer than the wait of the probe for its threads. */
const heapWithinMs = 8_000;
const lookEveryMs = 200;

export async function heapsOf(pid: number, directory: string): Promise<Heaps | undefined> {
  const file = path.join(directory, `${pid}.json`);
  const before = contentOf(file);
  try {
    process.kill(pid, 'SIGUSR2');
  } catch {
    return undefined;
  }
  const deadline = performance.now() + heapWithinMs;
  while (performance.now() < deadline) {
    await sleep(lookEveryMs);
    const content = contentOf(file);
    if (content !== before && content.endsWith('}')) return JSON.parse(content) as Heaps;
  }
  return undefined;
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

interface Stat {
  pid: number;
  parent: number;
  seconds: number;
}

const ticksPerSecond = 100;

export function familyOf(pid: number): Stat[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statOf(Number(name)) : []));
  const family = all.filter((stat) => stat.pid === pid);
  for (const { pid: parent } of family) family.push(...all.filter((stat) => stat.parent === parent));
  return family;
}

function statOf(pid: number): Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    return [{ pid, parent: Number(fields[1]), seconds }];
  } catch {
    return [];
  }
}

/**
 * Returns a function that measures the CPU time of this process and its descendants. A process that begins and ends between two calls is
 * not measured.
 */
export function cpuCounter(): () => number {
  const secondsByProcess = new Map<number, number>();
  let total = 0;
  return () => {
    for (const { pid, seconds } of familyOf(process.pid)) {
      const before = secondsByProcess.get(pid) ?? 0;
      total += Math.max(0, seconds - before);
      secondsByProcess.set(pid, seconds);
    }
    return total;
  };
}
