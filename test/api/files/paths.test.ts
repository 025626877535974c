import { expect } from 'chai';
import { partUnder } from '../../../api/files/paths.ts';

describe('the part of a path below a folder', () => {
  it('is returned only if it is a single part that is not empty', () => {
    const parts = [
      '/files/a',
      '/files/a b',
      '/files/',
      '/files',
      '/files/a/b',
      '/files/a/',
      '/filesa',
      '/other/a',
      '/x/files/a',
    ];
    expect(parts.map((path) => partUnder('/files', path))).to.deep.equal([
      'a',
      'a b',
      ...Array.from({ length: 7 }, () => undefined),
    ]);
  });
});
