/**
 * The egress to webhook receivers: only https, and only the public internet. The URL is checked when it is registered, and the address of
 * every connection is checked again (WEP-1, WEP-2, DEL-7).
 */
import { promises as dns } from 'node:dns';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { DomainError } from '../../core/errors.ts';
import { isAllowed } from './address.policy.ts';
import { connectToFirst } from './connect.ts';
import { Connections, type WebhookDispatcher } from './connection-pool.ts';

/** Finds the canonical addresses of a name. Rejects or returns an empty list if the name has none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** `code` is more precise than `outcome`. Neither contains the name or the address of a host. */
export class ConnectionFailed extends Error {
  readonly outcome: 'dns_error' | 'connection_error' | 'tls_error' | 'address_refused';
  readonly code: string;

  constructor(outcome: ConnectionFailed['outcome'], code: string, options?: ErrorOptions) {
    super(`No connection was made: ${outcome} (${code}).`, options);
    this.name = 'ConnectionFailed';
    this.outcome = outcome;
    this.code = code;
  }
}

class AddressRefused extends ConnectionFailed {
  constructor() {
    super('address_refused', 'ADDRESS_REFUSED');
    this.name = 'AddressRefused';
  }
}

export interface Egress {
  /**
   * Checks the form of a URL, and every current address of its host.
   * @returns the URL to store, spelled as requests will send it (WEP-1)
   * @throws DomainError `url_not_allowed`
   */
  readonly checkUrl: (url: string) => Promise<string>;
  readonly dispatcher: WebhookDispatcher;
  /** Waits for requests in flight, then closes every connection. */
  close(): Promise<void>;
}

/** In milliseconds. */
const registrationLookUpMs = 5_000;

/**
 * Each process has one egress.
 * @param options.allowedNetworks CIDR blocks, empty in production
 * @param options.extraCa PEM, in addition to the authorities of Node
 * @param options.resolve by DNS if absent
 */
export function createEgress(options: {
  allowedNetworks: readonly string[];
  extraCa?: string | undefined;
  resolve?: Resolve;
}): Egress {
  const { allowedNetworks, extraCa, resolve = dnsResolver() } = options;
  const authorities = tls.getCACertificates('default');
  const secureContext = tls.createSecureContext({ ca: extraCa ? [...authorities, extraCa] : authorities });

  /** One address that is not allowed makes the service refuse the whole host. So the result does not depend on the address that is used. */
  async function checkedAddresses(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const addresses = await lookUp(host, resolve, signal);
    if (!addresses.every((address) => isAllowed(address, allowedNetworks))) throw new AddressRefused();
    return addresses;
  }

  /** The address is checked before any byte is sent. */
  async function open(origin: string, signal: AbortSignal): Promise<tls.TLSSocket> {
    const target = readTarget(origin);
    if ('problem' in target) throw new AddressRefused();
    const addresses = await checkedAddresses(target.host, signal);
    const socket = await connectToFirst(addresses, target.port, signal).catch((error: unknown) => {
      throw signal.aborted ? error : new ConnectionFailed('connection_error', codeOf(error), { cause: error });
    });
    if (!socket.remoteAddress || !isAllowed(socket.remoteAddress, allowedNetworks)) {
      socket.destroy();
      throw new AddressRefused();
    }
    const secure = tls.connect({
      socket,
      secureContext,
      // Node compares an address with the certificate, or requests the certificate of a name by SNI. `session` stays absent, so that no TLS
      // session of another receiver is resumed.
      ...(net.isIP(target.host) === 0 ? { servername: target.host } : { host: target.host }),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    });
    await handshake(secure, signal);
    return secure;
  }

  const connections = new Connections(open);
  return {
    async checkUrl(url) {
      const target = readTarget(url);
      if ('problem' in target) throw new DomainError('url_not_allowed', target.problem);
      const limit = AbortSignal.timeout(registrationLookUpMs);
      await checkedAddresses(target.host, limit).catch((error: unknown) => {
        if (!(error instanceof ConnectionFailed) && !limit.aborted) throw error;
        // An unknown name and a private address get the same answer. So callers cannot probe the DNS of a private network.
        throw new DomainError('url_not_allowed', 'The url must resolve to the public internet.');
      });
      return target.url;
    },
    dispatcher: connections,
    close: () => connections.close(),
  };
}

