import { expect } from 'chai';
import { downloadToken, readDownloadToken } from '../../../domain/repositories/tokens.ts';
import { newId } from '../../../platform/core/ids.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';

describe('tokens of downloads (REPO-5)', () => {
  const vault = createVault(new Secret(Buffer.alloc(32, 1)));
  const named = { repositoryId: newId(), studentId: newId(), expiresAt: new Date('2026-03-03T10:00:00Z') };
  const before = new Date(named.expiresAt.getTime() - 1);
  const token = downloadToken(vault, named);

  it('name repository and student, and are valid until the millisecond of the expiry', () => {
    for (const _ of [1, 2]) expect(readDownloadToken(vault, token, before)).to.deep.equal(named);
    expect(readDownloadToken(vault, token, named.expiresAt)).to.equal(undefined);
  });

  it('are refused if a character is changed, removed or added, or if another key is used', () => {
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A';
      const changed = token.slice(0, at) + other + token.slice(at + 1);
      expect(readDownloadToken(vault, changed, before), String(at)).to.equal(undefined);
    }
    for (const changed of ['', token.slice(1), token.slice(0, -1), `${token}A`, `${token}=`])
      expect(readDownloadToken(vault, changed, before), changed).to.equal(undefined);
    expect(readDownloadToken(createVault(new Secret(Buffer.alloc(32, 2))), token, before)).to.equal(undefined);
  });
});
