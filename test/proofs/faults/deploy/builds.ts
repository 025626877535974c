/** Makes two builds of this checkout with the same code and different build ids. */
import { readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buildInto } from '../../../../dev/build.ts';
import { startChild, type Child } from '../../../../dev/stack/children.ts';
import { projectDirectory } from '../../../../dev/project.ts';
import type { Build } from '../../../../platform/infra/build.ts';

export const buildNames = ['port', 'starboard'] as const;
export type BuildName = (typeof buildNames)[number];

export interface InstalledBuild {
  readonly name: BuildName;
  readonly buildId: string;
  readonly directory: string;
  run(command: string, env: Readonly<Record<string, string>>, args?: readonly string[]): Child;
}

/** @param directory an empty directory for both builds and their logs */
export async function installBuilds(directory: string): Promise<Record<BuildName, InstalledBuild>> {
  const [first, second] = buildNames;
  await mkdir(path.join(directory, first), { recursive: true });
  const { version, buildId } = await buildInto(path.join(directory, first, 'dist'));
  await cp(path.join(directory, first), path.join(directory, second), { recursive: true });
  const other: Build = { version, buildId: buildId.split('').toReversed().join('') };
  await writeFile(path.join(directory, second, 'dist', 'build.json'), JSON.stringify(other));
  return { port: await installed(directory, 'port'), starboard: await installed(directory, 'starboard') };
}

/** An installation consists of the build, package.json and the packages. */
async function installed(directory: string, name: BuildName): Promise<InstalledBuild> {
  const installation = path.join(directory, name);
  await cp(path.join(projectDirectory, 'package.json'), path.join(installation, 'package.json'));
  await symlink(path.join(projectDirectory, 'node_modules'), path.join(installation, 'node_modules'));
  const { buildId } = JSON.parse(readFileSync(path.join(installation, 'dist', 'build.json'), 'utf8')) as Build;
  let runs = 0;
  return {
    name,
    buildId,
    directory: installation,
    run: (command, env, args = []) =>
      startChild({
        name: `${command} of ${name}`,
        command: process.execPath,
        args: [path.join('dist', 'main.js'), command, ...args],
        env,
        cwd: installation,
        logFile: path.join(directory, 'logs', `${name}-${command}-${++runs}.log`),
      }),
  };
}
