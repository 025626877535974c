/**
 * `npm run check` runs all parts below, one on each core, and fails if a part fails. `npm run check -- types` runs only the part `types`.
 * Further arguments replace the arguments of the part, as in `npm run check -- words domain/mail`.
 */
import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { Problem, runScript, say } from './problem.ts';
import { projectDirectory, typescriptArguments } from './project.ts';

export interface Part {
  readonly finds: string;
  /** The program, and arguments that it always gets. */
  readonly command: readonly [string, ...string[]];
  /** Arguments of the command line replace these. */
  readonly args: readonly string[];
}

const tool = (name: string) => [path.join(projectDirectory, 'node_modules', '.bin', name)] as const;
const script = (file: string) => [process.execPath, ...typescriptArguments, file] as const;

/** The slowest parts come first, so that all cores are busy until the end. */
const parts: Readonly<Record<string, Part>> = {
  types: { finds: 'type errors', command: tool('tsc'), args: ['--noEmit'] },
  sdk: {
    finds: 'type errors of the SDK without the types of Node',
    command: tool('tsc'),
    args: ['--noEmit', '-p', 'sdk/tsconfig.json'],
  },
  commands: {
    finds: 'type errors of the commands of the SDK',
    command: tool('tsc'),
    args: ['--noEmit', '-p', 'sdk/tsconfig.commands.json'],
  },
  unused: { finds: 'unused files, exports and packages', command: tool('knip'), args: ['--no-progress'] },
  generated: {
    finds: 'generated files that differ from their source',
    command: script('dev/generate.ts'),
    args: ['--check'],
  },
  words: { finds: 'sentences that are hard to read', command: script('dev/words/main.ts'), args: ['--check'] },
  lint: { finds: 'faults of style and common errors', command: tool('oxlint'), args: [] },
  format: { finds: 'files to format: run npm run format', command: tool('oxfmt'), args: ['--check', '.'] },
  patterns: {
    finds: 'regular expressions that may take long',
    command: script('dev/patterns/main.ts'),
    args: ['--check'],
  },
  advisories: { finds: 'known faults of packages', command: script('dev/packages/advisories.ts'), args: [] },
};

/** @throws Problem when the first argument names no part; the message lists the parts */
export function chosenParts(args: readonly string[], all: Readonly<Record<string, Part>> = parts): Map<string, Part> {
  const [name, ...own] = args;
  if (name === undefined) return new Map(Object.entries(all));
  const part = Object.hasOwn(all, name) ? all[name] : undefined;
  if (part === undefined) {
    const list = Object.entries(all).map(([one, { finds }]) => `  ${one.padEnd(12)}${finds}`);
    throw new Problem([`There is no check ${JSON.stringify(name)}. Checks, and what each finds:`, ...list].join('\n'));
  }
  return new Map([[name, own.length > 0 ? { ...part, args: own } : part]]);
}

/**
 * Prints the output of each part when the part has ended.
 * @returns the parts that failed, in the order of `chosen`
 */
export async function runParts(
  chosen: ReadonlyMap<string, Part>,
  parallel: number,
  print: (line: string) => void,
): Promise<string[]> {
  const waiting = [...chosen];
  const failed = new Set<string>();
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, part] = next;
      const startedAt = performance.now();
      const { code, output } = await run(part);
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      if (code !== 0) failed.add(name);
      print(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)${output === '' ? '' : `\n${output}`}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, waiting.length) }, runNext));
  return [...chosen.keys()].filter((name) => failed.has(name));
}

/** @returns all output, and the exit code, which is 1 if the program could not start */
function run({ command: [program, ...always], args }: Part): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, [...always, ...args], {
      cwd: projectDirectory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', (error) => resolve({ code: 1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString('utf8').trim() }));
  });
}

if (import.meta.main)
  await runScript(async () => {
    const failed = await runParts(chosenParts(process.argv.slice(2)), os.availableParallelism(), say);
    if (failed.length > 0) process.stderr.write(`\nFailed: ${failed.join(', ')}.\n`);
    return failed.length > 0 ? 1 : 0;
  });
