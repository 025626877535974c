import { expect } from 'chai';
import { partUnder } from '../../../api/files/paths.ts';

describe('the file name below a folder in a path', () => {
  it('is returned only if it is not empty and has no slash', () => {
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
