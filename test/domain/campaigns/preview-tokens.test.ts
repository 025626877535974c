import { expect } from 'chai';
import { previewToken, readPreviewToken } from '../../../domain/campaigns/drafts/preview-tokens.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { newId } from '../../../platform/core/ids.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';

const vault = createVault(new Secret(Buffer.alloc(32, 1)));
const end = new Date('2026-03-01T12:15:00.000Z');
const before = new Date(end.getTime() - 1);

describe('tokens of previews (CAMP-46)', () => {
  const preview = { campaignId: newId(), studentId: newId(), expiresAt: end };
  const token = previewToken(vault, preview);

  it('name one campaign, at most one student, and an expiry', () => {
    expect(readPreviewToken(vault, token, before)).to.deep.equal(preview);
    const ofNobody = { campaignId: preview.campaignId, expiresAt: end };
    expect(readPreviewToken(vault, previewToken(vault, ofNobody), before)).to.deep.equal(ofNobody);
    expect(token).to.match(/^[\w-]{72}$/);
  });

  it('are invalid from their expiry on', () => {
    expect(readPreviewToken(vault, token, end)).to.equal(undefined);
  });

  it('are invalid if a byte is changed, missing or added, or if the key is different', () => {
    const bytes = Buffer.from(token, 'base64url');
    for (let place = 0; place < bytes.length; place++) {
      const forged = Buffer.from(bytes);
      forged.writeUInt8(forged.readUInt8(place) ^ 1, place);
      expect(readPreviewToken(vault, forged.toString('base64url'), before), String(place)).to.equal(undefined);
    }
    for (const other of ['', 'x', token.slice(0, -4), `${token}AAAA`, `${token}=`])
      expect(readPreviewToken(vault, other, before), other).to.equal(undefined);
    const stranger = createVault(new Secret(Buffer.alloc(32, 2)));
    expect(readPreviewToken(stranger, token, before)).to.equal(undefined);
  });
});
