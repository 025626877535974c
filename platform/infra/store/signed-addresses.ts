/**
 * Signs addresses to read files, by AWS Signature Version 4 (DEC-92). A page of 500 files has 1,500 addresses, and `getSignedUrl` would run
 * the client's whole middleware for each. So this file builds the request, and the library only signs it.
 */
import { LRUCache } from 'lru-cache';
import { S3RequestPresigner, type S3RequestPresignerOptions } from '@aws-sdk/s3-request-presigner';

/** The API returns no address that expires earlier (MED-6). */
const goodMs = 15 * 60_000;
/** An address is used again for this time. So a repeated read costs little, and a browser can use its cached file. */
const keptMs = 5 * 60_000;
/** Only the caller may cache the file, while the address is valid. */
const cacheControl = `private, max-age=${goodMs / 1_000}`;
/** An entry takes about 1.5 KB. */
const keptAtMost = 10_000;

export interface SignedRead {
  bucket: string;
  key: string;
  /** These values replace the stored headers. */
  answer?: { disposition: string; contentType: string } | undefined;
  /** The store's clock counts. If absent, at least 15 minutes, and other callers may get this address. */
  seconds?: number | undefined;
}

/**
 * @param endpoint the buckets are paths below this address
 * @returns a function that signs the address of a file, even if the file does not exist; byte for byte like `getSignedUrl`
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

/** Signatures need RFC 3986; `encodeURIComponent` leaves five more characters unchanged. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
