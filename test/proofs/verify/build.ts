/**
 * Verifies the build. Two builds in two directories must be identical. The tour (dev/tour/) must pass on a build with only the production
 * dependencies.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { buildInto } from '../../../dev/build.ts';
import { runCommand } from '../../../dev/stack/commands.ts';
import { Problem } from '../../../dev/problem.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { progress } from '../faults/progress.ts';
import type { Site } from './site.ts';
import { playTourOn } from './tour.ts';

const npmQuietly = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'];

export async function verifyBuild(site: Site): Promise<string> {
  const here = await buildInto(path.join(site.directory, 'dist-here'));
  progress(`built here: ${here.buildId}`);

  const checkout = path.join(site.directory, 'checkout');
  await copyCheckout(checkout);
  await runCommand('npm', ['ci', ...npmQuietly], { cwd: checkout });
  const output = await runCommand('npm', ['run', '--silent', 'build'], { cwd: checkout });
  progress(`in a fresh checkout: ${output.trim()}`);
  const line = `Built dist/: ${here.files} files, version ${here.version}, build id ${here.buildId}\n`;
  if (output !== line) throw new Problem(`Two builds differ. Here: ${line}There: ${output}`);

  const service = path.join(site.directory, 'service');
  await installService(service, path.join(checkout, 'dist'));
  progress('installed without devDependencies, and without typescript');
  await playTourOn(site, (command) => ({
    command: process.execPath,
    args: [path.join('dist', 'main.js'), command],
    cwd: service,
  }));
  return `build verified: ${here.files} files, build id ${here.buildId}, tour passed`;
}

/** Copies the current files of the project: the files that git tracks, and the new files that git does not ignore. */
async function copyCheckout(target: string): Promise<void> {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: projectDirectory,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const file of list.split('\0').filter((name) => name !== '' && fs.existsSync(path.join(projectDirectory, name))))
    await cp(path.join(projectDirectory, file), path.join(target, file));
}

/** Installs the contents of an image: the build, the two files that npm reads, and the dependencies. */
async function installService(directory: string, dist: string): Promise<void> {
  await mkdir(directory);
  await cp(dist, path.join(directory, 'dist'), { recursive: true });
  for (const file of ['package.json', 'package-lock.json'])
    await cp(path.join(projectDirectory, file), path.join(directory, file));
  await runCommand('npm', ['ci', '--omit=dev', ...npmQuietly], { cwd: directory });
  // An indirect dependency installs typescript. Our code must not load typescript.
  await rm(path.join(directory, 'node_modules', 'typescript'), { recursive: true, force: true });
  const sources = fs.globSync('dist/**/*.ts', { cwd: directory });
  if (sources.length > 0) throw new Problem(`The build has sources: ${sources.join(', ')}`);
}
