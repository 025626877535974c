/** The addresses that the Markdown of posts and comments leads to: web and mail addresses alone (COMM-10). */
import MarkdownIt, { type Token } from 'markdown-it';
import { DomainError } from '../../platform/core/errors.ts';

const maxNesting = 40;
const markdown = new MarkdownIt({ html: true, linkify: false, maxNesting });
// Every address is found, and judged here: a stricter reader would leave it as text, and another one might not.
markdown.validateLink = () => true;
markdown.normalizeLink = (url) => url;

/** Readers of addresses pass over white space and control characters. */
// oxlint-disable-next-line no-control-regex -- these are what is passed over
const passedOver = /[\u0000-\u0020\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]/g;
const scheme = /^[a-z][a-z0-9+.-]*:/i;
const allowed: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:']);

/** Where a tag of HTML, which is no Markdown of ours, would lead or run something. */
const runsSomething =
  /(?:javascript|vbscript|data)\s*:|\son\w+\s*=|<\s*(?:script|iframe|object|embed|form|base|meta|link|style|svg|math)\b/i;

/** @throws DomainError invalid_request for an address such as `javascript:…`, and for HTML that runs something */
export function requireSafeLinks(text: string): void {
  for (const token of flat(markdown.parse(text, {}))) {
    const address = token.attrGet('href') ?? token.attrGet('src');
    if (address !== null && !isSafeAddress(String(address)))
      throw new DomainError('invalid_request', 'body: a link may lead to a web or mail address, and nowhere else.');
    if (token.type.startsWith('html_') && runsSomething.test(token.content.replace(passedOver, ' ')))
      throw new DomainError('invalid_request', 'body: it is Markdown, and HTML that runs something is refused.');
  }
}

function isSafeAddress(address: string): boolean {
  const [named] = scheme.exec(decoded(address).replace(passedOver, '')) ?? [];
  return named === undefined || allowed.has(named.toLowerCase());
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

function flat(tokens: readonly Token[]): Token[] {
  return tokens.flatMap((token) => [token, ...flat(token.children ?? [])]);
}
