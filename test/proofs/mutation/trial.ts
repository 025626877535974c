/**
 * Runs test files against one changed file. statement-runs.ts starts a process with this script for each change. The exit codes:
 * - 0: no test failed
 * - 1: a test failed
 * - 2: the files did not load
 * - 3: Postgres could not parse the changed statement
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Mocha from 'mocha';
import { projectDirectory } from '../../../dev/project.ts';
import type { Change } from './statement-changes.ts';

export interface Trial {
  tests: readonly string[];
  /** Without a change the tests must pass. */
  changed?: { file: string; change: Change };
}

const { tests, changed } = JSON.parse(process.env['MUTATION_TRIAL'] ?? '') as Trial;
if (changed) {
  const { file, change } = changed;
  const url = pathToFileURL(path.join(projectDirectory, file)).href;
  registerHooks({
    load(loadedUrl, context, nextLoad) {
      const module = nextLoad(loadedUrl, context);
      if (loadedUrl !== url) return module;
      const text = readFileSync(new URL(url), 'utf8');
      return { ...module, source: text.slice(0, change.start) + change.text + text.slice(change.end) };
    },
  });
}

const { mochaHooks } = await import('../../run/hooks.ts');
// If a test waits forever because of the change, the test fails at this limit, before the whole trial counts as hung.
const { beforeEach: _moreTime, ...rootHooks } = mochaHooks;
const mocha = new Mocha({ reporter: 'min', bail: true, timeout: 20_000, rootHooks });
for (const file of tests) mocha.addFile(path.join(projectDirectory, file));
let code = 0;
try {
  await mocha.loadFilesAsync();
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('fail', (test, error: Error & { code?: unknown }) => {
      // The error codes of Postgres for statements that it cannot parse, or that name unknown objects.
      code = Math.max(code, ['42601', '42703', '42P01', '42804', '42883'].includes(String(error.code)) ? 3 : 1);
      process.stdout.write(`${test.fullTitle()}: ${error.message}\n`);
    });
  });
} catch (error) {
  process.stdout.write(`${String(error)}\n`);
  code = 2;
}
process.exit(code);
