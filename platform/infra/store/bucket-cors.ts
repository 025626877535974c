/** The CORS rules of a bucket: which pages may upload files to signed addresses in a browser, and read files (MED-12). */
import { GetBucketCorsCommand, PutBucketCorsCommand, type CORSRule, type S3Client } from '@aws-sdk/client-s3';

/** This id finds our rule among the other rules of the bucket. */
const ruleId = 'club-learning';

/** A browser needs these methods and headers for an upload. */
const needed = { methods: ['PUT', 'GET'], headers: ['content-type', 'if-none-match'] } as const;

const ruleFor = (origins: readonly string[]): CORSRule => ({
  ID: ruleId,
  AllowedOrigins: [...origins],
  AllowedMethods: ['GET', 'HEAD', 'PUT'],
  AllowedHeaders: [...needed.headers, 'range'],
  ExposeHeaders: ['Accept-Ranges', 'Content-Length', 'Content-Range', 'ETag'],
  MaxAgeSeconds: 3_600,
});

/**
 * Lets pages of these origins upload files. If the rules do not allow it yet, our rule is replaced and comes first. Safe to repeat.
 * @param origins such as `https://dashboard.example.com`
 * @returns whether the rules have changed
 * @throws the store's error, for example if the key lacks the permission
 */
export async function allowOrigins(client: S3Client, Bucket: string, origins: readonly string[]): Promise<boolean> {
  const rules = await rulesOf(client, Bucket);
  if (origins.every((origin) => rules.some((rule) => allows(rule, origin)))) return false;
  const others = rules.filter(({ ID }) => ID !== ruleId);
  const CORSConfiguration = { CORSRules: [ruleFor(origins), ...others] };
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration }));
  return true;
}

async function rulesOf(client: S3Client, Bucket: string): Promise<CORSRule[]> {
  try {
    return (await client.send(new GetBucketCorsCommand({ Bucket }))).CORSRules ?? [];
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchCORSConfiguration') return [];
    throw error;
  }
}

function allows(
  { AllowedOrigins = [], AllowedMethods = [], AllowedHeaders = [] }: Partial<CORSRule>,
  origin: string,
): boolean {
  return (
    AllowedOrigins.some((allowed) => matches(allowed, origin)) &&
    needed.methods.every((method) => AllowedMethods.includes(method)) &&
    needed.headers.every((header) => AllowedHeaders.some((allowed) => matches(allowed.toLowerCase(), header)))
  );
}

/** @param allowed a pattern with at most one asterisk, which matches anything */
function matches(allowed: string, value: string): boolean {
  const [begin = '', end] = allowed.split('*');
  if (end === undefined) return allowed === value;
  return value.length >= begin.length + end.length && value.startsWith(begin) && value.endsWith(end);
}
