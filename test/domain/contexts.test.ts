import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { answersOf, contexts } from '../../domain/contexts.ts';

/** These folders call several contexts, and have no entry in the list. */
const spanning = ['administrators', 'students'];

describe('domain/contexts.ts', () => {
  it('has an entry for every context', () => {
    const folders = readdirSync(path.join(projectDirectory, 'domain'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !spanning.includes(entry.name))
      .map(({ name }) => name);
    expect(Object.keys(contexts).toSorted()).to.deep.equal(folders.toSorted());
  });

  it('finds exactly one entry for each name', () => {
    expect(answersOf(['one', 'two'], [{ two: 2 }, {}, { one: 1 }])).to.deep.equal({ one: 1, two: 2 });
  });

  it('throws an error for a name without an entry, and for a name with two entries', () => {
    expect(() => answersOf(['one', 'two'], [{ one: 1 }])).to.throw(
      'No context in domain/contexts.ts has an entry for two.',
    );
    expect(() => answersOf(['one'], [{ one: 1 }, { one: 2 }])).to.throw(
      'Two contexts in domain/contexts.ts have an entry for one.',
    );
  });
});
