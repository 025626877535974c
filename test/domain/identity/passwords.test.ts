import { expect } from 'chai';
import { hashPassword, passwordMatches } from '../../../domain/identity/passwords/passwords.ts';

describe('passwords', () => {
  it('are hashed with argon2id, 19 MiB, two passes, one lane and a random salt', async () => {
    const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(one).to.not.equal(two);
  });

  it('match only if they are equal, however their accents are encoded', async () => {
    const hash = await hashPassword('caf\u00e9 au lait');
    expect(await passwordMatches('cafe\u0301 au lait', hash)).to.equal(true);
    for (const wrong of ['cafe au lait', 'Caf\u00e9 au lait', 'caf\u00e9 au lait ', '']) {
      expect(await passwordMatches(wrong, hash), wrong).to.equal(false);
    }
  });

  it('of 128 characters are compared up to the last character', async () => {
    const hash = await hashPassword(`${'x'.repeat(127)}a`);
    expect(await passwordMatches(`${'x'.repeat(127)}b`, hash)).to.equal(false);
    expect(await passwordMatches(`${'x'.repeat(127)}a`, hash)).to.equal(true);
  });

  it('never match a missing hash', async () => {
    expect(await passwordMatches('', null)).to.equal(false);
    expect(await passwordMatches('anything', null)).to.equal(false);
  });
});
