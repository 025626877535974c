import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

describe('test/run/reporter', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'reporter-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  /** Runs mocha over these tests. Returns the last line of the output, and the exit code. */
  const run = (tests: string) => {
    const file = path.join(directory, 'some.test.cjs');
    writeFileSync(file, tests);
    const mocha = path.join(projectDirectory, 'node_modules', 'mocha', 'bin', 'mocha.js');
    const reporter = path.join(projectDirectory, 'test', 'run', 'reporter.cjs');
    const { stdout, status } = spawnSync(
      process.execPath,
      [mocha, '--no-config', '--exit', '--reporter', reporter, file],
      {
        cwd: projectDirectory,
        encoding: 'utf8',
        env: { ...process.env, TEST_RESULTS: '', TEST_TIMINGS: '' },
      },
    );
    const lines = stdout.split('\n');
    return { last: lines.at(-2), end: lines.at(-1), status, stdout };
  };
  const pass = `it('a', () => {});`;
  const fail = `it('b', () => { throw new Error('no'); });`;

  it('ends with a line that contains only `N passed, N failed`', () => {
    expect(run(pass + pass)).to.deep.include({ last: '2 passed, 0 failed', end: '', status: 0 });
  });

  it('counts failed tests and failed hooks in the last line and in the exit code', () => {
    expect(run(pass + fail)).to.deep.include({ last: '1 passed, 1 failed', end: '', status: 1 });
    expect(run(`before(() => { throw new Error('no'); });${pass}`)).to.deep.include({
      last: '0 passed, 1 failed',
      end: '',
      status: 1,
    });
  });

  it('adds the number of skipped tests to the last line if a test was skipped', () => {
    expect(run(`${pass}it.skip('c', () => {});`)).to.deep.include({
      last: '1 passed, 0 failed, 1 skipped',
      end: '',
      status: 0,
    });
  });

  it('prints each test that was repeated, and makes the run fail if more than three tests were repeated', () => {
    const repeated = (title: string) =>
      `let n_${title} = 0; it('${title}', function () { this.retries(1); if (n_${title}++ === 0) throw new Error('now and then'); });`;
    const three = ['a', 'b', 'c'].map(repeated).join('');
    expect(run(three)).to.deep.include({ last: '3 passed, 0 failed', status: 0 });
    expect(run(three).stdout).to.include('Repeated: a: now and then');
    expect(run(three + repeated('d'))).to.deep.include({ last: '4 passed, 1 failed', status: 1 });
  });
});
