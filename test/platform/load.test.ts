import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory, typescriptArguments } from '../../dev/project.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('the import platform/load', () => {
  it('is the first import in every script of package.json that runs TypeScript', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(projectDirectory, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const started = Object.values(scripts).filter((script) => /\.ts\b/.test(script));
    expect(started).to.have.length.above(5);
    for (const script of started)
      expect(script).to.match(/^node dev\/bootstrap\.mjs && exec node --import \.\/platform\/load\.mjs \S+\.ts$/);
  });

  const run = (version: string, args: readonly string[]) => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${older}`, ...typescriptArguments, ...args],
      { encoding: 'utf8', env: {} },
    );
    return { status, stdout, stderr };
  };
  const program = ['--eval', 'process.stdout.write("runs")'];

  it('ends a program under an older Node', async () => {
    await eachCase(['20.20.2', '22.23.3', '24.1.0'], (version) =>
      expect(run(version, program)).to.deep.equal({
        status: 1,
        stdout: '',
        stderr: `Node ${version} is too old: this needs Node 24.2 or newer. npm installs one: node_modules/.bin/node.\n`,
      }),
    );
  });

  it('starts a program under Node 24.2 and later', async () => {
    await eachCase(['24.2.0', '26.0.0'], (version) =>
      expect(run(version, program)).to.deep.equal({ status: 0, stdout: 'runs', stderr: '' }),
    );
  });
});
