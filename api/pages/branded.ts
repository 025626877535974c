/** The branding of pages: the club's logo, colour, footer and links (DEC-184). */
import { createHash } from 'node:crypto';
import type { RecordOf } from '../../contract/contract.ts';
import { standardAccent } from '../../domain/branding/branding.ts';
import { footerHtml } from '../../domain/branding/html.ts';
import type { Direction } from '../../domain/language/bidi.policy.ts';
import { escapeHtml } from '../../platform/core/text/text.policy.ts';

type PublicBranding = RecordOf<'PublicBranding'>;

/** @param style names the colour as `var(--accent)` */
export function styleOf(style: string, branding: PublicBranding | undefined): string {
  return `:root{--accent:${branding?.accent_color ?? standardAccent}}\n${style}`;
}

/**
 * @param form the source of form actions: `'self'` for a page with forms
 * @returns a policy that allows only the page's own style and the club's logo
 */
export function policyOf(style: string, branding: PublicBranding | undefined, form: "'self'" | "'none'"): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    // The logo is the only image. Its permanent address redirects to the store, so any host must be allowed.
    ...(branding?.logo_url === undefined ? [] : ['img-src http: https:']),
    "base-uri 'none'",
    `form-action ${form}`,
    "frame-ancestors 'none'",
  ].join('; ');
}

/** @returns HTML; empty without a logo */
export function headOf(branding: PublicBranding, clubName: string): string {
  return branding.logo_url === undefined
    ? ''
    : `<p class="logo"><img src="${escapeHtml(branding.logo_url)}" alt="${escapeHtml(clubName)}"></p>`;
}

/** @returns HTML; empty if the club has neither */
export function footOf({ legal_footer: legalFooter, links }: PublicBranding, direction: Direction): string {
  const foot = footerHtml({ legalFooter: legalFooter ?? null, links }, direction);
  return foot === '' ? '' : `<footer>${foot}</footer>`;
}
