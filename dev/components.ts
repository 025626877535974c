/**
 * Finds, or installs, the programs of the development stack that npm does not bring. Run by itself, it makes sure that
 * all of them are there: `npm run components`.
 */
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../config.ts';
import { cacheDirectory, install } from './components/cache.ts';
import { type Component, components } from './components/catalogue.ts';
import { messageOf, Problem, runScript, say } from './problem.ts';

export interface LocateOptions {
  readonly env?: Environment;
  /** Called with each line of progress; only an installation has any. */
  readonly report?: (line: string) => void;
}

/**
 * Where a component's executable is, in this order: the variable that names it, the PATH, our own cache, and then each
 * of its sources, the first that works being kept in the cache.
 * @returns an absolute path
 * @throws Problem that lists what was tried, why each failed, and what to do
 */
export async function locate(component: Component, options: LocateOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const report = options.report ?? (() => undefined);

  const chosen = env[component.variable];
  if (chosen) {
    if (await isExecutable(chosen)) return path.resolve(chosen);
    throw new Problem(`${component.variable} says ${chosen}, but there is no executable file.`);
  }

  const tried: string[] = [];
  const onPath = await findOnPath(component.executable, env['PATH'] ?? '');
  if (onPath === undefined) tried.push(`${component.executable} on the PATH: not there`);
  else {
    const flaw = await component.flawOf(onPath);
    if (flaw === undefined) return onPath;
    tried.push(`${onPath}: ${flaw}`);
  }

  const cache = cacheDirectory(env);
  const cached = path.join(cache, `${component.executable}-${component.version}`, component.executable);
  if (await isExecutable(cached)) return cached;
  tried.push(`${cached}: not there yet`);

  for (const source of component.sources) {
    report(`${component.title}: trying ${source.title} …`);
    try {
      await install(component, cache, (directory) => source.fetch(directory, report));
      report(`${component.title}: installed in ${path.dirname(cached)}`);
      return cached;
    } catch (error) {
      tried.push(`${source.title}: ${messageOf(error)}`);
    }
  }
  throw new Problem(
    [
      `${component.title} (${component.executable}, version ${component.version}) could not be found or installed. Tried:`,
      ...tried.map((attempt) => `  - ${attempt}`),
      'What you can do, any one of these:',
      ...component.advice.map((advice) => `  - ${advice}`),
      `  - put ${component.executable} on the PATH, or set ${component.variable} to where it is`,
    ].join('\n'),
  );
}

/** The first executable file of this name in the directories of a PATH. */
async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  for (const directory of searchPath.split(path.delimiter).filter(path.isAbsolute)) {
    const file = path.join(directory, name);
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Finds or installs every component, all at the same time; the messages of all that failed come together. */
async function ensureAll(): Promise<number> {
  const outcomes = await Promise.allSettled(
    Object.values(components).map((component) => locate(component, { report: say })),
  );
  const failures = outcomes
    .filter((outcome) => outcome.status === 'rejected')
    .map((outcome) => messageOf(outcome.reason));
  if (failures.length > 0) throw new Problem(failures.join('\n\n'));
  return 0;
}

if (import.meta.main) await runScript(ensureAll);
