import { expect } from 'chai';
import {
  isFinal,
  nextCodeAt,
  phoneCodeRules,
  waitAfterPhoneAttempt,
} from '../../../../domain/identity/phones/codes.policy.ts';

const now = new Date('2026-03-02T12:00:00Z');
const ago = (...minutes: number[]) => minutes.map((count) => new Date(now.getTime() - count * 60_000));
const none = { ofAdministrator: [], ofNumber: [], ofAll: [] };
const inMinutes = (at: Date | undefined) => at && (at.getTime() - now.getTime()) / 60_000;

describe('limits of codes to telephone numbers', () => {
  it('allows the first code', () => {
    expect(nextCodeAt(none, 10, now)).to.equal(undefined);
  });

  it('makes an administrator wait a minute after a code', () => {
    expect(inMinutes(nextCodeAt({ ...none, ofAdministrator: ago(0.5) }, 10, now))).to.equal(0.5);
    expect(nextCodeAt({ ...none, ofAdministrator: ago(1) }, 10, now)).to.equal(undefined);
  });

  it('allows an administrator five codes in 24 hours', () => {
    const four = ago(10, 20, 30, 40);
    expect(nextCodeAt({ ...none, ofAdministrator: four }, 10, now)).to.equal(undefined);
    expect(inMinutes(nextCodeAt({ ...none, ofAdministrator: [...four, ...ago(60)] }, 10, now))).to.equal(23 * 60);
  });

  it('allows a number five codes in 24 hours, for all administrators together', () => {
    const five = ago(0, 0, 0, 0, 120);
    expect(inMinutes(nextCodeAt({ ...none, ofNumber: five }, 10, now))).to.equal(22 * 60);
    expect(nextCodeAt({ ...none, ofNumber: five.slice(0, 4) }, 10, now)).to.equal(undefined);
  });

  it('limits the codes of the whole deployment in 24 hours', () => {
    expect(inMinutes(nextCodeAt({ ...none, ofAll: ago(1, 2) }, 2, now))).to.equal(24 * 60 - 2);
    expect(nextCodeAt({ ...none, ofAll: ago(1, 2) }, 3, now)).to.equal(undefined);
  });

  it('tries again for less than the lifetime of a code', () => {
    const waits: number[] = [];
    for (let attempts = 1; ; attempts++) {
      const wait = waitAfterPhoneAttempt(attempts);
      if (wait === undefined) break;
      waits.push(wait);
    }
    expect(waits).to.deep.equal([3_000, 10_000, 30_000, 60_000, 120_000]);
    const attemptsMs = (waits.length + 1) * phoneCodeRules.attemptMs;
    expect(waits.reduce((sum, wait) => sum + wait, attemptsMs)).to.be.lessThan(phoneCodeRules.lifetimeMs);
  });

  it('has a lease that is longer than an attempt', () => {
    expect(phoneCodeRules.leaseSeconds * 1_000).to.be.greaterThan(phoneCodeRules.attemptMs);
  });

  it('gives up after a refusal that will not change', () => {
    expect([400, 401, 404, 422].map(isFinal)).to.deep.equal([true, true, true, true]);
    expect([undefined, 200, 302, 408, 425, 429, 500, 503].map(isFinal)).to.not.include(true);
  });
});
