/** The addresses in a recipient's copy that tell of openings and clicks, and the table of where links lead (CAMP-13). */
import { MailLink } from '../../../entities/mail/mail-link.ts';
import type { Tracking } from '../../../entities/mail/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { CompiledEmail } from '../content/compile.ts';
import type { RecipientCopy } from '../content/render.ts';
import { linkToken, openingToken } from './tokens.ts';

/** A compiled e-mail whose links stand in the table. */
export interface LinkedEmail extends CompiledEmail {
  /** Of the rows of `mail_links`, in the order of `links`; absent where it was frozen before there were any. */
  linkIds?: Id[];
}

/**
 * Writes where the links of an e-mail lead, once for all recipients.
 * @param causeId the campaign, or the version of an automation
 * @returns the ids of the links, in their order
 */
export async function insertLinks(tx: Transaction, clubId: Id, causeId: Id, urls: readonly string[]): Promise<Id[]> {
  const rows = urls.map((url, position) => ({ id: newId(), clubId, causeId, position, url }));
  if (rows.length > 0) await tx.manager.insert(MailLink, rows);
  return rows.map(({ id }) => id);
}

/** @returns where links and the picture of one recipient's copy lead, as far as the club wants to know */
export function trackedAddresses(
  { vault, publicUrl }: { vault: Vault; publicUrl: string },
  { links, linkIds = [] }: LinkedEmail,
  mailId: Id,
  tracking: Tracking,
): Pick<RecipientCopy, 'linkUrl' | 'pixelUrl'> {
  return {
    linkUrl(link) {
      const linkId = linkIds[link];
      if (tracking === 'none' || linkId === undefined) return links[link] ?? '';
      return `${publicUrl}/mail/links/${linkToken(vault, { linkId, mailId })}`;
    },
    ...(tracking === 'all' && { pixelUrl: `${publicUrl}/mail/openings/${openingToken(vault, mailId)}` }),
  };
}
