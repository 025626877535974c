/** What processes use, as Linux says in /proc. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';

export interface Use {
  /** Resident memory, in bytes. */
  rss: number;
  /** Of it, pages of files, such as the code of programs and libraries, which come in when they are first used. */
  file: number;
  /** Open file descriptors: files, pipes, sockets. */
  handles: number;
  /** After a garbage collection; undefined of programs that are not ours. */
  heaps?: Heaps;
}

/** Bytes, of all threads together. */
interface Heaps {
  used: number;
  /** With what V8 keeps at hand for new objects. */
  taken: number;
  /** Buffers, outside of the heap. */
  external: number;
}

/** @returns the use of a process; undefined when it is gone */
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

/** Longer than the probe gathers. */
const heapWithinMs = 8_000;
const lookEveryMs = 200;

/** Has a process with the probe collect its garbage. @returns its heaps; undefined when it does not answer in time */
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
  /** User and system time so far, in seconds. */
  seconds: number;
}

const ticksPerSecond = 100;

/** The process of this id and all that it has started, directly or not. */
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

/** Counts the CPU time of this process and its family; what began and ended between two looks is not seen. */
export function cpuCounter(): () => number {
  const seen = new Map<number, number>();
  let total = 0;
  return () => {
    for (const { pid, seconds } of familyOf(process.pid)) {
      const before = seen.get(pid) ?? 0;
      total += Math.max(0, seconds - before);
      seen.set(pid, seconds);
    }
    return total;
  };
}
