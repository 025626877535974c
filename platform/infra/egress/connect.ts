/** Opens a TCP connection to the address that answers first (RFC 8305, "Happy Eyeballs"). */
import net from 'node:net';

export const connectRules = {
  /** After this time the next address is tried as well (RFC 8305, section 5). */
  attemptDelayMs: 250,
  /** A name with hundreds of addresses must not turn the service into a port scanner. */
  addresses: 16,
} as const;

/** This host has no route to such addresses. The error of another address is more informative. */
const unreachableFamily: ReadonlySet<string> = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Tries IPv4 and IPv6 addresses alternately. A new try does not end an earlier try, so a slow receiver has time until the signal aborts.
 * @param addresses checked addresses, at least one
 * @param signal ends all tries
 * @returns the first socket that connects; the others are destroyed
 * @throws the signal's reason, or the most informative error of the addresses
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
    // An error without a listener would end the process.
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

/** Begins with the family of the first address, and keeps the order within a family. */
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
