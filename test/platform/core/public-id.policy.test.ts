import { expect } from 'chai';
import fc from 'fast-check';
import { publicIdsFrom } from '../../../platform/core/public-id.policy.ts';

const first = (title: string) => publicIdsFrom(title, 'lesson', () => 'abcdef').next().value;

describe('public ids from titles', () => {
  it('contain the words of the title in Latin letters and digits', () => {
    const titles = {
      'Knots for Beginners!': 'knots-for-beginners',
      ' Nós & laços №7 ': 'nos-lacos-no7',
      学生: 'lesson',
      '--': 'lesson',
    };
    for (const [title, id] of Object.entries(titles)) expect(first(title), title).to.equal(id);
  });

  it('have at most 24 characters and no hyphen at the end', () => {
    expect(first('x'.repeat(40))).to.equal('x'.repeat(24));
    expect(first(`${'x'.repeat(23)} y`)).to.equal('x'.repeat(23));
  });

  it('get a suffix from 2 to 5, or a random suffix if all of these ids are taken', () => {
    let drawn = 0;
    const candidates = publicIdsFrom('Knots', 'lesson', () => `drawn${++drawn}`);
    expect(Array.from({ length: 7 }, () => candidates.next().value)).to.deep.equal([
      'knots',
      'knots-2',
      'knots-3',
      'knots-4',
      'knots-5',
      'knots-drawn1',
      'knots-drawn2',
    ]);
  });

  it('match the contract’s pattern for any title', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (title) => {
        const candidates = publicIdsFrom(title, 'course', () => '0a1b2c3');
        const tried = Array.from({ length: 6 }, () => candidates.next().value);
        for (const id of tried)
          expect(id)
            .to.match(/^[A-Za-z0-9](?:[A-Za-z0-9_-]*)$/)
            .and.have.length.within(1, 32);
        expect(new Set(tried).size).to.equal(6);
      }),
    );
  });
});
