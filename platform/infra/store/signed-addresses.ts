/**
 * Signs addresses to read files, by AWS Signature Version 4 (DEC-92). A page of 500 files has 1,500 addresses. So the request is built in
 * this file, and the library only signs it. `getSignedUrl` would run the client's whole middleware for each address.
 */
import { LRUCache } from 'lru-cache';
import { S3RequestPresigner, type S3RequestPresignerOptions } from '@aws-sdk/s3-request-presigner';

/** The minimum remaining lifetime of an address that the API returns (MED-6). */
const goodMs = 15 * 60_000;
/** The time for which the API returns an unchanged address. A repeated read costs little, and a browser can show its cached file. */
const keptMs = 5 * 60_000;
/** Only the cache of the caller may store the file, and only as long as the address is valid. */
const cacheControl = `private, max-age=${goodMs / 1_000}`;
/** The maximum number of cached addresses. Each entry takes about 1.5 KB, including its cache key. */
const keptAtMost = 10_000;

/** The request of a signed address. */
export interface SignedRead {
  bucket: string;
  key: string;
  /** Headers of the answer that replace the stored headers. */
  answer?: { disposition: string; contentType: string } | undefined;
  /**
   * The lifetime of the address by the store's clock. If absent, the lifetime is at least 15 minutes, and other callers may have got the
   * same address.
   */
  seconds?: number | undefined;
}

/**
 * @param endpoint the address of the store. The buckets are paths below this address
 * @param access the configuration of a client of the store
 * @returns a function that signs the address of a file, even if the file does not exist. Its result is byte for byte the result of
 * `getSignedUrl`.
 */
export function createAddressSigner(
  endpoint: string,
  access: S3RequestPresignerOptions,
): (read: SignedRead) => Promise<string> {
  const presigner = new S3RequestPresigner(access);
  const cache = new LRUCache<string, string>({
    max: keptAtMost,
    ttl: keptMs,
    ttlResolution: 0,
    perf: { now: () => Date.now() },
  });
  const { origin, protocol, hostname, port, pathname } = new URL(endpoint);
  const store = { method: 'GET', protocol, hostname, ...(port !== '' && { port: Number(port) }) };
  const root = pathname.replace(/\/$/, '');
  const sign = async ({ bucket, key, answer }: SignedRead, expiresIn: number) => {
    const path = `${root}/${[bucket, ...key.split('/')].map(encode).join('/')}`;
    const headers = {
      'response-cache-control': cacheControl,
      ...(answer && {
        'response-content-disposition': answer.disposition,
        'response-content-type': answer.contentType,
      }),
    };
    const request = { ...store, path, query: { ...headers, 'x-id': 'GetObject' }, headers: {} };
    const { query = {} } = await presigner.presign(request, { expiresIn });
    const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(String(value))}`);
    return `${origin}${path}?${pairs.toSorted().join('&')}`;
  };
  return async (read) => {
    if (read.seconds !== undefined) return sign(read, read.seconds);
    const name = JSON.stringify([read.bucket, read.key, read.answer?.disposition, read.answer?.contentType]);
    const known = cache.get(name);
    if (known !== undefined) return known;
    const address = await sign(read, (goodMs + keptMs) / 1_000);
    cache.set(name, address);
    return address;
  };
}

/** Encodes text as signatures require (RFC 3986): `encodeURIComponent` leaves five more characters unchanged. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
