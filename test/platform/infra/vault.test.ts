import { expect } from 'chai';
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Secret } from '../../../platform/core/secret.ts';
import { createVault, keyIdOf, SealUnreadable, type VaultOptions } from '../../../platform/infra/keys/vault.ts';

const key = new Secret(randomBytes(32));
const other = new Secret(randomBytes(32));
const vault = createVault(key);

describe('seal and open', () => {
  for (const [format, options] of Object.entries({
    'with the key’s id': { namesKeys: true },
    'without the key’s id': {},
  })) {
    it(`opens a text that was sealed ${format}, but only with the id of the text’s row`, () => {
      const sealer = createVault(key, options);
      fc.assert(
        fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, context) => {
          const sealed = sealer.seal(text, context);
          expect(vault.open(sealed, context)).to.equal(Buffer.from(text).toString());
          expect(() => vault.open(sealed, `${context}x`)).to.throw(SealUnreadable);
        }),
      );
    });

    it(`refuses a text that was sealed ${format} if any byte is altered or missing`, () => {
      const reader = createVault(key, { former: [other] });
      const sealed = createVault(key, options).seal('whsec_secret', 'id');
      expect(reader.open(sealed, 'id')).to.equal('whsec_secret');
      for (let index = 0; index < sealed.length; index++) {
        const altered = Buffer.from(sealed);
        altered.writeUInt8(altered.readUInt8(index) ^ 1, index);
        expect(() => reader.open(altered, 'id'), `byte ${index}`).to.throw(SealUnreadable);
        expect(() => reader.open(sealed.subarray(0, index), 'id'), `${index} bytes`).to.throw(SealUnreadable);
      }
    });
  }

  it('seals a text differently each time', () => {
    const [one, two] = [vault.seal('whsec_secret', 'id'), vault.seal('whsec_secret', 'id')];
    expect(one.equals(two)).to.equal(false);
    expect(one).to.have.length(12 + 16 + 'whsec_secret'.length);
    expect(one.includes('whsec')).to.equal(false);
  });

  it('writes the key id before the nonce if there are several keys', () => {
    const sealed = createVault(key, { former: [other] }).seal('whsec_secret', 'id');
    expect(sealed).to.have.length(1 + 4 + 12 + 16 + 'whsec_secret'.length);
    expect(sealed.subarray(0, 5)).to.deep.equal(Buffer.concat([Buffer.of(1), keyIdOf(key)]));
  });

  it('opens texts under a former key, and seals texts under the current key', () => {
    const both = createVault(other, { former: [key] });
    for (const namesKeys of [true, false])
      expect(both.open(createVault(key, { namesKeys }).seal('text', 'id'), 'id')).to.equal('text');
    expect(createVault(other).open(both.seal('text', 'id'), 'id')).to.equal('text');
    expect(() => vault.open(both.seal('text', 'id'), 'id')).to.throw(SealUnreadable);
  });

  it('refuses a text that was sealed with a missing key', () => {
    for (const namesKeys of [true, false])
      expect(() => createVault(other).open(createVault(key, { namesKeys }).seal('text', 'id'), 'id')).to.throw(
        SealUnreadable,
      );
  });

  it('refuses a value if its key id was replaced by the id of another key', () => {
    const sealed = createVault(key, { namesKeys: true }).seal('text', 'id');
    keyIdOf(other).copy(sealed, 1);
    expect(() => createVault(key, { former: [other] }).open(sealed, 'id')).to.throw(SealUnreadable);
  });

  it('opens an old value even if its first bytes look like a key id', () => {
    const nonce = Buffer.concat([createVault(key).headers[0], Buffer.alloc(7)]);
    const cipher = createCipheriv('aes-256-gcm', Buffer.from(hkdfSync('sha256', key.reveal(), '', 'seal', 32)), nonce);
    cipher.setAAD(Buffer.from('id'));
    const text = Buffer.concat([cipher.update('text', 'utf8'), cipher.final()]);
    const sealed = Buffer.concat([nonce, cipher.getAuthTag(), text]);
    expect(vault.open(sealed, 'id')).to.equal('text');
    expect(createVault(other, { former: [key] }).open(sealed, 'id')).to.equal('text');
  });

  describe('with fixed values', () => {
    const fixed = new Secret(Buffer.from(Array.from({ length: 32 }, (_, index) => index)));
    const reader = createVault(fixed);

    it('opens a value that release 0.2.0 sealed', () => {
      const sealed = 'd09aebd1a9bdb264e942b766a34ff2693b8a77a4f2e5259fcbdc2cd6b84c4486036b9c144e3ac271';
      expect(reader.open(Buffer.from(sealed, 'hex'), 'row-1')).to.equal('whsec_secret');
    });

    it('opens a value that was sealed with the key id', () => {
      const sealed = '019618c5c6132b91fdf19c02aa3bbddd844b124463f98c60db2d0ee2a7c6510966bc1a524679fcabecc2615f50';
      expect(reader.open(Buffer.from(sealed, 'hex'), 'row-1')).to.equal('whsec_secret');
    });

    it('has a fixed key id, and a fixed hash of an address', () => {
      expect(reader.keyId.toString('hex')).to.equal('9618c5c6');
      const hash = 'abde1b59e02690ed391a0a126347d932e84fa919f64b5ea3f1f0d1fe012ee513';
      expect(reader.deriveLasting('mail address:ana@example.com').toString('hex')).to.equal(hash);
      expect(reader.derive('mail address:ana@example.com').toString('hex')).to.equal(hash);
    });
  });

  it('opens a value only if its key is given, after any sequence of key changes', () => {
    const keys = Array.from({ length: 4 }, (_, index) => new Secret(Buffer.alloc(32, index + 1)));
    const indexes = fc.uniqueArray(fc.nat(keys.length - 1), { minLength: 1 });
    const steps = fc.record({
      keyIndexes: indexes,
      namesKeys: fc.boolean(),
      row: fc.nat(2),
      act: fc.constantFrom('seal', 'reseal', 'move'),
    });
    const vaultOf = ([current = 0, ...former]: readonly number[], options: VaultOptions = {}) =>
      createVault(keys[current] ?? key, { former: former.map((index) => keys[index] ?? key), ...options });
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 12 }), indexes, (operations, keyIndexes) => {
        const rows = new Map<number, { sealed: Buffer; under: number; context: string; text: string }>();
        for (const [step, { keyIndexes: now, namesKeys, row, act }] of operations.entries()) {
          const ring = vaultOf(now, { namesKeys });
          const [under = 0] = now;
          const found = rows.get(row);
          if (act === 'seal')
            rows.set(row, {
              sealed: ring.seal(`text ${step}`, `${row}`),
              under,
              context: `${row}`,
              text: `text ${step}`,
            });
          else if (found && act === 'move') rows.set((row + 1) % 3, found);
          else if (found && now.includes(found.under) && found.context === `${row}`)
            rows.set(row, { ...found, sealed: ring.seal(ring.open(found.sealed, `${row}`), `${row}`), under });
        }
        const reader = vaultOf(keyIndexes);
        for (const [row, { sealed, under, context, text }] of rows) {
          const opens = keyIndexes.includes(under) && context === `${row}`;
          if (opens) expect(reader.open(sealed, `${row}`)).to.equal(text);
          else expect(() => reader.open(sealed, `${row}`)).to.throw(SealUnreadable);
        }
      }),
    );
  });
});

