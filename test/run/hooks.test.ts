import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory, typescriptArguments } from '../../dev/project.ts';

describe('test/run/hooks', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'hooks-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  /** Runs mocha over these tests with the hooks of test/run/hooks.ts, but without a stack. Returns the output of mocha. */
  const run = (tests: string, further: readonly string[] = []) => {
    const file = path.join(directory, 'some.test.mjs');
    writeFileSync(file, tests);
    const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'bin', 'mocha.js');
    const options = ['--no-config', '--exit', '--require', path.join(projectDirectory, 'test', 'run', 'hooks.ts')];
    const flags = typescriptArguments;
    return spawnSync(process.execPath, [...flags, mocha, ...options, ...further, file], {
      cwd: projectDirectory,
      encoding: 'utf8',
      env: { ...process.env, TEST_UNIT: '1', TEST_RUN_URL: '', TEST_TIMINGS: '' },
    });
  };

  it('makes a file fail if it has a hook outside of a describe, and names the hook', () => {
    const { stdout, status } = run(`beforeEach('make a club', () => {}); it('passes', () => {});`);
    expect(status).to.equal(1);
    expect(stdout).to.include('Move these hooks of').and.to.include('some.test.mjs into a describe: ');
    expect(stdout).to.include('make a club');
  });

  it('prints the cause of a failure, even if the test ran in a child process', () => {
    const failing = `it('fails', () => { throw new Error('which case', { cause: new Error('why it failed') }); });`;
    for (const further of [[], ['--parallel', '--jobs', '2']]) {
      const { stdout } = run(failing, further);
      expect(stdout).to.include('Caused by Error: why it failed');
    }
  });

  it('lets a file pass if all its hooks are inside a describe', () => {
    const { stdout, status } = run(`describe('a', () => { beforeEach(() => {}); it('passes', () => {}); });`);
    expect([status, stdout.includes('1 passing')]).to.deep.equal([0, true]);
  });

  it('makes a unit test fail if it requests the stack', () => {
    const stack = path.join(projectDirectory, 'test', 'toolkit', 'stack', 'stack.ts');
    const { stdout } = run(`import { testStack } from '${stack}'; it('asks', () => testStack());`);
    expect(stdout).to.include('This run of unit tests has no stack');
  });
});
