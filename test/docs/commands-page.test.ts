/** Tests docs/reference/commands.md and README.md: the listed commands exist, and the page lists every command. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { proofs } from '../proofs/names.ts';

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const commands = Object.keys(scripts);
const page = read('docs/reference/commands.md');

/** Each of these two functions finds commands in a text: the names after `npm` or `npm run`, or the names after `npm run prove --`. */
const scriptsIn = (text: string) => [...text.matchAll(/`npm (?:run )?([a-z][a-z:-]*)/g)].map(([, name]) => name);
const proofsIn = (text: string) => [...text.matchAll(/npm run prove -- ([a-z]+)/g)].map(([, name]) => name);

describe('pages about commands', () => {
  it('list each of the ten scripts of package.json', () => {
    expect(commands).to.have.length(10);
    expect(scriptsIn(page)).to.include.members(commands);
  });

  it('list every proof and every part of a proof', () => {
    const rows = Object.entries(proofs).flatMap(([name, { parts }]) =>
      parts.length > 0 ? parts.map((part) => `prove -- ${name} ${part}\``) : [`prove -- ${name}`],
    );
    expect(rows.filter((row) => !page.includes(row))).to.deep.equal([]);
  });

  for (const file of [
    'docs/reference/commands.md',
    'README.md',
    'CONTRIBUTING.md',
    'docs/how-to/test.md',
    'test/README.md',
  ])
    it(`name only existing commands: ${file}`, () => {
      expect(scriptsIn(read(file)).filter((name) => name === undefined || !Object.hasOwn(scripts, name))).to.deep.equal(
        [],
      );
      expect(proofsIn(read(file)).filter((name) => name === undefined || !Object.hasOwn(proofs, name))).to.deep.equal(
        [],
      );
    });
});

describe('README.md', () => {
  it('has at most 120 lines and a table of at most ten commands', () => {
    const lines = read('README.md').split('\n');
    expect(lines.length - 1).to.be.at.most(120);
    expect(lines.filter((line) => line.startsWith('| `npm '))).to.have.length.within(1, 10);
  });
});
