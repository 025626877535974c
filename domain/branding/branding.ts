/** Reads a club's branding for mails, pages and certificates: the colour, the logo, the legal footer and the links. */
import type { RecordOf } from '../../contract/contract.ts';
import { ClubBranding, type BrandingLink } from '../../entities/clubs/club-branding.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';

/** The accent colour of clubs that have chosen no colour. */
export const standardAccent = '#1f4fd8';

export interface Branding {
  /** `#rrggbb` */
  accentColor: string;
  /** The permanent URL of the logo. Null if the club has no logo, or if the logo's file is not public. */
  logoUrl: string | null;
  replyTo: string | null;
  legalFooter: string | null;
  links: readonly BrandingLink[];
}

export const noBranding: Branding = {
  accentColor: standardAccent,
  logoUrl: null,
  replyTo: null,
  legalFooter: null,
  links: [],
};

const brandingColumns = columns(
  ClubBranding,
  ['accentColor', 'replyTo', 'legalFooter', 'links', 'logoMediaId'],
  'branding',
);

/** @param publicUrl the URL of the API, without a slash at the end */
export async function findBranding(db: Queries, publicUrl: string, clubId: Id): Promise<Branding> {
  const row = await db.one<(typeof brandingColumns)['row'] & { isShown: boolean }>(sql`
    SELECT ${brandingColumns}, EXISTS (SELECT FROM media WHERE id = branding.logo_media_id AND club_id = branding.club_id
             AND visibility = 'public' AND status = 'ready' AND removed_at IS NULL) AS "isShown"
      FROM club_branding branding WHERE club_id = ${clubId}`);
  if (!row) return noBranding;
  const { logoMediaId, isShown, ...branding } = row;
  return {
    ...branding,
    logoUrl: logoMediaId !== null && isShown ? `${publicUrl}/public/media/${logoMediaId}/preview` : null,
  };
}

/** @returns the part of the branding that students and visitors may see */
export function presentPublicBranding({
  accentColor,
  logoUrl,
  legalFooter,
  links,
}: Branding): RecordOf<'PublicBranding'> {
  return {
    accent_color: accentColor,
    ...(logoUrl !== null && { logo_url: logoUrl }),
    ...(legalFooter !== null && { legal_footer: legalFooter }),
    links: links.map(({ label, url }) => ({ label, url })),
  };
}
