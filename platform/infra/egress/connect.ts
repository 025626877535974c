/** Opens a TCP connection to the first of several addresses that answers (RFC 8305, "Happy Eyeballs"). */
import net from 'node:net';

export const connectRules = {
  /** The time after which the next address is tried as well, while earlier addresses may still answer (RFC 8305, section 5). */
  attemptDelayMs: 250,
  /** The most addresses to try. A name with hundreds of addresses must not turn the service into a port scanner. */
  addresses: 16,
} as const;

/**
 * The codes of errors that arise on this host itself, because it has no route to addresses of this family. If the connection to another
 * address fails with a different error, that error is more informative.
 */
const unreachableFamily: ReadonlySet<string> = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/**
 * Tries the addresses in order, alternating between IPv4 and IPv6. A further try never ends an earlier one, so a slow receiver is reached
 * as long as the signal allows.
 * @param addresses checked addresses as text, at least one
 * @param signal ends all tries
 * @returns the first socket that connects; the others are destroyed
 * @throws the signal's reason; if all addresses fail, the most informative error
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
    // The listener stays for the socket's whole life, because an error without a listener would end the process.
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
