/**
 * The way out to webhook receivers: https to the public internet only, checked when a url is registered and again on every
 * connection against the address that is really connected to (WEP-1, WEP-2, DEL-7).
 */
import { promises as dns } from 'node:dns';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { DomainError } from '../../core/errors.ts';
import { isAllowed } from './address.policy.ts';
import { connectToFirst } from './connect.ts';
import { Connections, type WebhookDispatcher } from './connection-pool.ts';

/** Asks for the addresses of a name, in canonical text; rejects, or gives none, where there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Why no connection was made. `code` says it more precisely than the outcome; neither holds a name or an address. */
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

/** The address is not allowed, or the name now resolves to one that is not. */
class AddressRefused extends ConnectionFailed {
  constructor() {
    super('address_refused', 'ADDRESS_REFUSED');
    this.name = 'AddressRefused';
  }
}

export interface Egress {
  /**
   * Checks a url at registration: its form, then every address that its host has at this moment.
   * @returns the url to store and to show: its host and path are written as they will be requested (WEP-1)
   * @throws DomainError `url_not_allowed`
   */
  readonly checkUrl: (url: string) => Promise<string>;
  /** Sends requests, each over a connection whose address was checked when it was made. */
  readonly dispatcher: WebhookDispatcher;
  /** Lets requests in flight end, then closes every connection. */
  close(): Promise<void>;
}

/** How long a registration waits for a name server, in milliseconds. */
const registrationLookUpMs = 5_000;

/**
 * Makes the one way out of a process.
 * @param options.allowedNetworks CIDR blocks that may be reached although they are not public; empty in production
 * @param options.extraCa a further certificate authority, PEM, beside those that Node trusts
 * @param options.resolve how names are looked up: by DNS, unless a test brings its own
 */
export function createEgress(options: {
  allowedNetworks: readonly string[];
  extraCa?: string | undefined;
  resolve?: Resolve;
}): Egress {
  const { allowedNetworks, extraCa, resolve = dnsResolver() } = options;
  const authorities = tls.getCACertificates('default');
  const secureContext = tls.createSecureContext({ ca: extraCa ? [...authorities, extraCa] : authorities });

  /** Every address of a host. One refused address refuses the host, so that chance does not decide. */
  async function checkedAddresses(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const addresses = await lookUp(host, resolve, signal);
    if (!addresses.every((address) => isAllowed(address, allowedNetworks))) throw new AddressRefused();
    return addresses;
  }

  /** Connects and checks the address before it sends anything. */
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
      // An address in a certificate is compared with `host`; a name is asked for by SNI and compared too. No session is ever
      // resumed: `session` stays absent, so one receiver's ticket cannot stand in for another's certificate.
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
        // One answer for "no such name" and "a private address", so that callers cannot probe the DNS of a private network.
        throw new DomainError('url_not_allowed', 'The url must resolve to the public internet.');
      });
      return target.url;
    },
    dispatcher: connections,
    close: () => connections.close(),
  };
}

/**
 * Looks names up by DNS: A and AAAA, IPv4 first. Not `dns.lookup`: that runs in libuv's four threads and cannot be
 * interrupted, so four receivers with a dead name server would keep every other receiver of the process waiting.
 * @param servers name servers as `address:port`, instead of the machine's
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

/** `host`: an address, or a name without its trailing dot; no brackets. `url`: as it will be requested. */
type Target = { host: string; port: number; url: string } | { problem: string };

/** The longest url that is stored and shown (contract). */
const maxUrlLength = 2_048;

/** Spellings that the URL parser would correct silently: people must see the address that is connected to. */
const mended = /[\s\p{Cc}\\]/u;
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
export const isHostName = (host: string) => host.length <= 253 && host.split('.').every((one) => label.test(one));

/** Reasons to refuse a url before its name is looked up; the first that holds is the answer. */
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
  // Any other port may be used: nothing but TLS is spoken before the receiver has proved its name.
  { holds: (url) => url.port === '0', problem: 'The url must not name port 0.' },
];

function readTarget(text: string): Target {
  if (!URL.canParse(text)) return { problem: 'The url is not valid.' };
  const url = new URL(text);
  const found = urlProblems.find(({ holds }) => holds(url, text));
  if (found) return found;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (net.isIP(host) === 0 && !isHostName(host)) return { problem: 'The url has no valid host name.' };
  // Other spellings of an address (127.1), full-width letters and invisible characters are replaced by what they mean.
  const shown = url.href === `${text}/` ? text : url.href;
  if (shown.length > maxUrlLength)
    return {
      problem: `The url has ${shown.length} characters when it is written in ASCII; at most ${maxUrlLength} are possible.`,
    };
  return { host, port: Number(url.port || 443), url: shown };
}

/** Addresses of a host: itself, where it is one; for `localhost` and names under it the loopback, without asking (RFC 6761). */
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

/** A network error during TLS is a connection error; any other error is one of TLS. */
const wireCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTCONN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Waits for the end of the TLS handshake. Destroys the socket if it fails or the signal comes first. */
async function handshake(socket: tls.TLSSocket, signal: AbortSignal): Promise<void> {
  // For the socket's whole life: an error between two listeners must not end the process, and a TLS alert after the
  // handshake (1.3 refuses a missing client certificate that late) must be what ended the socket, not the close behind it.
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
