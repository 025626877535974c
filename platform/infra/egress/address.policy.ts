/** Decides which addresses a webhook may reach: only addresses of the public internet (DEL-7, HOOK-13). */
import ipaddr from 'ipaddr.js';

type Range = ReturnType<ipaddr.IPv4['range']> | ReturnType<ipaddr.IPv6['range']>;

/** `public`, the name of the address's special range, or one of three reasons of this program. */
export type AddressClass =
  | 'public'
  | Exclude<Range, 'unicast'>
  /** The text is no address in canonical form: `127.1`, `0x7f000001`, a scoped `fe80::1%eth0`, a name. */
  | 'invalid'
  /** The address of a metadata or control service of a cloud, in any range. */
  | 'cloudMetadata'
  /** The IPv6 address is outside the block of public addresses (RFC 4291, IANA: 2000::/3). */
  | 'outsideGlobalUnicast';

/**
 * At these addresses clouds give credentials to every caller. Rules about ranges do not cover all of them: an operator may allow the range
 * (100.64.0.0/10, fd00::/8), and Azure's address is public.
 */
const cloudMetadata: ReadonlySet<string> = new Set(
  [
    '169.254.169.254', // AWS, Azure, GCP, DigitalOcean, OpenStack
    '169.254.170.2', // AWS ECS task credentials
    '169.254.170.23', // AWS EKS pod identity
    '169.254.42.42', // Scaleway
    '100.100.100.200', // Alibaba
    '168.63.129.16', // Azure's platform service
    '192.0.0.192', // Oracle
    'fd00:ec2::254', // AWS
    'fd00:ec2::23', // AWS EKS pod identity
    'fd20:ce::254', // GCP
    'fd00:42::42', // Scaleway
    'fd00:c1::a9fe:a9fe', // Oracle
  ].map((address) => ipaddr.parse(address).toNormalizedString()),
);

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Classifies one address.
 *
 * IPv6 forms of IPv4 addresses (mapped, compatible, NAT64, 6to4, Teredo) are always refused. No public receiver needs them.
 * @param ip in canonical text, without brackets
 */
export function classifyAddress(ip: string): AddressClass {
  const address = parseCanonical(ip);
  if (!address) return 'invalid';
  if (cloudMetadata.has(address.toNormalizedString())) return 'cloudMetadata';
  const range = address.range();
  if (range !== 'unicast') return range;
  return address.kind() === 'ipv4' || address.match(globalUnicast) ? 'public' : 'outsideGlobalUnicast';
}

/**
 * Whether a webhook may reach an address: it is public, or an operator allowed its network. Cloud metadata is always refused.
 * @param allowedNetworks CIDR blocks, empty in production
 */
export function isAllowed(ip: string, allowedNetworks: readonly string[]): boolean {
  const kind = classifyAddress(ip);
  if (kind === 'public') return true;
  if (kind === 'invalid' || kind === 'cloudMetadata') return false;
  const networks = allowedNetworks.map((network) => ipaddr.parseCIDR(network));
  return ipaddr.subnetMatch(ipaddr.parse(ip), { allowed: networks }, 'other') === 'allowed';
}

function parseCanonical(ip: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(ip)) return ipaddr.IPv4.parse(ip);
  if (ip.includes(':') && !ip.includes('%') && ipaddr.IPv6.isValid(ip)) return ipaddr.IPv6.parse(ip);
  return undefined;
}
