import { expect } from 'chai';
import { needlesOf, requireClean } from './needles.ts';

describe('the search for private data', () => {
  it('finds each kind of secret, and names the text that contains it', () => {
    const needles = ['Mary Smith', 'https://receiver.example.com/hooks'];
    const clean = { 'the log': '{"request_id":"cls_short","route":"/v1/clubs"}' };
    expect(() => requireClean(clean, needles)).not.to.throw();
    for (const secret of [
      'of Mary Smith',
      'to https://receiver.example.com/hooks',
      `cls_${'a'.repeat(43)}`,
      `whsec_${'a'.repeat(44)}`,
      'authorization: Bearer abcdefgh',
    ])
      expect(() => requireClean({ ...clean, 'the labels': `{"label":"${secret}"}` }, needles)).to.throw(
        'the labels contain private data',
      );
  });

  it('skips a short name, because the name could be part of a different word', async () => {
    const rows = ['Ada', 'Mary Smith', 'mary@example.com'].map((needle) => ({ needle }));
    expect(await needlesOf({ query: async () => ({ rows }) })).to.deep.equal(['Mary Smith', 'mary@example.com']);
  });
});
