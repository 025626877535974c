/** Tests that imports between folders go in one direction. dev/generators/import-graph.ts defines the order of the folders. */
import { expect } from 'chai';
import { arrowsOf, importsOf, mutualPairs, nameOf, productImports, unitOf } from '../dev/generators/import-graph.ts';
import { projectDirectory } from '../dev/project.ts';

describe('imports between folders', () => {
  it('follow the order of folders', () => {
    const backward = arrowsOf(productImports(projectDirectory)).filter(({ isBackward }) => isBackward);
    const messages = backward.map((arrow) =>
      [nameOf(arrow), ...arrow.imports.map(({ file, target }) => `  ${file} imports ${target}`)].join('\n'),
    );
    expect(backward, messages.join('\n')).to.have.length(0);
  });
});

describe('the import graph', () => {
  it('contains imports of every form: multi-line, re-export, type, side effect and import()', () => {
    const text = [
      "import path from 'node:path';",
      "import {\n  one,\n  type Two,\n} from './one.ts';",
      "import type { Three } from '../three.ts';",
      "export { four } from '../../platform/core/four.ts';",
      "import './five.ts';",
      "type Six = import('./six.ts').Six;",
      "const sentence = 'import a from ./b.ts';",
    ].join('\n');
    expect(
      importsOf('domain/mail/x.ts', text).map(({ target, isType }) => `${target}${isType ? ' (type)' : ''}`),
    ).to.deep.equal([
      'domain/mail/one.ts',
      'domain/three.ts (type)',
      'platform/core/four.ts',
      'domain/mail/five.ts',
      'domain/mail/six.ts',
    ]);
  });

  const imported = (file: string, target: string, isType = false) => ({ file, target, isType });

  it('marks an import as backward if the imported folder is on the same level or a higher one', () => {
    const arrows = arrowsOf([
      imported('domain/identity/a.ts', 'domain/mail/b.ts'),
      imported('domain/mail/b.ts', 'domain/identity/a.ts'),
      imported('domain/mail/b.ts', 'domain/billing/c.ts'),
      imported('domain/mail/b.ts', 'domain/mail/c.ts'),
    ]);
    expect(arrows.filter(({ isBackward }) => isBackward).map(nameOf)).to.deep.equal([
      'domain/mail → domain/billing',
      'domain/mail → domain/identity',
    ]);
    expect(mutualPairs(arrows)).to.deep.equal(['domain/identity ↔ domain/mail']);
  });

  it('allows folders of processes to import types from each other, but no values', () => {
    expect(arrowsOf([imported('worker/a.ts', 'workflows/b.ts', true)])).to.deep.equal([]);
    expect(arrowsOf([imported('worker/a.ts', 'workflows/b.ts')]).map(({ isBackward }) => isBackward)).to.deep.equal([
      true,
    ]);
  });

  it('refuses a folder that the order of folders does not contain', () => {
    expect(unitOf('config.ts')).to.equal('config.ts');
    expect(() => unitOf('domain/new-context/a.ts')).to.throw('is missing in the order of folders');
  });
});
