/** Who the client is: the address behind trusted proxies, and the part of it that a rate limit counts. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Stands for a peer without a readable address (its connection is already closed): all of these count as one client. */
export const unknownClient = 'unknown';

/**
 * The IPv6 networks that a limit counts (DEC-30). A subscriber's /64: a subscriber with one address has the other 2^64 as well. And the
 * /48 that providers give to a site, or to anybody who asks: it has 65,536 of the former, and many people may share it.
 */
const countedNetworks = [
  { bits: 64, times: 1 },
  { bits: 48, times: 10 },
] as const;

/** What a limit for each IP address counts a call under. */
interface CountedAddress {
  subject: string;
  /** How many times the limit of one address its calls may reach together. */
  times: number;
}

/**
 * The client's address: the peer of the connection or, as long as that is a trusted proxy, the hop that it names.
 * X-Forwarded-For is walked from the right, which is where our own proxies write; what stands to the left of the first
 * hop that is not trusted is the client's own claim, and so is what stands left of an entry that is no plain address.
 *
 * @param remoteAddress the socket's peer
 * @param xForwardedFor the header as it came, several of them joined by commas
 * @param trustedProxies networks (CIDR) of our own proxies; the header is ignored unless the peer is in one of them
 * @returns the canonical text of an address (an IPv4-mapped IPv6 address is the IPv4 address), or {@link unknownClient}
 */
export function clientIp(
  remoteAddress: string | undefined,
  xForwardedFor: string | undefined,
  trustedProxies: readonly string[],
): string {
  const peer = parse(remoteAddress ?? '');
  if (peer === undefined) return unknownClient;
  const networks = trustedProxies.map((network) => ipaddr.parseCIDR(network));
  const trusts = (address: Address) => networks.some((network) => contains(network, address));

  let client = peer;
  for (const hop of (xForwardedFor ?? '').split(',').toReversed()) {
    if (!trusts(client)) break;
    const address = parse(hop.trim());
    if (address === undefined) break;
    client = address;
  }
  return client.toString();
}

/**
 * @param remoteAddress the socket's peer
 * @param networks (CIDR) of our own proxies
 * @returns whether the peer is one of them
 */
export function isTrusted(remoteAddress: string | undefined, networks: readonly string[]): boolean {
  const peer = parse(remoteAddress ?? '');
  return peer !== undefined && networks.some((network) => contains(ipaddr.parseCIDR(network), peer));
}

/**
 * What a limit for each IP address counts: an IPv4 address, or the networks of an IPv6 address, the narrowest first.
 * @param ip an address as {@link clientIp} returns it; anything else counts as itself
 */
export function addressesCounted(ip: string): readonly CountedAddress[] {
  const address = parse(ip);
  if (address === undefined) return [{ subject: ip, times: 1 }];
  if (address instanceof ipaddr.IPv4) return [{ subject: address.toString(), times: 1 }];
  return countedNetworks.map(({ bits, times }) => {
    const network = ipaddr.IPv6.networkAddressFromCIDR(`${plain(address)}/${bits}`);
    return { subject: `${network.toString()}/${bits}`, times };
  });
}

/** The networks that one subscriber, or a handful of neighbors, can have for themselves. */
const subscriberBits = { ipv4: 24, ipv6: 48 } as const;

/**
 * The network that bounds count which a single address, or a single site, must not use up (DEC-62).
 * @param ip an address as {@link clientIp} returns it; anything else counts as itself
 * @returns in CIDR notation
 */
export function networkOf(ip: string): string {
  const address = parse(ip);
  if (address === undefined) return ip;
  const bits = subscriberBits[address.kind()];
  const network =
    address instanceof ipaddr.IPv4
      ? ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${bits}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${plain(address)}/${bits}`);
  return `${network.toString()}/${bits}`;
}

/** Strict: neither shortened, octal and hexadecimal spellings of IPv4, nor ports, are addresses here. */
function parse(text: string): Address | undefined {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address instanceof ipaddr.IPv6 ? ipaddr.IPv6.parse(plain(address)) : address;
}

/** Without the zone (`%eth0`), which names an interface of this machine and not the peer. */
function plain(address: ipaddr.IPv6): string {
  return new ipaddr.IPv6(address.parts).toString();
}

function contains([network, bits]: [Address, number], address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}
