import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory, typescriptArguments } from '../../dev/project.ts';

describe('platform/load', () => {
  it('comes first in every script of package.json that runs TypeScript', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(projectDirectory, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const started = Object.values(scripts).filter((script) => /\.ts\b/.test(script));
    expect(started).to.have.length.above(5);
    for (const script of started) expect(script).to.match(/^node --import \.\/platform\/load\.mjs \S+\.ts\b/);
  });

  it('ends a program that an older Node runs, and says which one it needs', () => {
    const older = `import module, { syncBuiltinESMExports } from 'node:module'; delete module.registerHooks;`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${older}`, ...typescriptArguments, '--eval', 'console.log("runs")'],
      { encoding: 'utf8' },
    );
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(stderr).to.contain('is too old: this needs Node 24.2 or newer');
  });
});
