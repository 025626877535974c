/** Compares the committed files of contract/generated with the contract from which they are generated. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { driftedFiles, generatedFiles } from '../../contract/generate.ts';
import { contractText } from '../../contract/contract.ts';

const committed = fileURLToPath(new URL('../../contract/generated', import.meta.url));

describe('contract/generated', function () {
  this.timeout(120_000);
  let files: Awaited<ReturnType<typeof generatedFiles>>;

  before(async () => {
    files = await generatedFiles();
  });

  it('matches the contract', () => {
    expect(driftedFiles(files)).to.deep.equal([]);
  });

  it('has a drift check that names edited and missing files', () => {
    const copy = mkdtempSync(join(tmpdir(), 'generated-'));
    try {
      expect(driftedFiles(files, undefined, copy)).to.deep.equal(['events.md']);
      cpSync(committed, copy, { recursive: true });
      writeFileSync(join(copy, 'types.ts'), `${readFileSync(join(copy, 'types.ts'), 'utf8')}\n`);
      rmSync(join(copy, 'openapi.json'));
      expect(driftedFiles(files, copy)).to.deep.equal(['openapi.json', 'types.ts']);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it('contains no file path of the machine that generated its files', () => {
    expect(contractText).not.to.match(/\/(?:root|home|tmp|work)\//);
  });
});
