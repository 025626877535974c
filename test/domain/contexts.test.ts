import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { answersOf, contexts } from '../../domain/contexts.ts';

/** Folders of use cases that span contexts: they call the contexts and have no part of their own. */
const spanning = ['students'];

describe('domain/contexts.ts', () => {
  it('has an answer of every context', () => {
    const folders = readdirSync(path.join(projectDirectory, 'domain'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !spanning.includes(entry.name))
      .map(({ name }) => name);
    expect(Object.keys(contexts).toSorted()).to.deep.equal(folders.toSorted());
  });

  it('takes the one answer to each name', () => {
    expect(answersOf(['one', 'two'], [{ two: 2 }, {}, { one: 1 }])).to.deep.equal({ one: 1, two: 2 });
  });

  it('refuses a name without an answer, and a name with two answers', () => {
    expect(() => answersOf(['one', 'two'], [{ one: 1 }])).to.throw('No context in domain/contexts.ts answers two.');
    expect(() => answersOf(['one'], [{ one: 1 }, { one: 2 }])).to.throw(
      'Two contexts in domain/contexts.ts answer one.',
    );
  });
});
