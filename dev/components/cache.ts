/**
 * The cache of installed components, outside the checkout, with one directory for each version. A directory appears only when it is
 * complete.
 */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Environment } from '../../config.ts';
import { isAlive } from '../stack/children.ts';
import type { Component } from './catalogue.ts';

const unfinishedPrefix = '.unfinished-';

/** `$XDG_CACHE_HOME/club-learning`, or the platform's own cache directory. */
export function cacheDirectory(env: Environment): string {
  const home = env['HOME'] || os.homedir();
  const usual = os.platform() === 'darwin' ? path.join(home, 'Library', 'Caches') : path.join(home, '.cache');
  return path.join(env['XDG_CACHE_HOME'] || usual, 'club-learning');
}

/**
 * Fills a temporary directory, checks that its program works, and then renames the directory. If two installations run at the same time,
 * the first to finish wins.
 * @param fetch puts the executable into the given directory
 * @throws the error of `fetch` or of the check; no files remain
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
      // Another installation was faster. If its directory has no executable, this installation replaces it.
      await component.check(path.join(cache, name, component.executable)).catch(async () => {
        await rm(path.join(cache, name), { recursive: true, force: true });
        await rename(unfinished, path.join(cache, name));
      });
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Removes what killed installations left. The names of their directories contain process ids. */
async function removeUnfinished(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => name.startsWith(unfinishedPrefix));
  const dead = names.filter((name) => !isAlive(Number.parseInt(name.slice(unfinishedPrefix.length), 10)));
  await Promise.all(dead.map((name) => rm(path.join(cache, name), { recursive: true, force: true })));
}
