import { expect } from 'chai';
import { needlesOf, requireClean } from './needles.ts';

describe('the search for names and secrets in logs and labels', () => {
  it('finds each kind, and says in which text', () => {
    const needles = ['Mary Smith', 'https://receiver.example.com/hooks'];
    const clean = { 'the log': '{"request_id":"cls_short","route":"/v1/clubs"}' };
    expect(() => requireClean(clean, needles)).not.to.throw();
    for (const found of [
      'of Mary Smith',
      'to https://receiver.example.com/hooks',
      `cls_${'a'.repeat(43)}`,
      `whsec_${'a'.repeat(44)}`,
      'authorization: Bearer abcdefgh',
    ])
      expect(() => requireClean({ ...clean, 'the labels': `{"label":"${found}"}` }, needles)).to.throw(
        'In the labels stands what must not be there',
      );
  });

  it('leaves out what could be part of any word', async () => {
    const rows = ['Ada', 'Mary Smith', 'mary@example.com'].map((needle) => ({ needle }));
    expect(await needlesOf({ query: async () => ({ rows }) })).to.deep.equal(['Mary Smith', 'mary@example.com']);
  });
});
