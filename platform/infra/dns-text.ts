/** Asking name servers for texts: what somebody publishes to prove that a domain is theirs. */
import { promises as dns } from 'node:dns';

/**
 * Asks for the TXT records of a name, each in one piece.
 * @returns none where the name has none
 * @throws Error where no name server answers: nothing is known then
 */
export type ResolveText = (name: string) => Promise<readonly string[]>;

/** Name servers that answer at all do so sooner; a caller waits no longer. */
const limitMs = 5_000;
/** What a name server says where there is no such record, or no such name. */
const saysNone: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND']);

/** @param servers name servers as `address:port`, instead of the machine's */
export function textResolver(servers: readonly string[] = []): ResolveText {
  return async (name) => {
    // One a question, so that giving up ends no other.
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
