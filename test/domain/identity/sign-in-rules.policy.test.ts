/** Tests which sign-ins suffice for a club (FAC-1) and for a sensitive operation (FAC-2). */
import { expect } from 'chai';
import { roles } from '../../../entities/clubs/values.ts';
import {
  freshForMs,
  isFresh,
  refusalByRules,
  type SignInProofs,
} from '../../../domain/identity/sessions/sign-in-rules.policy.ts';

const now = new Date('2026-03-02T09:00:00Z');
const ago = (ms: number) => new Date(now.getTime() - ms);
const byPassword: SignInProofs = { provedAt: now, secondFactorAt: null, providerId: null };
const noRules = { requiresSecondFactor: false, requiredProviderId: null };

describe('refusalByRules', () => {
  it('accepts every session if the club requires nothing', () => {
    for (const role of roles) expect(refusalByRules(noRules, byPassword, role)).to.equal(undefined);
  });

  it('refuses a session without a second factor if the club requires one, for every role', () => {
    const rules = { ...noRules, requiresSecondFactor: true };
    for (const role of roles) {
      expect(refusalByRules(rules, byPassword, role)).to.equal('club_requires_second_factor');
      expect(refusalByRules(rules, { ...byPassword, secondFactorAt: ago(86_400_000) }, role)).to.equal(undefined);
    }
  });

  it('refuses a session of another provider or of none if the club requires its provider', () => {
    const rules = { ...noRules, requiredProviderId: 'ours' };
    for (const role of roles)
      expect(
        [null, 'theirs', 'ours'].map((providerId) => refusalByRules(rules, { ...byPassword, providerId }, role)),
      ).to.deep.equal(['club_requires_provider', 'club_requires_provider', undefined]);
  });

  it('lets only an owner with a second factor in without the required provider', () => {
    const rules = { ...noRules, requiredProviderId: 'ours' };
    const withFactor = { ...byPassword, secondFactorAt: now };
    expect(roles.map((role) => [role, refusalByRules(rules, withFactor, role)])).to.deep.equal([
      ['owner', undefined],
      ['admin', 'club_requires_provider'],
      ['editor', 'club_requires_provider'],
      ['support', 'club_requires_provider'],
    ]);
  });
});

describe('isFresh', () => {
  it('accepts a proof of exactly 10 minutes, and refuses an older one', () => {
    expect(
      [freshForMs, freshForMs + 1].map((ms) => isFresh({ ...byPassword, provedAt: ago(ms) }, false, now)),
    ).to.deep.equal([true, false]);
  });

  it('accepts only the second factor of an account that has one', () => {
    expect(isFresh(byPassword, true, now)).to.equal(false);
    expect(isFresh({ ...byPassword, provedAt: ago(86_400_000), secondFactorAt: now }, true, now)).to.equal(true);
    expect(isFresh({ ...byPassword, secondFactorAt: ago(freshForMs + 1) }, true, now)).to.equal(false);
  });
});