/**
 * Looks up A and AAAA by DNS, IPv4 first. `dns.lookup` would run in libuv's four threads: four receivers with a dead name server would
 * delay all
 * others.
 * @param servers `address:port`; by default the name servers of the machine
 */
export function dnsResolver(servers?: readonly string[]): Resolve {
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    throw answers.find((answer) => answer.status === 'rejected')?.reason;
  };
}

/** `host` is an address without brackets, or a name without its trailing dot. */
type Target = { host: string; port: number; url: string } | { problem: string };

/** From the contract. */
const maxUrlLength = 2_048;

/** The URL parser would correct these silently, but people must see the address that requests use. */
const mended = /[\s\p{Cc}\\]/u;
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
export const isHostName = (host: string) => host.length <= 253 && host.split('.').every((one) => label.test(one));

/** The first reason that applies is reported. */
const urlProblems: readonly { holds: (url: URL, text: string) => boolean; problem: string }[] = [
  {
    holds: (url, text) => url.protocol !== 'https:' || !/^https:\/\//i.test(text),
    problem: 'The url must begin with https://.',
  },
  {
    holds: (_, text) => mended.test(text),
    problem: 'The url must not contain white space, control characters or backslashes.',
  },
  {
    holds: (url) => url.username !== '' || url.password !== '',
    problem: 'The url must not contain a user name or a password.',
  },
  { holds: (_, text) => text.includes('#'), problem: 'The url must not contain a fragment.' },
  // Every other port is safe, because only a TLS handshake is sent until the receiver has proved its name.
  { holds: (url) => url.port === '0', problem: 'The url must not name port 0.' },
];

function readTarget(text: string): Target {
  if (!URL.canParse(text)) return { problem: 'The url is not valid.' };
  const url = new URL(text);
  const found = urlProblems.find(({ holds }) => holds(url, text));
  if (found) return found;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (net.isIP(host) === 0 && !isHostName(host)) return { problem: 'The url has no valid host name.' };
  // The parser replaces other spellings of an address (127.1), full-width letters and invisible characters, so its URL is shown.
  const shownUrl = url.href === `${text}/` ? text : url.href;
  if (shownUrl.length > maxUrlLength)
    return {
      problem: `The url has ${shownUrl.length} characters when it is written in ASCII; at most ${maxUrlLength} are possible.`,
    };
  return { host, port: Number(url.port || 443), url: shownUrl };
}

/** If the host is an address, the result is this address. `localhost` and the names under it get the loopback address (RFC 6761). */
async function lookUp(host: string, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  if (net.isIP(host) !== 0) return [host];
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1'];
  const addresses = await unlessAborted(resolve(host), signal).catch((error: unknown) => {
    throw signal.aborted ? error : new ConnectionFailed('dns_error', codeOf(error), { cause: error });
  });
  if (addresses.length === 0) throw new ConnectionFailed('dns_error', 'ENODATA');
  return addresses;
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/** During the TLS handshake these codes are connection errors. All other errors are TLS errors. */
const wireCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTCONN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Destroys the socket if the handshake fails or the signal aborts. */
async function handshake(socket: tls.TLSSocket, signal: AbortSignal): Promise<void> {
  // An error event without a listener would end the process. In TLS 1.3, a server refuses a missing client certificate only after the
  // handshake; then this alert is the recorded error, not the later close.
  socket.on('error', (error) => socket.destroy(error));
  try {
    await once(socket, 'secureConnect', { signal });
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    const code = codeOf(error);
    throw new ConnectionFailed(wireCodes.has(code) ? 'connection_error' : 'tls_error', code, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
}
