/** Checks with a real upload whether the buckets accept files as browsers send them. */
import { randomUUID } from 'node:crypto';
import { describeError } from '../describe-error.ts';
import { createObjectStore, keyPrefix, type ObjectStoreSettings } from './object-store.ts';

const answerMs = 20_000;
const type = 'text/plain';

/**
 * Uploads a file to each bucket, and checks that a second upload is refused. For each origin, it sends the preflight request of a browser.
 * At the end it removes the files.
 * @returns the mistakes, each with its remedy
 */
export async function bucketMistakes(settings: ObjectStoreSettings, origins: readonly string[]): Promise<string[]> {
  const storage = createObjectStore(settings);
  const buckets = [
    { prefix: keyPrefix.private, bucket: settings.privateBucket, variable: 'S3_PRIVATE_BUCKET', origins },
    { prefix: keyPrefix.public, bucket: settings.publicBucket, variable: 'S3_PUBLIC_BUCKET', origins: [] },
  ];
  try {
    const checks = buckets.map(async ({ prefix, bucket, variable, origins: asking }) => {
      const key = `${prefix}doctor-${randomUUID()}`;
      const named = `the bucket ${bucket} (${variable})`;
      let isRemoved = false;
      try {
        const { url, headers } = await storage.signPut(key, type, 1, 60);
        const upload = async () =>
          (await fetch(url, { method: 'PUT', headers, body: 'x', signal: AbortSignal.timeout(answerMs) })).status;
        const first = await upload();
        if (first !== 200)
          return [
            `S3 answers ${first} to an upload to ${named}: does it exist, and may the key of S3_ACCESS_KEY_ID write there (docs/how-to/deploy.md, Buckets)?`,
          ];
        const second = await upload();
        const refusals = await Promise.all(asking.map((origin) => corsMistakes(url, named, origin)));
        await storage.remove(key);
        isRemoved = true;
        return [
          ...(second === 412 || second === 409
            ? []
            : [
                `S3 answers ${second} when a file of ${named} is replaced although If-None-Match forbids it. Use a server that obeys this header. Otherwise a member can replace a file after its inspection.`,
              ]),
          ...refusals.flat(),
        ];
      } catch (error) {
        const { code, name } = describeError(error);
        return [`S3 cannot be used with ${named} (${code ?? name}): is S3_ENDPOINT right, and is the server up?`];
      } finally {
        // If an answer got lost, the file may exist.
        if (!isRemoved) await storage.remove(key).catch(() => undefined);
      }
    });
    return (await Promise.all(checks)).flat();
  } finally {
    storage.close();
  }
}

async function corsMistakes(url: string, named: string, origin: string): Promise<string[]> {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'content-type,if-none-match',
    },
    signal: AbortSignal.timeout(answerMs),
  });
  const allowed = answer.headers.get('access-control-allow-origin');
  if (answer.ok && (allowed === origin || allowed === '*')) return [];
  return [
    `S3 does not let pages of ${origin} send files to ${named}: an API process sets this rule when it starts, so start one first. If its key has no s3:PutBucketCORS, set it by hand (docs/how-to/operate.md, Let browsers upload).`,
  ];
}
