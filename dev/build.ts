/**
 * `npm run build` creates dist/, the service as JavaScript. `node dist/main.js` needs only the dependencies of package.json. Each source
 * file becomes one file, because threads, assets and instrumentation are found by their path.
 */
import { createHash } from 'node:crypto';
import fs, { readFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import type { Build } from '../platform/infra/build.ts';
import { writeWorkflowBundle } from '../worker/temporal/workflow-bundle.ts';
import { runCommand } from './stack/commands.ts';
import { Problem, runScript, say } from './problem.ts';
import { projectDirectory } from './project.ts';

/** The service reads these files by their path at run time. */
export const assets = [
  'platform/start.mjs',
  'platform/infra/images/*.mjs',
  'api/pages/*.css',
  'contract/generated/openapi.json',
  'contract/reference/*',
] as const;

/** This file is written last. If it exists, the build is complete. */
const recordFile = 'build.json';

/**
 * @param directory removed first, if it exists
 * @throws Problem when the compiler finds errors; the message has them
 */
export async function buildInto(directory: string): Promise<Build & { files: number }> {
  await rm(directory, { recursive: true, force: true });
  await compileInto(directory);
  for (const asset of assetFiles()) {
    const target = path.join(directory, asset);
    await mkdir(path.dirname(target), { recursive: true });
    await cp(path.join(projectDirectory, asset), target);
  }
  await writeWorkflowBundle(path.join(directory, 'workflow-bundle.js'), new DefaultLogger('ERROR'));
  const { version } = JSON.parse(readFileSync(path.join(projectDirectory, 'package.json'), 'utf8')) as Build;
  const record: Build = { version, buildId: buildIdOf(directory, path.join(projectDirectory, 'package-lock.json')) };
  await writeFile(path.join(directory, recordFile), `${JSON.stringify(record, undefined, 2)}\n`);
  return { ...record, files: filesIn(directory).length };
}

export function assetFiles(): string[] {
  return assets.flatMap((pattern) => fs.globSync(pattern, { cwd: projectDirectory })).toSorted();
}

/**
 * @param lockFile package-lock.json, which has a hash of every dependency
 * @returns a hash of the names and contents of all files, as 16 hexadecimal digits; times and modes do not count
 */
export function buildIdOf(directory: string, lockFile: string): string {
  const hash = createHash('sha256');
  for (const file of filesIn(directory).filter((name) => name !== recordFile))
    hash.update(`${file}\0${digestOf(path.join(directory, file))}\n`);
  return hash.update(digestOf(lockFile)).digest('hex').slice(0, 16);
}

const digestOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** The order is the same on every machine. */
function filesIn(directory: string): string[] {
  return fs
    .globSync('**', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .toSorted();
}

async function compileInto(directory: string): Promise<void> {
  const compiler = path.join(projectDirectory, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', path.join(projectDirectory, 'tsconfig.build.json'), '--outDir', directory];
  await runCommand(process.execPath, args).catch((error: unknown) => {
    throw new Problem(`The service does not compile: ${error instanceof Error ? error.message : String(error)}`);
  });
}

if (import.meta.main)
  await runScript(async () => {
    const { files, version, buildId } = await buildInto(path.join(projectDirectory, 'dist'));
    say(`Built dist/: ${files} files, version ${version}, build id ${buildId}`);
    return 0;
  });
