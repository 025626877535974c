/** Reads and replaces a club's branding: the logo, the colour, the reply address, the legal footer and the links. */
import type { RecordOf } from '../../contract/contract.ts';
import { ClubBranding } from '../../entities/clubs/club-branding.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import { holdsUnseenCharacters } from '../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { findBranding, presentPublicBranding, standardAccent } from '../branding/branding.ts';
import { hasPrintableLogo } from '../branding/printed-look.ts';
import { contrastWithWhite, isReadable } from '../branding/colors.policy.ts';
import type { AddressedDeps } from '../deps.ts';
import { setUses } from '../media/uses/uses.ts';

/** @returns the branding for administrators, with a warning if documents cannot print the logo */
export async function readBranding(db: Queries, publicUrl: string, clubId: Id): Promise<RecordOf<'Branding'>> {
  const row = await db.manager.findOneBy(ClubBranding, { clubId });
  const branding = await findBranding(db, publicUrl, clubId);
  const isPrintable = branding.logoUrl === null || (await hasPrintableLogo(db, clubId));
  return {
    ...presentPublicBranding(branding),
    ...(!isPrintable && { warnings: [{ code: 'logo_not_printable' }] }),
    ...(row?.logoMediaId && { logo_media_id: row.logoMediaId }),
    ...(branding.replyTo !== null && { reply_to: branding.replyTo }),
    ...(row && { updated_at: row.updatedAt.toISOString() }),
  };
}

/**
 * Replaces the whole branding. A field that `input` lacks gets its default value.
 * @throws DomainError invalid_file if the logo is not a ready public image of the library; invalid_request if white text on the colour is
 *   unreadable, or a name or the footer has invisible characters
 */
export async function setBranding(
  { db, publicUrl }: AddressedDeps,
  clubId: Id,
  input: RecordOf<'BrandingSettings'>,
  now: Date,
): Promise<RecordOf<'Branding'>> {
  const accentColor = (input.accent_color ?? standardAccent).toLowerCase();
  requireReadable(accentColor);
  const legalFooter = input.legal_footer?.replaceAll(/\r\n?/g, '\n').trim() ?? null;
  if (legalFooter !== null && legalFooter.split('\n').some(holdsUnseenCharacters))
    throw new DomainError(
      'invalid_request',
      'legal_footer has control or format characters. Remove them, because they can hide text.',
    );
  const links = (input.links ?? []).map(({ label, url }, index) => ({
    label: plainName(label, `links[${index}].label`),
    url,
  }));
  return db.transaction(async (tx) => {
    const logoMediaId = input.logo_media_id?.toLowerCase() ?? null;
    if (logoMediaId !== null) await requireLogo(tx, clubId, logoMediaId);
    // Files are locked before the club. The foreign key of the branding's row locks the club, so the uses of files are written first.
    await setUses(tx, clubId, { kind: 'branding', id: clubId }, logoMediaId === null ? [] : [logoMediaId]);
    await tx.run(sql`
      INSERT INTO club_branding (club_id, logo_media_id, accent_color, reply_to, legal_footer, links, updated_at)
      VALUES (${clubId}, ${logoMediaId}, ${accentColor}, ${input.reply_to ?? null}, ${legalFooter}, ${JSON.stringify(links)}::jsonb, ${now})
      ON CONFLICT (club_id) DO UPDATE SET logo_media_id = excluded.logo_media_id, accent_color = excluded.accent_color,
        reply_to = excluded.reply_to, legal_footer = excluded.legal_footer, links = excluded.links, updated_at = excluded.updated_at`);
    return readBranding(tx, publicUrl, clubId);
  });
}

function requireReadable(color: string): void {
  if (isReadable(color)) return;
  throw new DomainError(
    'invalid_request',
    `accent_color ${color} has a contrast of ${contrastWithWhite(color).toFixed(2)} : 1 with white. Choose a darker colour with at least 4.5 : 1.`,
  );
}

/** The lock keeps the file public until the commit. @throws DomainError invalid_file */
async function requireLogo(tx: Transaction, clubId: Id, mediaId: Id): Promise<void> {
  const file = await tx.one(sql`
    SELECT 1 FROM media WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND kind = 'image'
       AND status = 'ready' AND visibility = 'public' AND NOT archived AND removed_at IS NULL FOR SHARE`);
  if (!file) throw new DomainError('invalid_file', 'logo_media_id is not a ready and public image of the library.');
}
