/** Takes a sample each minute: the resources of each process, the contents of Postgres and Temporal, and the waiting work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { DataSource } from 'typeorm';
import { untilDone } from '../faults/patience.ts';
import { progress } from '../faults/progress.ts';
import { tableSizes, waitingIn } from './database.ts';
import { cpuCounter, familyOf, heapsOf, useOf, type Use } from './processes.ts';
import { longLived, type Sample } from './samples.ts';

const everyMs = 60_000;
const hourMs = 3_600_000;

interface SampledSystem {
  source: DataSource;
  temporal: { address: string; namespace: string };
  pids: () => Readonly<Record<string, number | undefined>>;
  directory: string;
  standing: () => string;
}

/** @returns the samples */
export async function lookEachMinute(system: SampledSystem, remainingMs: () => number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const beganAt = performance.now();
  const cpu = cpuCounter();
  let last = { seconds: cpu(), at: beganAt };
  while (remainingMs() > 0) {
    await sleep(Math.min(everyMs, remainingMs()));
    const { source, temporal, pids, directory } = system;
    const processes = await usesOf(pids(), directory);
    const tables = await untilDone(() => tableSizes(source));
    const waiting = await untilDone(() => waitingIn(source));
    const histories = await untilDone(() => historiesIn(temporal));
    const now = { seconds: cpu(), at: performance.now() };
    const cores = ((now.seconds - last.seconds) * 1_000) / (now.at - last.at);
    last = now;
    const sample = { x: (now.at - beganAt) / hourMs, processes, tables, waiting, histories, cores };
    samples.push(sample);
    progress(`${(sample.x * 60).toFixed(1)} min: ${system.standing()}; ${lineOf(sample)}`);
  }
  return samples;
}

function lineOf({ processes, tables, waiting, histories, cores }: Sample): string {
  const mib = (bytes = Number.NaN) => (bytes / 2 ** 20).toFixed(0);
  const memory = longLived
    .map((name) => `${name} ${mib(processes[name]?.rss)} MiB (heap ${mib(processes[name]?.heaps?.used)})`)
    .join(', ');
  const handles = longLived.reduce((sum, name) => sum + (processes[name]?.handles ?? 0), 0);
  const size = tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const { facts, factsLag, wakes, deliveries, connections } = waiting;
  return (
    `${memory}, ${handles} handles, ${connections} connections; tables ${mib(size)} MiB; ` +
    `${histories.open} runs open, longest history ${histories.longest} events; ` +
    `waiting: facts ${facts} (${factsLag.toFixed(0)} s), wakes ${wakes}, deliveries ${deliveries}; ${cores.toFixed(2)} cores`
  );
}

async function usesOf(
  pids: Readonly<Record<string, number | undefined>>,
  directory: string,
): Promise<Record<string, Use>> {
  const uses: Record<string, Use> = {};
  for (const [name, pid] of Object.entries(pids)) {
    if (pid === undefined) continue;
    const isLongLived = longLived.some((one) => one === name);
    const heaps = isLongLived ? await heapsOf(pid, directory) : undefined;
    // Postgres has a process for each connection.
    const all = (name === 'Postgres' ? familyOf(pid).map((one) => one.pid) : [pid]).flatMap((one) => useOf(one) ?? []);
    if (all.length === 0) continue;
    uses[name] = {
      rss: all.reduce((sum, { rss }) => sum + rss, 0),
      file: all.reduce((sum, { file }) => sum + file, 0),
      handles: all.reduce((sum, { handles }) => sum + handles, 0),
      ...(heaps !== undefined && { heaps }),
    };
  }
  return uses;
}

/** A sample contains the history lengths of at most this many open runs. */
const mostRuns = 100;

async function historiesIn({ address, namespace }: SampledSystem['temporal']): Promise<Sample['histories']> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    const query = `ExecutionStatus = 'Running'`;
    const { count: open } = await workflow.count(query);
    let [longest, runCount] = [0, 0];
    for await (const { workflowId, runId } of workflow.list({ query })) {
      if (++runCount > mostRuns) break;
      const described = await workflow
        .getHandle(workflowId, runId)
        .describe()
        .catch(() => undefined); // the run has just ended
      longest = Math.max(longest, described?.historyLength ?? 0);
    }
    return { open, longest };
  } finally {
    await connection.close();
  }
}
