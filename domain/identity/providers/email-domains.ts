/** Decides which e-mail domains a club may name, and which addresses belong to them (OIDC-8). */
import { domainToASCII } from 'node:url';
import { parse } from 'tldts';

/**
 * @param domain as a person writes it, perhaps with letters outside ASCII
 * @returns the domain in ASCII and lower case; undefined for an address, a host of one label, and a public suffix such as `co.uk`
 */
export function emailDomainOf(domain: string): string | undefined {
  const text = domain.trim().toLowerCase();
  // `domainToASCII` would cut off the path of an address.
  const ascii = /[/?#@:\\\s]/.test(text) ? '' : domainToASCII(text);
  // `parse` reads addresses and whole URLs, too, so the host must be the whole text.
  const { hostname, domain: registrable, isIp } = parse(ascii, { allowPrivateDomains: true });
  return ascii !== '' && hostname === ascii && registrable !== null && isIp === false ? ascii : undefined;
}

/** @returns whether an address belongs to one of the domains. A subdomain is another domain */
export function isInDomains(email: string, domains: readonly string[]): boolean {
  const domain = emailDomainOf(email.slice(email.lastIndexOf('@') + 1));
  return email.includes('@') && domain !== undefined && domains.includes(domain);
}
