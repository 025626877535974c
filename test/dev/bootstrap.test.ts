import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

describe('dev/bootstrap', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'bootstrap-'));
    mkdirSync(path.join(directory, 'dev'));
    mkdirSync(path.join(directory, 'bin'));
    copyFileSync(path.join(projectDirectory, 'dev', 'bootstrap.mjs'), path.join(directory, 'dev', 'bootstrap.mjs'));
    writeFileSync(path.join(directory, 'package-lock.json'), '{}');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  /** Runs bootstrap with an npm that only prints its arguments. */
  const run = (npmExitCode = 0) => {
    const npm = path.join(directory, 'bin', 'npm');
    writeFileSync(npm, `#!/bin/sh\necho "npm $1 in $PWD"\nexit ${npmExitCode}\n`);
    chmodSync(npm, 0o755);
    const script = path.join(directory, 'dev', 'bootstrap.mjs');
    const { stdout, stderr, status } = spawnSync(process.execPath, [script], {
      encoding: 'utf8',
      env: { PATH: `${path.dirname(npm)}:/usr/bin:/bin` },
    });
    return { stdout, stderr, status };
  };
  const install = (secondsAfterLock: number) => {
    mkdirSync(path.join(directory, 'node_modules'));
    const marker = path.join(directory, 'node_modules', '.package-lock.json');
    writeFileSync(marker, '{}');
    const at = Date.now() / 1000 + secondsAfterLock;
    utimesSync(marker, at, at);
  };

  it('runs npm ci if node_modules is missing or incomplete', () => {
    const expected = `Installing packages with npm ci: node_modules is missing.\nnpm ci in ${directory}\nPackages are installed.\n\n`;
    expect(run()).to.deep.equal({ stdout: expected, stderr: '', status: 0 });
    mkdirSync(path.join(directory, 'node_modules'));
    expect(run().stdout).to.equal(expected);
  });

  it('runs npm ci if the lock file is newer than node_modules', () => {
    install(-60);
    expect(run().stdout).to.contain('npm ci: package-lock.json is newer than node_modules.');
  });

  it('does nothing and prints nothing if node_modules is newer', () => {
    install(60);
    expect(run()).to.deep.equal({ stdout: '', stderr: '', status: 0 });
  });

  it('uses the npm on the PATH if the caller is another package manager, such as yarn', () => {
    const script = path.join(directory, 'dev', 'bootstrap.mjs');
    run(); // makes the npm
    const { stdout } = spawnSync(process.execPath, [script], {
      encoding: 'utf8',
      env: {
        PATH: `${path.join(directory, 'bin')}:/usr/bin:/bin`,
        npm_execpath: '/usr/lib/node_modules/yarn/bin/yarn.js',
      },
    });
    expect(stdout).to.contain(`npm ci in ${directory}\n`);
  });

  it('contains only syntax that an old Node can parse, so that it can refuse an old Node', () => {
    const text = readFileSync(path.join(projectDirectory, 'dev', 'bootstrap.mjs'), 'utf8');
    expect(text, 'syntax that Node 12 does not know').not.to.match(
      /\?\?|\?\.[\w[(]|\?\?=|import\(|replaceAll|\bawait\b/,
    );
    expect(text).to.contain('is too old: this needs Node');
  });

  it('prints the remedy if npm fails', () => {
    const { stderr, status } = run(7);
    expect(status).to.equal(1);
    expect(stderr).to.contain('npm ci failed (exit code 7)').and.to.contain('npm config set registry');
  });
});
