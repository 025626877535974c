/**
 * Finds or installs the programs of the stack and of the tests that npm does not provide. `npm start -- --components` and `npm test` call
 * this.
 */
import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Environment } from '../config.ts';
import { lookUp } from '../platform/infra/programs/programs.ts';
import { cacheDirectory, install } from './components/cache.ts';
import { type Component, components } from './components/catalogue.ts';
import { messageOf, Problem, say } from './problem.ts';

export interface LocateOptions {
  readonly env?: Environment;
  /** Receives lines of progress during an installation. */
  readonly report?: (line: string) => void;
}

/**
 * Finds a component's executable in this order: the variable that names it, the PATH, our cache, then the sources. The cache stores the
 * first source that works. A program on the PATH is skipped if its version is wrong or it does not work. A line says why (DEC-163).
 * @returns an absolute path
 * @throws Problem when no source works; the message lists each try and says what to do
 */
export async function locate(component: Component, options: LocateOptions = {}): Promise<string> {
  const env = options.env ?? process.env;
  const report = options.report ?? (() => undefined);

  const searchPath = env['PATH'] ?? '';
  const chosen = env[component.variable];
  if (chosen) return chosenFile(component, chosen, searchPath);

  const tried: string[] = [];
  // Reported even if the program in our cache works, because users ask why their own program is not used.
  const passOver = (words: string) => {
    tried.push(words);
    report(`${component.title}: ${words}; it is skipped`);
  };
  const { files, unusable } = await lookUp(component.executable, searchPath);
  unusable.forEach(passOver);
  for (const file of files) {
    const flaw = await flawOf(component, file);
    if (flaw === undefined) return file;
    passOver(`${file} ${flaw}`);
  }
  if (tried.length === 0) tried.push(`${component.executable} on the PATH: not there`);

  const cache = cacheDirectory(env);
  const cached = path.join(cache, `${component.executable}-${component.version}`, component.executable);
  if (await isExecutable(cached)) return cached;
  tried.push(`${cached}: not installed yet`);

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
      'Do one of these:',
      ...component.advice.map((advice) => `  - ${advice}`),
      `  - put ${component.executable} on the PATH, or set ${component.variable} to its path`,
    ].join('\n'),
  );
}

/** @throws Problem if the chosen program is missing or does not work; another program never replaces it silently */
async function chosenFile(component: Component, chosen: string, searchPath: string): Promise<string> {
  const { files, unusable } = await lookUp(chosen, searchPath);
  const [file] = files;
  if (file === undefined) {
    const unusablePrograms = unusable.length === 0 ? '' : ` (${unusable.join(', ')})`;
    throw new Problem(`${component.variable} says ${chosen}, but there is no executable file${unusablePrograms}.`);
  }
  const flaw = await flawOf(component, file);
  if (flaw === undefined) return file;
  throw new Problem(
    `${component.variable} says ${chosen}, but ${file} ${flaw}. Name another, or unset ${component.variable}.`,
  );
}

/** The results for each component and file, so that each program is checked only once. */
const flaws = new WeakMap<Component, Map<string, Promise<string | undefined>>>();

/** @returns why a program of the user cannot be used: a wrong version, or it does not work here */
function flawOf(component: Component, file: string): Promise<string | undefined> {
  const known = flaws.get(component) ?? new Map<string, Promise<string | undefined>>();
  flaws.set(component, known);
  const look = async () =>
    (await component.flawOf(file)) ??
    (await component.check(file).then(
      () => undefined,
      (error: unknown) => `does not work here: ${messageOf(error)}`,
    ));
  const flaw = known.get(file) ?? look();
  known.set(file, flaw);
  return flaw;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Ends the process with a message if a component is missing and cannot be installed. */
export async function requireComponents(): Promise<void> {
  try {
    await ensureComponents();
  } catch (error) {
    process.stderr.write(`\n${messageOf(error)}\n`);
    process.exit(1);
  }
}

/**
 * Finds or installs all components in parallel.
 * @throws Problem when a component is missing; one message lists all failures
 */
export async function ensureComponents(): Promise<void> {
  const outcomes = await Promise.allSettled(
    Object.values(components).map((component) => locate(component, { report: say })),
  );
  const failures = outcomes
    .filter((outcome) => outcome.status === 'rejected')
    .map((outcome) => messageOf(outcome.reason));
  if (failures.length > 0) throw new Problem(failures.join('\n\n'));
}
