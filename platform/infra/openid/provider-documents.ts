/**
 * The discovery documents and keys of identity providers, in the memory of a process: for ten minutes, and for at most 200 issuers
 * (OIDC-5).
 */
import type { ServerMetadata } from 'openid-client';

/** In milliseconds. */
const documentsLastMs = 10 * 60_000;
const issuersInMemory = 200;
/** A token with an unknown key makes the process read the keys again, but at most once in this time. In milliseconds. */
const keysAreReadEveryMs = 10_000;

interface Keys {
  body: Buffer;
  keyIds: ReadonlySet<string>;
  readAt: number;
}

interface Documents {
  metadata: ServerMetadata;
  readAt: number;
  keys?: Keys;
}

export interface ProviderDocuments {
  metadataOf(issuer: string): ServerMetadata | undefined;
  keepMetadata(issuer: string, metadata: ServerMetadata): void;
  /** @param keyId the `kid` of the token to check; undefined if it has none */
  keysOf(issuer: string, keyId: string | undefined): Buffer | undefined;
  keepKeys(issuer: string, body: Buffer): void;
  forget(issuer: string): void;
}

/** @param clock Unix milliseconds */
export function createProviderDocuments(clock: () => number): ProviderDocuments {
  /** The issuer that was read first comes first. */
  const all = new Map<string, Documents>();
  const isFresh = (readAt: number) => clock() - readAt < documentsLastMs;
  return {
    metadataOf(issuer) {
      const documents = all.get(issuer);
      return documents && isFresh(documents.readAt) ? documents.metadata : undefined;
    },
    keepMetadata(issuer, metadata) {
      all.delete(issuer);
      all.set(issuer, { metadata, readAt: clock() });
      for (const oldest of [...all.keys()].slice(0, Math.max(0, all.size - issuersInMemory))) all.delete(oldest);
    },
    keysOf(issuer, keyId) {
      const keys = all.get(issuer)?.keys;
      if (!keys || !isFresh(keys.readAt)) return undefined;
      const isUnknown = keyId !== undefined && !keys.keyIds.has(keyId);
      return isUnknown && clock() - keys.readAt >= keysAreReadEveryMs ? undefined : keys.body;
    },
    keepKeys(issuer, body) {
      const documents = all.get(issuer);
      if (documents) documents.keys = { body, keyIds: keyIdsIn(body), readAt: clock() };
    },
    forget: (issuer) => void all.delete(issuer),
  };
}

/** @returns the ids of the keys; empty if the document is no key set, which the caller's library then reports */
function keyIdsIn(body: Buffer): ReadonlySet<string> {
  try {
    const { keys = [] } = JSON.parse(body.toString('utf8')) as { keys?: { kid?: unknown }[] };
    return new Set(keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])));
  } catch {
    return new Set();
  }
}
