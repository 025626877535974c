/**
 * The tracking addresses in a recipient's copy, which report openings and clicks, and the rows that store the targets of links (CAMP-13).
 */
import { MailLink } from '../../../entities/mail/mail-link.ts';
import type { Tracking } from '../../../entities/mail/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { CompiledEmail } from '../content/compile.ts';
import type { RecipientCopy } from '../content/render.ts';
import { linkToken, openingToken } from './tokens.ts';

/** A compiled e-mail whose links have rows in `mail_links`. */
export interface LinkedEmail extends CompiledEmail {
  /** The ids of rows of `mail_links`, in the order of `links`; absent in an e-mail of an old release. */
  linkIds?: Id[];
}

/**
 * Writes the targets of an e-mail's links, once for all recipients. @param causeId the id of the campaign, or of the automation's version
 * @returns the ids of the links, in the order of `urls`
 */
export async function insertLinks(tx: Transaction, clubId: Id, causeId: Id, urls: readonly string[]): Promise<Id[]> {
  const rows = urls.map((url, position) => ({ id: newId(), clubId, causeId, position, url }));
  if (rows.length > 0) await tx.manager.insert(MailLink, rows);
  return rows.map(({ id }) => id);
}

/** @returns the addresses of the links and of the tracking picture in one recipient's copy, according to the club's tracking setting */
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
