/**
 * The site of a proof: its directory and the processes that it started. At the end the directory is deleted and the processes are ended,
 * even after a failure or an interruption.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startStack, type Stack } from '../../../dev/stack/stack.ts';
import { removeDataElsewhere } from '../../../dev/stack/postgres-place.ts';
import { progress } from '../faults/progress.ts';

export interface Site {
  /** Empty at first. */
  readonly directory: string;
  /** The functions that are called at the end, in reverse order. */
  readonly stops: (() => Promise<unknown>)[];
}

export async function onSite<T>(
  work: (site: Site) => Promise<T>,
  interrupted: Promise<unknown>,
): Promise<T | undefined> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-verify-'));
  const stops: Site['stops'] = [];
  try {
    return await Promise.race([work({ directory, stops }), interrupted.then(() => undefined)]);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * @param options.durable whether Postgres waits for the disk at each commit, as in production
 * @returns a stack for the site on free ports, which stops and is deleted together with the site
 */
export async function startStackOn(site: Site, options: { durable?: boolean } = {}): Promise<Stack> {
  const directory = path.join(site.directory, 'stack');
  const stack = await startStack({
    directory,
    ports: 'free',
    ...options,
    env: { PATH: process.env['PATH'] },
    onUnexpectedEnd: progress,
  });
  site.stops.push(
    () => removeDataElsewhere(path.join(directory, 'postgres')),
    () => stack.stop(),
  );
  return stack;
}
