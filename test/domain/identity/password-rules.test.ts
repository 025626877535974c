/** The rules for new passwords (ACC-7). */
import { expect } from 'chai';
import { DomainError } from '../../../platform/core/errors.ts';
import {
  requireStrongPassword,
  requireUnknown,
  type PasswordOwner,
} from '../../../domain/identity/passwords/password-rules.ts';

const ada: PasswordOwner = { email: 'ada.meadow@example.com', names: ['Ada Meadow', 'Harbour Academy'] };

function judged(password: string, isKnown = true): string {
  try {
    requireStrongPassword(password, isKnown ? ada : undefined);
    return 'good';
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error.code).to.equal('weak_password');
    expect(error.message.toLowerCase()).not.to.include(password.toLowerCase());
    return error.message;
  }
}

const common = 'The password is one of those that are guessed first, or close to one; choose another one.';
const personal = 'The password is hardly more than your e-mail, your name or the name of the club; choose another one.';
const repeats = 'The password repeats too few characters; choose another one.';

describe('a new password', () => {
  it('must have at least ten characters, however its accents are encoded', () => {
    expect(judged('nine char')).to.equal('The password has 9 characters; it must have at least 10.');
    expect(judged('mouse tail')).to.equal('good');
    expect(judged('cafe\u0301 meri')).to.equal('The password has 9 characters; it must have at least 10.');
    expect(judged('🪢⛵🌊🐟🦀🐙🦑🐚⚓🚢')).to.equal('good');
  });

  it('must not be a leaked password, even in a different case or character width', () => {
    for (const one of ['1234567890', 'qwertyuiop', 'QwertyUiop', 'ｐａｓｓｗｏｒｄ１２３', '1q2w3e4r5t', 'basketball'])
      expect(judged(one), one).to.equal(common);
  });

  it('must not be a variation of a leaked password', () => {
    for (const one of [
      'password1234',
      '!!Sunshine2024!!',
      'P@ssw0rd2025',
      'l3tm3in!!!!!',
      'pass word 99',
      'passwordpassword',
      'sunshine99sunshine99',
      'qwertyqwertyqwerty',
    ])
      expect(judged(one), one).to.equal(common);
  });

  it('must have at least four different characters', () => {
    expect(judged('x'.repeat(128))).to.equal(repeats);
    expect(judged('ab ab ab ab ab')).to.equal(repeats);
  });

  it('must contain more than the address, the name or the club of its owner', () => {
    for (const one of [
      'ada.meadow@example.com',
      'ADA.MEADOW@example.com1',
      'adameadow2024',
      'Meadow-Ada-99',
      'harbour academy',
      'HarbourAcademy!1',
      'example.com/ada',
    ])
      expect(judged(one), one).to.equal(personal);
  });

  it('may contain a name among other words', () => {
    for (const one of ['a meadow full of larks', 'the harbour at midnight', 'adamant horse battery'])
      expect(judged(one), one).to.equal('good');
  });

  it('may be a phrase or any random text', () => {
    for (const one of [
      'correct horse battery',
      'a long enough password',
      'x8Kq-2vPz_Lw',
      'Пароль моего кота',
      '正しい馬の電池とホチキスの針',
    ])
      expect(judged(one), one).to.equal('good');
  });

  it('is also checked against personal data that become known later', () => {
    expect(judged('adameadow2024', false)).to.equal('good');
    expect(() => requireUnknown('adameadow2024', ada)).to.throw(DomainError, personal);
  });

  it('is checked within 5 ms, even for the slowest text of 128 characters', () => {
    const worst = ['ab'.repeat(64), `${'7'.repeat(127)}x`, 'ada'.repeat(42), '\u0130'.repeat(128), ' '.repeat(128)];
    for (const one of worst) judged(one);
    const began = performance.now();
    for (let round = 0; round < 20; round += 1) for (const one of worst) judged(one);
    expect((performance.now() - began) / (20 * worst.length)).to.be.below(5);
  });
});
