/** The networks from which an API key is accepted. */
import ipaddr from 'ipaddr.js';

/**
 * @param text an address, or a network in CIDR notation; bits behind its length are ignored
 * @returns the network in CIDR notation; undefined if the text is neither an address nor a network
 */
export function networkIn(text: string): string | undefined {
  const whole = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  const isSpelled = ipaddr.IPv4.isValidCIDRFourPartDecimal(whole) || ipaddr.IPv6.isValidCIDR(whole);
  if (!isSpelled || text.includes('%')) return undefined;
  const [address, bits] = ipaddr.parseCIDR(whole);
  const first =
    address instanceof ipaddr.IPv4
      ? ipaddr.IPv4.networkAddressFromCIDR(whole)
      : ipaddr.IPv6.networkAddressFromCIDR(whole);
  return `${first.toString()}/${bits}`;
}
