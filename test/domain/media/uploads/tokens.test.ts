import { expect } from 'chai';
import { readUploadToken, uploadToken } from '../../../../domain/media/uploads/tokens.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { createVault } from '../../../../platform/infra/keys/vault.ts';

describe('tokens of resumable uploads (MED-26)', () => {
  const vault = createVault(new Secret(Buffer.alloc(32, 1)));
  const mediaId = newId();
  const expiresAt = new Date('2026-03-03T10:00:00Z');
  const before = new Date(expiresAt.getTime() - 1);
  const token = uploadToken(vault, { mediaId, expiresAt });

  it('name their file until the millisecond of their expiry', () => {
    expect(readUploadToken(vault, token, before)).to.equal(mediaId);
    expect(readUploadToken(vault, token, expiresAt)).to.equal(undefined);
  });

  it('are refused if a character is changed, missing or added, or if the key is different', () => {
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A';
      const changed = token.slice(0, at) + other + token.slice(at + 1);
      expect(readUploadToken(vault, changed, before), String(at)).to.equal(undefined);
    }
    for (const changed of ['', token.slice(1), token.slice(0, -1), `${token}A`, `${token}=`])
      expect(readUploadToken(vault, changed, before), changed).to.equal(undefined);
    expect(readUploadToken(createVault(new Secret(Buffer.alloc(32, 2))), token, before)).to.equal(undefined);
  });
});
