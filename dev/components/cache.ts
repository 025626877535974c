/** The per-user cache of installed components: outside the checkout, a directory a version, filled atomically. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Environment } from '../../config.ts';
import { isAlive } from '../children.ts';
import type { Component } from './catalogue.ts';

const unfinishedPrefix = '.unfinished-';

/** `$XDG_CACHE_HOME/club-learning`, or the platform's own place for caches. */
export function cacheDirectory(env: Environment): string {
  const home = env['HOME'] || os.homedir();
  const usual = os.platform() === 'darwin' ? path.join(home, 'Library', 'Caches') : path.join(home, '.cache');
  return path.join(env['XDG_CACHE_HOME'] || usual, 'club-learning');
}

/**
 * Fills a directory beside the final one, checks that what is in it works, and only then gives it its name. Of two
 * installations at the same time the first to finish wins; the other's work is thrown away.
 * @param fetch puts the component's executable into the directory that it is given
 * @throws whatever `fetch` or the component's check throws; then nothing is left behind
 */
export async function install(component: Component, cache: string, fetch: (directory: string) => Promise<void>) {
  const name = `${component.executable}-${component.version}`;
  await mkdir(cache, { recursive: true });
  await removeUnfinished(cache);
  const unfinished = await mkdtemp(path.join(cache, `${unfinishedPrefix}${process.pid}-`));
  await chmod(unfinished, 0o755);
  try {
    await fetch(unfinished);
    await component.check(path.join(unfinished, component.executable));
    await rename(unfinished, path.join(cache, name)).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      // Somebody else was first, or the directory is there without its executable: then ours takes its place.
      await component.check(path.join(cache, name, component.executable)).catch(async () => {
        await rm(path.join(cache, name), { recursive: true, force: true });
        await rename(unfinished, path.join(cache, name));
      });
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** What killed installations left behind; the directory's name says whose it was. */
async function removeUnfinished(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => name.startsWith(unfinishedPrefix));
  const dead = names.filter((name) => !isAlive(Number.parseInt(name.slice(unfinishedPrefix.length), 10)));
  await Promise.all(dead.map((name) => rm(path.join(cache, name), { recursive: true, force: true })));
}
