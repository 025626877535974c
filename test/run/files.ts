/** Selects the test files of a run, and sorts them. */
// globSync is not imported by name, because in an older Node this import would fail before the message about the Node version is printed.
import fs, { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import type { Durations } from './timings.ts';

export function testFiles(): string[] {
  return fs.globSync('test/**/*.test.ts', { cwd: projectDirectory }).toSorted();
}

/** A test that imports one of these modules starts processes, or uses the stack that server.ts shares. */
const stackModules = ['test/toolkit/stack/stack.ts', 'dev/stack/stack.ts', 'dev/components.ts', 'dev/start.ts'];
const importing = /\bfrom '(\.[^']+)'/g;

/**
 * Whether a file is a unit test: none of its direct or indirect imports reaches the stack. A unit test needs no Postgres, no Temporal and
 * no other server.
 */
export function isUnitTest(file: string, reachable = new Map<string, boolean>()): boolean {
  return !reaches(file, stackModules, reachable);
}

/** @returns whether the file is one of the modules, or imports a module directly or indirectly */
export function reaches(file: string, modules: readonly string[], reachable = new Map<string, boolean>()): boolean {
  const known = reachable.get(file);
  if (known !== undefined) return known;
  reachable.set(file, false); // This value ends the search if imports form a circle.
  const does = modules.includes(file) || importsOf(file).some((imported) => reaches(imported, modules, reachable));
  reachable.set(file, does);
  return does;
}

/** Returns the imported files. A string in a test may look like an import. Such an import is ignored, because its file does not exist. */
function importsOf(file: string): string[] {
  const text = readFileSync(path.join(projectDirectory, file), 'utf8');
  return [...text.matchAll(importing)]
    .map(([, target = '']) => path.posix.join(path.posix.dirname(file), target))
    .filter((target) => /^(?:test|dev)\/.*\.ts$/.test(target) && existsSync(path.join(projectDirectory, target)));
}

/**
 * `npm test -- --unit` must take only a few seconds in total. It therefore omits slow files, such as tests that read hostile PDFs or wait
 * for sockets.
 */
const quickSeconds = 1;

/** @param durations the measured durations; a file without an entry counts as quick */
export function isQuick(file: string, durations: Durations): boolean {
  return (durations[file] ?? 0) <= quickSeconds;
}

/** Sorts files without an entry first, because they may be long. Long files come before short files, so that none of them starts late. */
export function longestFirst(files: readonly string[], durations: Durations): string[] {
  const secondsOf = (file: string) => durations[file] ?? Number.POSITIVE_INFINITY;
  return files.toSorted((one, other) => secondsOf(other) - secondsOf(one) || one.localeCompare(other));
}

/** Puts files that contain all of these words first, because one of them probably contains the requested test. */
export function likeliestFirst(files: readonly string[], words: string): string[] {
  const searchWords = words.toLowerCase().split(/\W+/).filter(Boolean);
  const isLikely = (file: string) => {
    const text = readFileSync(path.join(projectDirectory, file), 'utf8').toLowerCase();
    return searchWords.every((word) => text.includes(word));
  };
  const likely = new Set(files.filter(isLikely));
  return [...likely, ...files.filter((file) => !likely.has(file))];
}

/** Returns the files in a random order that depends only on the seed. */
export function shuffled(files: readonly string[], seed: number): string[] {
  let state = seed >>> 0;
  const random = () => {
    // The generator Mulberry32. Its 32 bits of state are enough to order some hundred files.
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const order = new Map(files.map((file) => [file, random()]));
  return files.toSorted((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0));
}
