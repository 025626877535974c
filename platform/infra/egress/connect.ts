/** Opens a TCP connection to one of several addresses: the address that answers first (RFC 8305, "Happy Eyeballs"). */
import net from 'node:net';

export const connectRules = {
  /** The time after which the next address is tried as well, while earlier addresses may still answer (RFC 8305, section 5). */
  attemptDelayMs: 250,
  /** The maximum number of addresses to try. A name with hundreds of addresses must not turn the service into a port scanner. */
  addresses: 16,
} as const;

/**
 * Codes of errors that mean that this host has no route to addresses of the family. If another address fails with a different error, that
 * error is more informative.
 */
const unreachableFamily: ReadonlySet<string> = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Tries the addresses in order, alternating between IPv4 and IPv6. A new try never ends an earlier try. So a slow receiver has time to
 * answer until the signal aborts.
 * @param addresses checked addresses as text, at least one
 * @param signal ends all tries
 * @returns the first socket that connects; the other sockets are destroyed
 * @throws the signal's reason, or, if all addresses fail, the most informative of their errors
 */
export async function connectToFirst(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<net.Socket> {
  signal.throwIfAborted();
  const remaining = alternating(addresses).slice(0, connectRules.addresses);
  const pending = new Set<net.Socket>();
  const failures: Error[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<net.Socket>();
  let timer: NodeJS.Timeout | undefined;

  const tryNext = () => {
    clearTimeout(timer);
    const address = remaining.shift();
    if (address === undefined) return;
    const socket = net.connect({ host: address, port, noDelay: true });
    pending.add(socket);
    socket.once('connect', () => resolve(socket));
    // The listener stays until the socket is closed, because an error without a listener would end the process.
    socket.on('error', (error) => {
      socket.destroy(error);
      if (!pending.delete(socket)) return;
      failures.push(error);
      if (remaining.length > 0) tryNext();
      else if (pending.size === 0) reject(mostTelling(failures));
    });
    if (remaining.length > 0) timer = setTimeout(tryNext, connectRules.attemptDelayMs);
  };
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    tryNext();
    const connected = await promise;
    pending.delete(connected);
    return connected;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    const unused = [...pending];
    pending.clear();
    for (const socket of unused) socket.destroy();
  }
}

/**
 * Orders the addresses so that the two families alternate, beginning with the family of the first address. The order within a family does
 * not change.
 */
function alternating(addresses: readonly string[]): string[] {
  const first = net.isIP(addresses[0] ?? '');
  const same = addresses.filter((address) => net.isIP(address) === first);
  const other = addresses.filter((address) => net.isIP(address) !== first);
  return same.flatMap((address, index) => [address, ...other.slice(index, index + 1)]).concat(other.slice(same.length));
}

function mostTelling(failures: readonly Error[]): Error | undefined {
  const isOurs = (error: Error) => 'code' in error && unreachableFamily.has(String(error.code));
  return failures.find((error) => !isOurs(error)) ?? failures[0];
}
