/**
 * `npm run release -- VERSION` makes a release of the current code. The command records the release in test/releases/VERSION/, and tests
 * the code against the recording. Then it writes the version into package.json, the lock file, the chart and the changelog. If a step
 * fails, or after Ctrl-C, no change remains.
 */
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { ensureComponents } from '../../dev/components.ts';
import { startChild } from '../../dev/stack/children.ts';
import { interruption } from '../../dev/interruption.ts';
import { Problem, runScript, say } from '../../dev/problem.ts';
import { projectDirectory, typescriptArguments } from '../../dev/project.ts';
import { announcement } from './announcement.ts';
import { releasesDirectory } from './archive.ts';

await runScript(async () => {
  const [version = '', ...further] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+$/.test(version) || further.length > 0)
    throw new Problem('Name one version, like this: npm run release -- 1.2.3');
  const changes = announcement(projectDirectory, version, new Date().toISOString().slice(0, 10));
  await ensureComponents();
  const directory = path.join(releasesDirectory, version);
  if (existsSync(directory))
    throw new Problem(
      `Release ${version} is recorded already, and stays as it was. Delete its folder to record it again.`,
    );
  // The tests run in this child process. The command `mocha` would start another child for the tests, which would continue after the
  // command is killed.
  const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'lib', 'cli', 'cli.js');
  const interrupted = interruption();
  for (const file of ['record.ts', 'record-ends.ts', 'releases.test.ts'].map((name) => `test/releases/${name}`)) {
    const run = startChild({
      name: file,
      command: process.execPath,
      args: [...typescriptArguments, mocha, '--bail', file],
      cwd: projectDirectory,
      env: { ...process.env, RELEASE_VERSION: version, RELEASE_DIRECTORY: directory },
      logFile: undefined,
      attached: 'terminal',
    });
    const signal = await Promise.race([run.exited.then(() => undefined), interrupted]);
    await run.stop();
    if ((await run.exited).code === 0 && signal === undefined) continue;
    await rm(directory, { recursive: true, force: true });
    throw new Problem(
      `Release ${version} is not recorded: ${signal === undefined ? 'see above' : `it got ${signal}`}.`,
    );
  }
  for (const { file, text } of changes) writeFileSync(path.join(projectDirectory, file), text);
  // The lock file has a new version of the project, but the same packages, so dev/bootstrap.mjs need not install the packages again.
  utimesSync(path.join(projectDirectory, 'node_modules', '.package-lock.json'), new Date(), new Date());
  say(`Release ${version}: recorded in ${path.relative(projectDirectory, directory)}.`);
  say(`Changed: ${changes.map(({ file }) => file).join(', ')}.`);
  say(`Read release.json and CHANGELOG.md, commit all of it, and tag the commit v${version}.`);
  return 0;
});
