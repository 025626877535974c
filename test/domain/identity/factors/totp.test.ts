/** Tests the codes of authenticator apps against the vectors of RFC 6238, and against an implementation of its text (FAC-5). */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'chai';
import { Secret as TotpSecret, TOTP } from 'otpauth';
import { newTotpSecret, stepAt, stepOfCode, totpSettings } from '../../../../domain/identity/factors/totp.ts';

/** The secret of RFC 6238, appendix B, for SHA-1: the ASCII text of 20 digits. */
const secretOfRfc = new TotpSecret({ buffer: new TextEncoder().encode('12345678901234567890').buffer }).base32;
/** Seconds since 1970, and the code of 8 digits. A code of 6 digits is its end. */
const vectors = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
] as const;

/** HOTP of RFC 4226, section 5.3, written from its text. */
function codeByRfc(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = digest.readUInt8(19) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

const at = (seconds: number) => new Date(seconds * 1_000);
const secretArbitrary = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes));
const base32 = (secret: Buffer) => new TotpSecret({ buffer: new Uint8Array(secret).buffer }).base32;
const secondsArbitrary = fc.integer({ min: 1_700_000_000, max: 4_000_000_000 });

describe('stepOfCode', () => {
  for (const [seconds, code] of vectors)
    it(`accepts the code of RFC 6238 at ${seconds} seconds`, () => {
      expect(stepOfCode(secretOfRfc, code.slice(2), null, at(seconds))).to.equal(Math.floor(seconds / 30));
    });

  it('accepts exactly the codes of the current, the previous and the next step', () => {
    fc.assert(
      fc.property(secretArbitrary, secondsArbitrary, fc.integer({ min: -4, max: 4 }), (secret, seconds, stepsOff) => {
        const now = at(seconds);
        const code = codeByRfc(secret, stepAt(now) + stepsOff);
        const near = [-1, 0, 1].filter((off) => codeByRfc(secret, stepAt(now) + off) === code);
        const step = stepOfCode(base32(secret), code, null, now);
        if (near.length === 0) expect(step).to.equal(undefined);
        else expect(near.map((off) => stepAt(now) + off)).to.include(step);
      }),
    );
  });

  it('refuses a code of the last used step or of an earlier one', () => {
    const now = at(1_800_000_000);
    const secret = newTotpSecret();
    const code = (off: number) =>
      new TOTP({ ...totpSettings, secret: TotpSecret.fromBase32(secret) }).generate({
        timestamp: now.getTime() + off * 30_000,
      });
    const last = stepAt(now);
    expect([-1, 0, 1].map((off) => stepOfCode(secret, code(off), last, now))).to.deep.equal([
      undefined,
      undefined,
      last + 1,
    ]);
  });

  it('refuses texts that are no six digits', () => {
    for (const text of ['', '1', '12345', '1234567', 'abcdef', '１２３４５６'])
      expect(stepOfCode(secretOfRfc, text, null, at(59)), text).to.equal(undefined);
  });
});

describe('newTotpSecret', () => {
  it('has 160 bits, and differs each time', () => {
    const secrets = Array.from({ length: 100 }, newTotpSecret);
    expect(new Set(secrets).size).to.equal(100);
    for (const secret of secrets) expect(TotpSecret.fromBase32(secret).bytes).to.have.length(20);
  });
});
