import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

const textOf = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');

/** The files that package.json's scripts start, and those that do something when they are started. */
function entryPoints(): string[] {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const started = Object.values(scripts).flatMap((script) =>
    [...script.matchAll(/tsx (\S+\.ts)/g)].map(([, file]) => file),
  );
  const places = '{api,worker,entities,dev,bench,test}/**/*.ts';
  const own = globSync(places, { cwd: projectDirectory }).filter((file) =>
    /^if \(import\.meta\.main\)/m.test(textOf(file)),
  );
  return [...new Set([...started.filter((file) => file !== undefined), ...own, 'dev/serve.ts'])].toSorted();
}

describe('platform/core/node-version', () => {
  it('is imported by every entry point: an older Node says what is missing', () => {
    expect(entryPoints()).to.include.members([
      'api/server.ts',
      'worker/main.ts',
      'entities/migrate.ts',
      'dev/start.ts',
    ]);
    for (const file of entryPoints()) {
      // dev/problem.ts, which runs the scripts of dev/, imports it for them.
      expect(textOf(file), file).to.match(/platform\/core\/node-version\.ts'|from '\.\/problem\.ts'/);
    }
  });
});
