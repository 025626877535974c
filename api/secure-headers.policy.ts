/** Headers that every answer has, whether an operation, a page, a stream or the HTTP parser writes it. */

/**
 * This policy is for answers that are not pages. A browser that opens such an answer loads nothing, runs no script, sends no form and shows
 * no frame.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** This holds for a year, without subdomains: they may belong to a different service. */
const strictTransportSecurity = 'max-age=31536000';

/** Images of mails and redirects to public files have this header. */
export const embeddable = { 'Cross-Origin-Resource-Policy': 'cross-origin' } as const;

/** @param publicUrl of the listener. If it is `https`, browsers must use only `https` */
export function secureHeadersOf(publicUrl: string): Readonly<Record<string, string>> {
  return {
    ...(new URL(publicUrl).protocol === 'https:' && { 'Strict-Transport-Security': strictTransportSecurity }),
    'Content-Security-Policy': contentSecurityPolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store', // answers are personal; an operation whose answer may be cached sets its own header
  };
}
