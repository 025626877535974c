/** From which address a club's mails are: of its own domain while that is proven, else the platform's (CAMP-40). */
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { SigningKey } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

export interface From {
  address: string;
  /** Of the club's own domain; absent where the platform's server signs. */
  signWith?: SigningKey;
  /** When the club's own domain was proven first; null for the platform's. */
  domainProvenAt: Date | null;
}

/** @param platformAddress what mails are from where the club has no proven domain */
export async function fromOf(
  { db, vault }: { db: Queries; vault: Vault },
  clubId: Id,
  platformAddress: string,
): Promise<From> {
  const own = await db.manager.findOneBy(MailDomain, { clubId, status: 'proven' });
  if (!own) return { address: platformAddress, domainProvenAt: null };
  const { domain, selector } = own;
  return {
    address: `${own.localPart}@${domain}`,
    signWith: { domain, selector, privateKey: vault.open(own.sealedPrivateKey, own.id) },
    domainProvenAt: own.firstProvenAt,
  };
}

/** Mailbox providers count complaints by the last part of `Feedback-ID`, which has 5 to 15 characters: the end of the platform's domain. */
export const feedbackSenderOf = (platformAddress: string): string =>
  platformAddress.slice(platformAddress.indexOf('@') + 1).slice(-15);
