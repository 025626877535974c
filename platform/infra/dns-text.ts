/** Queries name servers for TXT records, which a club publishes to prove that it owns a domain. */
import { promises as dns } from 'node:dns';

/**
 * Finds the TXT records of a name. The pieces of each record are joined.
 * @returns an empty list if the name has no TXT record
 * @throws Error if no name server answers, because then the records are unknown
 */
export type ResolveText = (name: string) => Promise<readonly string[]>;

/** Working name servers answer sooner. */
const limitMs = 5_000;
/** The record or the name does not exist. */
const saysNone: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND']);

/** @param servers `address:port`; by default the name servers of the machine */
export function textResolver(servers: readonly string[] = []): ResolveText {
  return async (name) => {
    // One resolver for each query, so that a cancelled query does not end other queries.
    const resolver = new dns.Resolver({ timeout: 1_500, tries: 2 });
    if (servers.length > 0) resolver.setServers(servers);
    const limit = setTimeout(() => resolver.cancel(), limitMs);
    try {
      return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''));
    } catch (error) {
      if (saysNone.has((error as NodeJS.ErrnoException).code)) return [];
      throw error;
    } finally {
      clearTimeout(limit);
    }
  };
}
