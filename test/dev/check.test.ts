import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { chosenParts, runParts, type Part } from '../../dev/check.ts';
import { Problem } from '../../dev/problem.ts';

/** Makes a part of the check that runs this JavaScript. */
const part = (code: string): Part => ({ finds: 'nothing', command: [process.execPath, '-e'], args: [code] });

async function printedBy(parts: Readonly<Record<string, Part>>, parallel: number) {
  const printed: string[] = [];
  const failed = await runParts(new Map(Object.entries(parts)), parallel, (line) => printed.push(line));
  return { failed, printed: printed.map((line) => line.replaceAll(/\d+\.\d s/g, 'N s')) };
}

describe('npm run check', () => {
  it('runs all parts although one fails, and names the failed part', async () => {
    const { failed, printed } = await printedBy(
      {
        first: part('process.exitCode = 3; console.error("a fault")'),
        second: part('console.log("all is well")'),
      },
      1,
    );
    expect(failed).to.deep.equal(['first']);
    expect(printed).to.deep.equal(['FAILED first (N s)\na fault', 'ok     second (N s)\nall is well']);
  });

  it('reports a part as failed if its program does not exist', async () => {
    const { failed, printed } = await printedBy(
      { missing: { finds: 'nothing', command: ['/no/such/program'], args: [] } },
      2,
    );
    expect(failed).to.deep.equal(['missing']);
    expect(printed).to.deep.equal(['FAILED missing (N s)\nspawn /no/such/program ENOENT']);
  });

  it('reports a part as failed if a signal ended it', async () => {
    const { failed } = await printedBy({ killed: part('process.kill(process.pid, "SIGKILL")') }, 1);
    expect(failed).to.deep.equal(['killed']);
  });

  it('runs as many parts at the same time as the caller allows', async () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'check-'));
    // Each part ends only when all three have started.
    const meet = `const fs = require('node:fs'); fs.mkdtempSync(${JSON.stringify(`${directory}/`)});
      setInterval(() => fs.readdirSync(${JSON.stringify(directory)}).length === 3 && process.exit(0), 10)`;
    const { failed } = await printedBy({ a: part(meet), b: part(meet), c: part(meet) }, 3);
    rmSync(directory, { recursive: true });
    expect(failed).to.deep.equal([]);
  });
});

describe('the arguments of npm run check', () => {
  const all = { words: part('1'), types: part('2') };

  it('choose all parts if there are none', () => {
    expect([...chosenParts([], all).keys()]).to.deep.equal(['words', 'types']);
  });

  it('choose one part by its name', () => {
    expect([...chosenParts(['types'], all)]).to.deep.equal([['types', all.types]]);
  });

  it('replace the usual arguments of a part if they follow the part’s name', () => {
    expect(chosenParts(['words', 'domain/mail'], all).get('words')?.args).to.deep.equal(['domain/mail']);
  });

  it('are refused with a list of the parts if the first argument is not a part', () => {
    expect(() => chosenParts(['constructor'], all)).to.throw(
      Problem,
      'There is no check "constructor". Checks, and what each finds:\n  words       nothing\n  types       nothing',
    );
  });
});
