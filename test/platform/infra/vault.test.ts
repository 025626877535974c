import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Secret } from '../../../platform/core/secret.ts';
import { createVault } from '../../../platform/infra/vault.ts';

const key = new Secret(randomBytes(32));
const vault = createVault(key);

describe('seal and open', () => {
  it('opens any sealed text for its own row only', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, context) => {
        const sealed = vault.seal(text, context);
        expect(vault.open(sealed, context)).to.equal(Buffer.from(text).toString());
        expect(() => vault.open(sealed, `${context}x`)).to.throw();
      }),
    );
  });

  it('seals one text differently each time, as 12 bytes of nonce, 16 of tag and the text’s length', () => {
    const [one, two] = [vault.seal('whsec_secret', 'id'), vault.seal('whsec_secret', 'id')];
    expect(one.equals(two)).to.equal(false);
    expect(one).to.have.length(12 + 16 + 'whsec_secret'.length);
    expect(one.includes('whsec')).to.equal(false);
  });

  it('does not open a text with any byte altered or removed', () => {
    const sealed = vault.seal('whsec_secret', 'id');
    for (let index = 0; index < sealed.length; index++) {
      const altered = Buffer.from(sealed);
      altered.writeUInt8(altered.readUInt8(index) ^ 1, index);
      expect(() => vault.open(altered, 'id'), `byte ${index}`).to.throw();
    }
    expect(() => vault.open(sealed.subarray(0, -1), 'id')).to.throw();
    expect(() => vault.open(Buffer.alloc(0), 'id')).to.throw();
  });

  it('does not open a text that was sealed with another key', () => {
    expect(() => createVault(new Secret(randomBytes(32))).open(vault.seal('text', 'id'), 'id')).to.throw();
  });
});

describe('derive', () => {
  it('gives 32 bytes, equal for the same label and key, and different for another label or key', () => {
    expect(vault.derive('label')).to.have.length(32);
    expect(createVault(key).derive('label').equals(vault.derive('label'))).to.equal(true);
    expect(vault.derive('other').equals(vault.derive('label'))).to.equal(false);
    expect(
      createVault(new Secret(randomBytes(32)))
        .derive('label')
        .equals(vault.derive('label')),
    ).to.equal(false);
  });
});