describe('derive', () => {
  it('returns 32 bytes that depend only on label and key', () => {
    expect(vault.derive('label')).to.have.length(32);
    expect(createVault(key).derive('label').equals(vault.derive('label'))).to.equal(true);
    expect(vault.derive('other').equals(vault.derive('label'))).to.equal(false);
    expect(createVault(other).derive('label').equals(vault.derive('label'))).to.equal(false);
  });

  it('derives bytes from the key with the given id', () => {
    const both = createVault(other, { former: [key] });
    expect(both.derive('label', keyIdOf(key))).to.deep.equal(vault.derive('label'));
    expect(both.derive('label', keyIdOf(other))).to.deep.equal(createVault(other).derive('label'));
    expect(both.keyIds).to.deep.equal([keyIdOf(other), keyIdOf(key)]);
    expect([both.has(keyIdOf(key)), vault.has(keyIdOf(other))]).to.deep.equal([true, false]);
    expect(() => vault.derive('label', keyIdOf(other))).to.throw('a key that is not given');
  });

  it('recognizes derived bytes, even if they are truncated', () => {
    const both = createVault(other, { former: [key] });
    const mac = vault.derive('label');
    expect([both.matches('label', mac), both.matches('label', mac.subarray(0, 16))]).to.deep.equal([true, true]);
    expect(both.matches('label', both.mac('label', 16))).to.equal(true);
    expect([both.matches('other', mac), createVault(other).matches('label', mac)]).to.deep.equal([false, false]);
  });

  it('accepts no MAC that is shorter than 16 bytes or longer than the derived bytes', () => {
    const mac = vault.derive('label');
    for (const length of [0, 1, 15])
      expect(vault.matches('label', mac.subarray(0, length)), `${length}`).to.equal(false);
    expect(vault.matches('label', Buffer.concat([mac, Buffer.of(0)]))).to.equal(false);
  });

  it('makes MACs of 16 to 32 bytes with the current key', () => {
    const both = createVault(key, { former: [other] });
    for (const length of [16, 32])
      expect(both.mac('label', length)).to.deep.equal(vault.derive('label').subarray(0, length));
    for (const length of [0, 15, 33]) expect(() => both.mac('label', length)).to.throw(`not ${length}`);
  });

  it('returns equal bytes for stored values, whichever key is current', () => {
    const lasting = new Secret(randomBytes(32));
    const [before, after] = [key, other].map((current) => createVault(current, { lasting }).deriveLasting('label'));
    expect(after).to.deep.equal(before);
  });
});
