/** Builds the parts of mails and pages that show a club's branding. All text that people wrote is escaped. */
import { escapeHtml } from '../../platform/core/text/text.policy.ts';
import { dirAttribute, type Direction } from '../language/bidi.policy.ts';
import type { Branding } from './branding.ts';

const logoHeight = 64;

/** @returns the HTML of the logo, with the club's name for readers who load no images; empty without a logo */
export function logoHtml({ logoUrl }: Pick<Branding, 'logoUrl'>, clubName: string): string {
  if (logoUrl === null) return '';
  return `<img src="${escapeHtml(logoUrl)}" alt="${escapeHtml(clubName)}" height="${logoHeight}" style="height:${logoHeight}px;width:auto;max-width:100%;object-fit:contain">`;
}

export function footerHtml(
  { legalFooter, links }: Pick<Branding, 'legalFooter' | 'links'>,
  direction: Direction,
): string {
  const legal =
    legalFooter === null
      ? ''
      : `<p${dirAttribute(legalFooter, direction)}>${legalFooter.split('\n').map(escapeHtml).join('<br>')}</p>`;
  const listed = links.map(({ label, url }) => `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`).join(' · ');
  return `${legal}${listed === '' ? '' : `<p>${listed}</p>`}`;
}

/** @returns plain text in at most two parts: the legal footer, and the links */
export function footerText({ legalFooter, links }: Pick<Branding, 'legalFooter' | 'links'>): string[] {
  return [
    ...(legalFooter === null ? [] : [legalFooter]),
    ...(links.length === 0 ? [] : [links.map(({ label, url }) => `${label}: ${url}`).join('\n')]),
  ];
}
