import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { previewToken, readPreviewToken } from '../../../../domain/campaigns/drafts/preview-tokens.ts';
import { readUnsubscribeToken, unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { linkToken, openingToken, readLinkToken, readOpeningToken } from '../../../../domain/mail/tracking/tokens.ts';
import { readUploadToken, uploadToken } from '../../../../domain/media/uploads/tokens.ts';
import { downloadToken, readDownloadToken } from '../../../../domain/repositories/tokens.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { createVault, type Vault } from '../../../../platform/infra/keys/vault.ts';

const [id, other] = [newId(), newId()];
const now = new Date('2026-03-01T12:00:00Z');
const expiresAt = new Date('2026-03-01T13:00:00Z');
const way = { kind: 'campaigns', studentId: id } as const;
const link = { linkId: id, mailId: other };
const download = { repositoryId: id, studentId: other, expiresAt };
const preview = { campaignId: id, studentId: other, expiresAt };

/** The function that makes the token, the function that reads it, and its content. */
const kinds: Record<string, [(vault: Vault) => string, (vault: Vault, token: string) => unknown, unknown]> = {
  'unsubscribe link of an e-mail': [(vault) => unsubscribeToken(vault, way), readUnsubscribeToken, way],
  'tracked link of an e-mail': [(vault) => linkToken(vault, link), readLinkToken, link],
  'open tracking of an e-mail': [(vault) => openingToken(vault, id), readOpeningToken, id],
  download: [
    (vault) => downloadToken(vault, download),
    (vault, token) => readDownloadToken(vault, token, now),
    download,
  ],
  upload: [
    (vault) => uploadToken(vault, { mediaId: id, expiresAt }),
    (vault, token) => readUploadToken(vault, token, now),
    id,
  ],
  preview: [(vault) => previewToken(vault, preview), (vault, token) => readPreviewToken(vault, token, now), preview],
};

describe('self-contained tokens during a change of the master key', () => {
  const [before, after] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];
  const first = createVault(before);
  const openable = createVault(before, { former: [after] });
  const changed = createVault(after, { former: [before] });
  const alone = createVault(after);

  for (const [kind, [make, read, says]] of Object.entries(kinds)) {
    it(`are accepted only by processes with their key: ${kind}`, () => {
      const [old, young] = [make(first), make(changed)];
      expect(make(openable)).to.equal(old);
      for (const vault of [first, openable, changed]) expect(read(vault, old)).to.deep.equal(says);
      for (const vault of [openable, changed, alone]) expect(read(vault, young)).to.deep.equal(says);
      expect([read(alone, old), read(first, young)]).to.deep.equal([undefined, undefined]);
    });
  }
});
