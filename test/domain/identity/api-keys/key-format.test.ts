import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { isWellFormedKey, newKey, startOfKey } from '../../../../domain/identity/api-keys/key-format.ts';
import { newId } from '../../../../platform/core/ids.ts';

/** Digits come first, then capital letters, then small letters. */
const readBase62 = (text: string) =>
  Array.from(text).reduce((sum, digit) => {
    const code = digit.charCodeAt(0);
    return sum * 62 + (code < 58 ? code - 48 : code < 91 ? code - 55 : code - 61);
  }, 0);

describe('the text of an API key (KEY-1)', () => {
  it('begins with clk_ and the last 8 characters of the id', () => {
    expect(startOfKey('01980a5e-7c1d-7e55-9b2f-6d1fa3c04b7e')).to.equal('clk_a3c04b7e');
    const id = newId();
    expect(newKey(id).startsWith(`${startOfKey(id)}_`)).to.equal(true);
  });

  it('ends with the CRC-32 of the rest in base 62, with leading zeros', () => {
    for (let count = 0; count < 500; count++) {
      const key = newKey(newId());
      expect(key).to.match(/^clk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/);
      expect(readBase62(key.slice(-6))).to.equal(crc32(key.slice(0, -6)));
    }
  });

  it('differs for two keys of one id', () => {
    const id = newId();
    expect(newKey(id)).not.to.equal(newKey(id));
  });

  it('is invalid if any character changes', () => {
    const key = newKey(newId());
    expect(isWellFormedKey(key)).to.equal(true);
    for (let index = 0; index < key.length; index++) {
      const other = key[index] === 'a' ? 'b' : 'a';
      expect(isWellFormedKey(key.slice(0, index) + other + key.slice(index + 1)), `character ${index}`).to.equal(false);
    }
    for (const text of [
      '',
      'clk_',
      key.slice(1),
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
    ])
      expect(isWellFormedKey(text), text).to.equal(false);
  });
});
