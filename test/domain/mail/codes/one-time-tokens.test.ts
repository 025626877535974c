import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { Secret } from '../../../../platform/core/secret.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { createVault } from '../../../../platform/infra/keys/vault.ts';
import type { TokenPurpose } from '../../../../entities/mail/values.ts';
import {
  issueToken,
  removeExpiredTokens,
  spendToken,
  tokenLifetimeMs,
  tokenText,
} from '../../../../domain/mail/codes/one-time-tokens.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const now = new Date('2026-03-01T12:00:00Z');
const after = (ms: number) => new Date(now.getTime() + ms);
const mailed: TokenPurpose[] = ['student_verify_email', 'student_invitation', 'student_reset_password'];

async function issued(purpose: TokenPurpose) {
  const { db, vault } = await testDeps();
  const student = await buildStudent((await buildClub()).id);
  const { manager } = db.source;
  const id = await issueToken(new Transaction(manager), vault, { purpose, owner: { studentId: student.id } }, now);
  const spend = (token: string, at: Date, purposes: readonly TokenPurpose[] = [purpose]) =>
    spendToken(new Transaction(manager), purposes, token, at).then(
      (spent) => spent,
      (error: unknown) => (error instanceof DomainError ? error.code : error),
    );
  return { id, studentId: student.id, text: tokenText(vault, purpose, id), spend, vault, manager };
}

describe('tokenText', () => {
  const vault = createVault(new Secret(randomBytes(32)));

  it('returns 43 letters for a link or six digits for a code', () => {
    const id = newId();
    for (const purpose of mailed) expect(tokenText(vault, purpose, id), purpose).to.match(/^[\w-]{43}$/);
    expect(tokenText(vault, 'student_code', id)).to.match(/^\d{6}$/);
    expect(tokenText(vault, 'student_verify_email', id)).to.equal(tokenText(vault, 'student_verify_email', id));
  });

  it('returns different texts for different purposes, ids and master keys', () => {
    const id = newId();
    const texts = [
      tokenText(vault, 'student_verify_email', id),
      tokenText(vault, 'student_reset_password', id),
      tokenText(vault, 'student_verify_email', newId()),
      tokenText(createVault(new Secret(randomBytes(32))), 'student_verify_email', id),
    ];
    expect(new Set(texts).size).to.equal(4);
  });

  it('spreads codes evenly over the first digit, including 0', () => {
    const codes = Array.from({ length: 2_000 }, () => tokenText(vault, 'student_code', newId()));
    for (const digit of '0123456789') {
      const share = codes.filter((code) => code.startsWith(digit)).length / codes.length;
      expect(share, digit).to.be.within(0.05, 0.15);
    }
  });
});

describe('spendToken', () => {
  for (const purpose of mailed) {
    it(`accepts a token of ${purpose} once, until its lifetime ends`, async () => {
      const late = await issued(purpose);
      expect(await late.spend(late.text, after(tokenLifetimeMs[purpose]))).to.equal('token_gone');
      const { studentId, text, spend } = await issued(purpose);
      const spent = await spend(text, after(tokenLifetimeMs[purpose] - 1));
      expect(spent).to.include({ purpose, studentId, administratorId: null, invitationId: null });
      expect(await spend(text, now)).to.equal('token_gone');
    });
  }

  it('accepts only the requested purposes, and keeps a token of another purpose', async () => {
    const { text, spend } = await issued('student_invitation');
    expect(await spend(text, now, ['student_reset_password'])).to.equal('token_gone');
    expect(await spend(text, now, ['student_verify_email', 'student_invitation'])).to.be.an('object');
  });

  it('rejects the digits of a code', async () => {
    const { text, spend } = await issued('student_code');
    expect(await spend(text, now, ['student_code'])).to.equal('token_gone');
  });

  it('rejects the token of a repeated sign-up, which is never mailed', async () => {
    const { vault, manager } = await testDeps().then(({ db, vault: own }) => ({
      vault: own,
      manager: db.source.manager,
    }));
    const student = await buildStudent((await buildClub()).id);
    const owner = { studentId: student.id };
    const id = await issueToken(
      new Transaction(manager),
      vault,
      { purpose: 'student_sign_up_again', owner, passwordHash: 'x' },
      now,
    );
    const error: unknown = await spendToken(
      new Transaction(manager),
      ['student_verify_email', 'student_invitation', 'student_reset_password'],
      tokenText(vault, 'student_sign_up_again', id),
      now,
    ).catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'token_gone' });
  });
});

describe('removeExpiredTokens', () => {
  const day = 86_400_000;
  const leftAfter = async (purpose: TokenPurpose, ms: number) => {
    const { db } = await testDeps();
    const { studentId } = await issued(purpose);
    const { more } = await removeExpiredTokens(db, after(tokenLifetimeMs[purpose] + ms));
    expect(more).to.equal(false);
    const [row] = await db.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM one_time_tokens WHERE student_id = $1`,
      [studentId],
    );
    return row?.count;
  };

  it('removes links and codes a day after they have expired', async () => {
    for (const purpose of [...mailed, 'student_code'] as const) {
      expect(await leftAfter(purpose, day - 1), purpose).to.equal(1);
      expect(await leftAfter(purpose, day), purpose).to.equal(0);
    }
  });

  it('keeps the password of a repeated sign-up, because the confirmation still needs it', async () => {
    expect(await leftAfter('student_sign_up_again', 400 * day)).to.equal(1);
  });
});
