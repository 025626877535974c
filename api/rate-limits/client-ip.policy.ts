/** The address of a client behind trusted proxies, and the networks of it that a rate limit counts. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The address of a client with a closed connection is unknown. All such clients count as one. */
export const unknownClient = 'unknown';

/**
 * The IPv6 networks that a limit counts (DEC-30). A subscriber has a /64, and can use all its 2^64 addresses. Providers give a /48 to a
 * site or on request. It contains 65,536 such /64 networks, and many people may share it.
 */
const countedNetworks = [
  { bits: 64, times: 1 },
  { bits: 48, times: 10 },
] as const;

interface CountedAddress {
  subject: string;
  /** The limit is this multiple of the limit of one address. */
  times: number;
}

/**
 * The peer of the connection or, if the peer is a trusted proxy, the hop that the proxy names. X-Forwarded-For is read from the right,
 * because trusted proxies append to its end. Entries to the left of the first untrusted or invalid entry may be invented.
 *
 * @param remoteAddress the socket's peer
 * @param xForwardedFor several headers are joined by commas
 * @param trustedProxies CIDR; the header is ignored unless the peer is in one of them
 * @returns the canonical address (IPv4-mapped IPv6 becomes IPv4), or {@link unknownClient}
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
 * @param networks CIDR of the trusted proxies
 */
export function isTrusted(remoteAddress: string | undefined, networks: readonly string[]): boolean {
  const peer = parse(remoteAddress ?? '');
  return peer !== undefined && networks.some((network) => contains(ipaddr.parseCIDR(network), peer));
}

/**
 * An IPv4 address, or the networks of an IPv6 address, the narrowest first.
 * @param ip from {@link clientIp}; any other text is returned unchanged
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

/** Leading bits. Such a network belongs to one subscriber or a few neighbours. */
const subscriberBits = { ipv4: 24, ipv6: 48 } as const;

/**
 * Some limits count networks, because one address or site must not use them up (DEC-62).
 * @param ip from {@link clientIp}; any other text is returned unchanged
 * @returns the network in CIDR notation
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

/** Refuses shortened, octal and hexadecimal IPv4, and ports. */
function parse(text: string): Address | undefined {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address instanceof ipaddr.IPv6 ? ipaddr.IPv6.parse(plain(address)) : address;
}

/** The zone (`%eth0`) names an interface of this machine, not the peer. */
function plain(address: ipaddr.IPv6): string {
  return new ipaddr.IPv6(address.parts).toString();
}

function contains([network, bits]: [Address, number], address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}
