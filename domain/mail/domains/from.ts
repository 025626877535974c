/**
 * The sender address of a club's mails: an address in the club's own domain while that domain is proven, and otherwise the platform's
 * address (CAMP-40).
 */
import { MailDomain } from '../../../entities/mail/mail-domain.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { SigningKey } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

export interface From {
  address: string;
  /** Signs mails from the club's own domain. Absent if the platform's mail server signs them. */
  signWith?: SigningKey;
  /** Null for the platform's domain. */
  domainProvenAt: Date | null;
}

/** @param platformAddress the sender address if the club has no proven domain */
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

/**
 * Returns the last 15 characters of the platform's domain. They become the last part of the header `Feedback-ID`, which must have 5 to 15
 * characters. Mailbox providers count complaints by this part.
 */
export const feedbackSenderOf = (platformAddress: string): string =>
  platformAddress.slice(platformAddress.indexOf('@') + 1).slice(-15);
