import { expect } from 'chai';
import fc from 'fast-check';
import { slugOf } from '../../../domain/clubs/slug.policy.ts';

describe('the first slug of a club', () => {
  const slugs: Record<string, string> = {
    'Harbour Academy': 'harbour-academy',
    '  Café  Ünïon! ': 'cafe-union',
    'C++ & C#, 2nd edition': 'c-c-2nd-edition',
    'ﬁnance ①': 'finance-1',
    '---': 'club',
    学びの場: 'club',
    '🎓 Ada': 'ada',
    Admin: 'club-admin',
    'www.': 'club-www',
    Classroom: 'club-classroom',
    'Admin Academy': 'admin-academy',
    '  -- Knots -- ': 'knots',
    'A club whose name goes on and on and on and on': 'a-club-whose-name-goes-on-and-on-and-on',
    'A club whose name goes on and on and on. End': 'a-club-whose-name-goes-on-and-on-and-on',
  };
  for (const [name, slug] of Object.entries(slugs)) {
    it(`is ${slug} for "${name}"`, () => expect(slugOf(name, '')).to.equal(slug));
  }

  it('puts `club-` before a name that is probably a host of the operator', () => {
    for (const name of ['api', 'API', ' mail ', 'www', 'static', 'status']) {
      expect(slugOf(name, ''), name).to.equal(`club-${name.trim().toLowerCase()}`);
    }
  });

  it('separates the suffix from the name by a hyphen', () => {
    expect(slugOf('Harbour', 'a1b2c3')).to.equal('harbour-a1b2c3');
  });

  it('returns a valid host name label for any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 130 }), fc.constantFrom('', 'a1b2c3'), (name, suffix) => {
        expect(slugOf(name, suffix)).to.match(/^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/);
      }),
    );
  });
});
