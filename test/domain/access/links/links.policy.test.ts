import { expect } from 'chai';
import { foldCode, requireClaimable } from '../../../../domain/access/links/links.policy.ts';
import type { DomainError } from '../../../../platform/core/errors.ts';

describe('codes of registration links', () => {
  it('are converted to lower case', () => {
    expect(foldCode('Spring_2026-A')).to.equal('spring_2026-a');
    expect(foldCode('x'.repeat(64))).to.equal('x'.repeat(64));
  });

  for (const code of ['', 'x'.repeat(65), 'two words', 'é', 'a\n', '/a', 'a/'])
    it(`are invalid: ${JSON.stringify(code).slice(0, 20)}`, () => {
      expect(foldCode(code)).to.equal(undefined);
    });
});

describe('the use of a registration link', () => {
  const now = new Date('2026-03-01T12:00:00.000Z');
  const live = { revokedAt: null, expiresAt: null, maxUses: null, uses: 0, gives: true };
  const codeOf = (state: typeof live | Record<string, unknown>) => {
    try {
      requireClaimable({ ...live, ...state }, now);
      return 'claimed';
    } catch (error) {
      return (error as DomainError).code;
    }
  };
  const at = (ms: number) => new Date(now.getTime() + ms);

  for (const [state, answer] of [
    [{}, 'claimed'],
    [{ revokedAt: at(-1) }, 'not_found'],
    [{ expiresAt: at(1) }, 'claimed'],
    [{ expiresAt: now }, 'not_found'],
    [{ gives: false }, 'not_found'],
    [{ maxUses: 2, uses: 1 }, 'claimed'],
    [{ maxUses: 2, uses: 2 }, 'registration_link_used_up'],
    [{ maxUses: 2, uses: 3 }, 'registration_link_used_up'],
    [{ uses: 1_000_000 }, 'claimed'],
    [{ maxUses: 1, uses: 1, gives: false }, 'not_found'],
  ] as const)
    it(`results in ${answer} for ${JSON.stringify(state)}`, () => {
      expect(codeOf(state)).to.equal(answer);
    });
});
