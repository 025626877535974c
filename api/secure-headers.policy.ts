/** Headers that every answer has, whether an operation, a page, a stream or the HTTP parser writes it. */

/**
 * The content security policy of answers that are not pages. A browser that opens such an answer loads nothing, runs no script, sends no
 * form and shows no frame. Pages have their own policies.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Browsers keep this rule for a year. The rule excludes subdomains, because a subdomain of the operator's domain may belong to a different
 * service.
 */
const strictTransportSecurity = 'max-age=31536000';

/** Lets other sites include an answer in their pages: images of mails, and redirects to public files. */
export const embeddable = { 'Cross-Origin-Resource-Policy': 'cross-origin' } as const;

/**
 * @param publicUrl the public address of the listener. If it is `https`, browsers must use only `https`.
 * @returns the headers of each answer of the listener
 */
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
