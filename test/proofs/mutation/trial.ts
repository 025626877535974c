/**
 * Runs test files against one changed file, in a process of its own that statement-runs.ts starts. It exits with 0 where no test
 * noticed, 1 where one did, 3 where Postgres could not even read the changed statement, 2 where the files did not load.
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
  /** Without one the tests must pass. */
  changed?: { file: string; change: Change };
}

const { tests, changed } = JSON.parse(process.env['MUTATION_TRIAL'] ?? '') as Trial;
if (changed) {
  const { file, change } = changed;
  const url = pathToFileURL(path.join(projectDirectory, file)).href;
  registerHooks({
    load(loaded, context, nextLoad) {
      const module = nextLoad(loaded, context);
      if (loaded !== url) return module;
      const text = readFileSync(new URL(url), 'utf8');
      return { ...module, source: text.slice(0, change.start) + change.text + text.slice(change.end) };
    },
  });
}

const { mochaHooks } = await import('../../run/hooks.ts');
// A test that waits for what the change keeps from coming fails by itself, before the whole trial counts as one that hangs.
const { beforeEach: _moreTime, ...rootHooks } = mochaHooks;
const mocha = new Mocha({ reporter: 'min', bail: true, timeout: 20_000, rootHooks });
for (const file of tests) mocha.addFile(path.join(projectDirectory, file));
let code = 0;
try {
  await mocha.loadFilesAsync();
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('fail', (test, error: Error & { code?: unknown }) => {
      // What Postgres answers to a statement that it cannot read, or that names what is not there.
      code = Math.max(code, ['42601', '42703', '42P01', '42804', '42883'].includes(String(error.code)) ? 3 : 1);
      process.stdout.write(`${test.fullTitle()}: ${error.message}\n`);
    });
  });
} catch (error) {
  process.stdout.write(`${String(error)}\n`);
  code = 2;
}
process.exit(code);
