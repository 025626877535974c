/** Finds requests that a proxy and this server may understand differently. They are refused before any other code reads them (DEC-152). */

export interface RequestHead {
  readonly httpVersion: string;
  /** The received target, usually a path. */
  readonly url?: string | undefined;
  /** The received headers: each name is followed by its value. */
  readonly rawHeaders: readonly string[];
}

/** If one of these is repeated, Node uses the first one, and a proxy may have used the last one. */
const single: ReadonlySet<string> = new Set(['host', 'authorization', 'content-length', 'content-type']);

/** A host name, an IPv4 address or an IPv6 address in brackets, with or without a port. */
const authority = /^(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** @returns a message to the sender, or undefined */
export function headFault({ httpVersion, url = '', rawHeaders }: RequestHead): string | undefined {
  const counts = new Map<string, number>();
  let host: string | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (!single.has(name)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (name === 'host') host = rawHeaders[at + 1];
  }
  for (const [name, count] of counts) if (count > 1) return `The request has ${count} header fields ${name}. Send one.`;

  if (host === undefined) return httpVersion === '1.0' ? undefined : 'The request has no header field host.';
  if (!authority.test(host)) return 'The header field host is neither a name nor an address, with or without a port.';
  if (url.startsWith('/') || url === '*') return undefined;
  const [, named] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? [];
  return named?.toLowerCase() === host.toLowerCase()
    ? undefined
    : 'The target of the request is neither a path nor an address of the host in the header field host.';
}
