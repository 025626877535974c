/** Header fields that every answer has, whoever writes it: an operation, a page, a stream, or the parser of HTTP. */

/** For answers that are no pages: a browser that is led to one loads, runs, sends and frames nothing. Pages have policies of their own. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A year. Without subdomains: those of an operator's domain need not be ours. */
const strictTransportSecurity = 'max-age=31536000';

/** By which other sites may show an answer in a page: pictures of mails, and what leads to public files. */
export const embeddable = { 'Cross-Origin-Resource-Policy': 'cross-origin' } as const;

/**
 * @param publicUrl where callers reach the listener; browsers are told to stay with `https` if it is that
 * @returns the fields of each of its answers
 */
export function secureHeadersOf(publicUrl: string): Readonly<Record<string, string>> {
  return {
    ...(new URL(publicUrl).protocol === 'https:' && { 'Strict-Transport-Security': strictTransportSecurity }),
    'Content-Security-Policy': contentSecurityPolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store', // every answer is somebody's own; pages that may be kept say so themselves
  };
}
