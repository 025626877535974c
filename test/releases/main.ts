/**
 * `npm run release -- VERSION` records a release in test/releases/VERSION/, from the code as it is. releases.test.ts holds later
 * code against it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Problem, runScript, say } from '../../dev/problem.ts';
import { projectDirectory } from '../../dev/project.ts';
import { releasesDirectory } from './archive.ts';

await runScript(async () => {
  const [version = '', ...further] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+$/.test(version) || further.length > 0)
    throw new Problem('Name one version, like this: npm run release -- 1.2.3');
  const manifest = path.join(projectDirectory, 'package.json');
  const { version: own } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  if (version !== own) throw new Problem(`package.json has version ${own}: put ${version} there first.`);
  const directory = path.join(releasesDirectory, version);
  if (existsSync(directory))
    throw new Problem(
      `Release ${version} is recorded already, and stays as it was. Delete its folder to record it again.`,
    );
  const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'bin', 'mocha.js');
  for (const file of ['test/releases/record.ts', 'test/releases/record-ends.ts']) {
    const { status } = spawnSync(process.execPath, [mocha, '--bail', file], {
      cwd: projectDirectory,
      stdio: 'inherit',
      env: { ...process.env, RELEASE_VERSION: version, RELEASE_DIRECTORY: directory },
    });
    if (status === 0) continue;
    await rm(directory, { recursive: true, force: true });
    throw new Problem(`Release ${version} is not recorded: see above.`);
  }
  say(`Recorded in ${path.relative(projectDirectory, directory)}.`);
  return 0;
});
