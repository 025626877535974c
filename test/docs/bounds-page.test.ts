import { expect } from 'chai';
import { rules } from '../../api/rate-limits/rules.policy.ts';
import { boundSections } from '../../dev/generators/bounds.ts';
import { boundsPage } from '../../dev/generators/bounds-page.ts';
import { errorStatus } from '../../platform/core/error-codes.ts';

describe('docs/reference/bounds.md', () => {
  const page = boundsPage(boundSections);

  it('lists every error code that reports a reached limit', () => {
    const codes = Object.keys(errorStatus).filter((code) => code.endsWith('limit_reached'));
    expect(codes.filter((code) => !page.includes(` ${code}\``))).to.deep.equal([]);
  });

  it('lists every rate limit', () => {
    expect(
      rules.filter(({ name, path }) => !page.includes(`| ${name}: `) || !page.includes(`\`${path}\``)),
    ).to.deep.equal([]);
  });

  it('states the owner and the amount of each bound, and the effect of exceeding the bound', () => {
    const bounds = boundSections.flatMap((section) => section.bounds);
    expect(bounds.filter((bound) => Object.values(bound).some((text: string) => !/\S/.test(text)))).to.deep.equal([]);
    expect(bounds.filter(({ most }) => /undefined|NaN/.test(most))).to.deep.equal([]);
  });
});
