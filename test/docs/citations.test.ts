/** Tests citations of rules, such as `DEL-8`. Each cited rule is in docs/reference. Tests cite each rule of delivery, signatures,
 * sessions and the engine. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { projectDirectory } from '../../dev/project.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const pages = [
  ...globSync('docs/reference/rules/*.md', { cwd: projectDirectory }),
  'docs/reference/engine-rules.md',
  'docs/reference/decisions.md',
];
const headings = pages.flatMap((file) => [...read(file).matchAll(/^### ([A-Z]+-\d+) /gm)].map(([, id = '']) => id));
const rules = new Set(headings);
const prefixes = [...new Set(headings.map((id) => id.replace(/-\d+$/, '')))];

/** "DEL-8", and "DEL-1 to DEL-8" for all from the one to the other. */
const citation = new RegExp(String.raw`\b(${prefixes.join('|')})-(\d+)(?: to \1-(\d+))?\b`, 'g');

function citedIn(file: string): string[] {
  return [...read(file).matchAll(citation)].flatMap(([, prefix, from = '', to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => `${prefix}-${Number(from) + at}`),
  );
}

const files = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.md', '*.yaml', '*.json'],
  {
    cwd: projectDirectory,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('test/replay/') && !file.includes('generated/'));
const citedBy = new Map(files.map((file) => [file, citedIn(file)]));

describe('citations of rules', () => {
  it('are unambiguous, because each rule has exactly one heading', () => {
    expect(headings.filter((id, at) => headings.indexOf(id) !== at)).to.deep.equal([]);
    expect(headings.length).to.be.above(300);
  });

  it('refer only to existing rules', () => {
    const unknown = [...citedBy].flatMap(([file, ids]) =>
      ids.filter((id) => !rules.has(id)).map((id) => `${file}: ${id}`),
    );
    expect(unknown).to.deep.equal([]);
  });

  for (const prefix of ['DEL', 'SIG', 'AUTH', 'ENG']) {
    it(`name each ${prefix} rule in at least one test`, () => {
      const tested = new Set([...citedBy].flatMap(([file, ids]) => (file.endsWith('.test.ts') ? ids : [])));
      const missing = [...rules].filter((id) => id.startsWith(`${prefix}-`) && !tested.has(id));
      expect(missing).to.deep.equal([]);
    });
  }
});
