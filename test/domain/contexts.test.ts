import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { contexts } from '../../domain/contexts.ts';

/** Folders of use cases that span contexts: they call the contexts and have no part of their own. */
const spanning = ['students'];

describe('domain/contexts.ts', () => {
  it('has an answer of every context', () => {
    const folders = readdirSync(path.join(projectDirectory, 'domain'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !spanning.includes(entry.name))
      .map(({ name }) => name);
    expect(Object.keys(contexts).toSorted()).to.deep.equal(folders.toSorted());
  });
});
