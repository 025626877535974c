/**
 * `npm run release -- VERSION` makes a release of the code as it is: records it in test/releases/VERSION/, holds the code against the
 * recording, and gives package.json, its lock file, the chart and the changelog the version. Nothing is written unless all of it goes.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Problem, runScript, say } from '../../dev/problem.ts';
import { projectDirectory } from '../../dev/project.ts';
import { announcement } from './announcement.ts';
import { releasesDirectory } from './archive.ts';

await runScript(async () => {
  const [version = '', ...further] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+$/.test(version) || further.length > 0)
    throw new Problem('Name one version, like this: npm run release -- 1.2.3');
  const changes = announcement(projectDirectory, version, new Date().toISOString().slice(0, 10));
  const directory = path.join(releasesDirectory, version);
  if (existsSync(directory))
    throw new Problem(
      `Release ${version} is recorded already, and stays as it was. Delete its folder to record it again.`,
    );
  const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'bin', 'mocha.js');
  for (const file of ['record.ts', 'record-ends.ts', 'releases.test.ts'].map((name) => `test/releases/${name}`)) {
    const { status } = spawnSync(process.execPath, [mocha, '--bail', file], {
      cwd: projectDirectory,
      stdio: 'inherit',
      env: { ...process.env, RELEASE_VERSION: version, RELEASE_DIRECTORY: directory },
    });
    if (status === 0) continue;
    await rm(directory, { recursive: true, force: true });
    throw new Problem(`Release ${version} is not recorded: see above.`);
  }
  for (const { file, text } of changes) writeFileSync(path.join(projectDirectory, file), text);
  say(`Release ${version}: recorded in ${path.relative(projectDirectory, directory)}.`);
  say(`Changed: ${changes.map(({ file }) => file).join(', ')}.`);
  say(`Read release.json and CHANGELOG.md, commit all of it, and tag the commit v${version}.`);
  return 0;
});
