/**
 * Addresses to read files, signed by AWS Signature Version 4 (DEC-92). A page of 500 files has 1,500 of them, so the request is written
 * here and only its signature is the library's: `getSignedUrl` runs the whole middleware of the client for each address.
 */
import { LRUCache } from 'lru-cache';
import { S3RequestPresigner, type S3RequestPresignerOptions } from '@aws-sdk/s3-request-presigner';

/** An address is good for so long when it is handed out (MED-6), */
const goodMs = 15 * 60_000;
/** and for so long the same one is: another read costs little, and a browser shows again what it has loaded. */
const keptMs = 5 * 60_000;
/** Only who has asked keeps the file, and no longer than the address is good. */
const cacheControl = `private, max-age=${goodMs / 1_000}`;
/** Each takes some 1.5 KB with what it is kept by. */
const keptAtMost = 10_000;

/** What a signed address asks of the store. */
export interface SignedRead {
  bucket: string;
  key: string;
  /** Headers of the answer in place of those that the file was stored with. */
  answer?: { disposition: string; contentType: string } | undefined;
  /** For how long the address is good, by the store's clock; absent: at least 15 minutes, and others may have got the same. */
  seconds?: number | undefined;
}

/**
 * @param endpoint the store's address; its buckets are paths below it
 * @param access of a client of the store
 * @returns a function that signs the address of a file, whether or not there is one: what `getSignedUrl` gives, byte for byte
 */
export function createAddressSigner(
  endpoint: string,
  access: S3RequestPresignerOptions,
): (read: SignedRead) => Promise<string> {
  const presigner = new S3RequestPresigner(access);
  const kept = new LRUCache<string, string>({
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
    const known = kept.get(name);
    if (known !== undefined) return known;
    const address = await sign(read, (goodMs + keptMs) / 1_000);
    kept.set(name, address);
    return address;
  };
}

/** As signatures have it (RFC 3986): `encodeURIComponent` leaves five characters more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
