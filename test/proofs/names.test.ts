import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { projectDirectory } from '../../dev/project.ts';
import { proofs, proofTable } from './names.ts';

function namesIn(script: string): string[] {
  const text = readFileSync(path.join(projectDirectory, script), 'utf8');
  return [...text.matchAll(/^ {2}(\w+): (?:\w+Faults|verify\w+),$/gm)].map(([, name = '']) => name);
}

describe('npm run prove', () => {
  for (const [name, { script, parts }] of Object.entries(proofs))
    it(`lists the parts of ${name}`, () => expect(parts).to.have.members(namesIn(script)));

  it('prints a line for each proof, and its parts', () => {
    const lines = proofTable().trimEnd().split('\n');
    const commands = lines.flatMap((line) => /^npm run prove -- (\w+)/.exec(line)?.[1] ?? []);
    expect(commands).to.deep.equal(Object.keys(proofs));
    expect(lines).to.include(
      '    PART: build, chart, cluster, connections, export, image, keys, listen, observe, sdk, upgrade',
    );
  });
});
