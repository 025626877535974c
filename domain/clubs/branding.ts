/** A club chooses its own face: logo, colour, reply address, legal footer and links. */
import type { RecordOf } from '../../contract/contract.ts';
import { ClubBranding } from '../../entities/clubs/club-branding.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/names.ts';
import { holdsUnseenCharacters } from '../../platform/core/text.policy.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { findBranding, presentPublicBranding, standardAccent } from '../branding/branding.ts';
import { hasPrintableLogo } from '../branding/printed-look.ts';
import { contrastWithWhite, isReadable } from '../branding/colors.policy.ts';
import type { AddressedDeps } from '../deps.ts';
import { setUses } from '../media/uses.ts';

/** @returns how the club looks to its administrators */
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
 * Replaces the whole look; what is absent gets the standard.
 * @throws DomainError invalid_file (a logo that is no ready public image of the library), invalid_request (a colour on which white
 *   words cannot be read, a name or a footer with characters that nobody sees)
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
      'legal_footer must not hold control or format characters, because they hide what it says.',
    );
  const links = (input.links ?? []).map(({ label, url }, index) => ({
    label: plainName(label, `links[${index}].label`),
    url,
  }));
  return db.transaction(async (tx) => {
    const logoMediaId = input.logo_media_id?.toLowerCase() ?? null;
    if (logoMediaId !== null) await requireLogo(tx, clubId, logoMediaId);
    // Before the row, whose key locks the club's: files come before the club in the order of locks.
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
    `accent_color ${color} has a contrast of ${contrastWithWhite(color).toFixed(2)} : 1 with white. Choose a darker one: 4.5 : 1 is needed.`,
  );
}

/** Held until the commit, so that the file does not become private meanwhile. @throws DomainError invalid_file */
async function requireLogo(tx: Transaction, clubId: Id, mediaId: Id): Promise<void> {
  const file = await tx.one(sql`
    SELECT 1 FROM media WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND kind = 'image'
       AND status = 'ready' AND visibility = 'public' AND NOT archived AND removed_at IS NULL FOR SHARE`);
  if (!file)
    throw new DomainError('invalid_file', 'logo_media_id is no image of the library that is ready and public.');
}
