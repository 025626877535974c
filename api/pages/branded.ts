/** What pages show of the club's own face: logo, colour, footer and links (DEC-184). */
import { createHash } from 'node:crypto';
import type { RecordOf } from '../../contract/contract.ts';
import { standardAccent } from '../../domain/branding/branding.ts';
import { footerHtml } from '../../domain/branding/html.ts';
import type { Direction } from '../../domain/language/bidi.policy.ts';
import { escapeHtml } from '../../platform/core/text.policy.ts';

type PublicBranding = RecordOf<'PublicBranding'>;

/** @param style of the page, which names the colour as `var(--accent)` @returns the page's style in the colour of the club */
export function styleOf(style: string, branding: PublicBranding | undefined): string {
  return `:root{--accent:${branding?.accent_color ?? standardAccent}}\n${style}`;
}

/**
 * @param form `'self'` for a page with forms
 * @returns a policy by which nothing may be loaded, sent or framed but the page's own style and the club's logo
 */
export function policyOf(style: string, branding: PublicBranding | undefined, form: "'self'" | "'none'"): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    // The page has one image. Its lasting address leads on to wherever the store is.
    ...(branding?.logo_url === undefined ? [] : ['img-src http: https:']),
    "base-uri 'none'",
    `form-action ${form}`,
    "frame-ancestors 'none'",
  ].join('; ');
}

/** @returns the logo above a page's title; nothing without one */
export function headOf(branding: PublicBranding, clubName: string): string {
  return branding.logo_url === undefined
    ? ''
    : `<p class="logo"><img src="${escapeHtml(branding.logo_url)}" alt="${escapeHtml(clubName)}"></p>`;
}

/** @returns legal footer and links under a page; nothing without any */
export function footOf({ legal_footer: legalFooter, links }: PublicBranding, direction: Direction): string {
  const foot = footerHtml({ legalFooter: legalFooter ?? null, links }, direction);
  return foot === '' ? '' : `<footer>${foot}</footer>`;
}
