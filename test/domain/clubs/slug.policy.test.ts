import { expect } from 'chai';
import fc from 'fast-check';
import { slugOf } from '../../../domain/clubs/slug.policy.ts';

describe('domain/clubs/slug.policy', () => {
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
  };
  for (const [name, slug] of Object.entries(slugs)) {
    it(`${name} → ${slug}`, () => expect(slugOf(name, '')).to.equal(slug));
  }

  it('is never a host name that the operator’s own sites are likely to have', () => {
    for (const name of ['api', 'API', ' mail ', 'www', 'static', 'status']) {
      expect(slugOf(name, '')).to.equal(`club-${name.trim().toLowerCase()}`);
    }
  });

  it('a suffix comes after a hyphen', () => {
    expect(slugOf('Harbour', 'a1b2c3')).to.equal('harbour-a1b2c3');
  });

  it('is a label of a host name, whatever the name: 1 to 63 of a–z, 0–9 and hyphens, none at either end', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 130 }), fc.constantFrom('', 'a1b2c3'), (name, suffix) => {
        expect(slugOf(name, suffix)).to.match(/^(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*$/);
      }),
    );
  });
});
