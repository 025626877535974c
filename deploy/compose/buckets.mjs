// Prepares the store of deploy/compose.yaml with the store's root key. Safe to repeat. It creates:
// - a private bucket;
// - a public bucket, whose objects everyone may read but not list;
// - the key of the service, which may only use the objects of these two buckets.
import { readFileSync } from 'node:fs';
import { CreateBucketCommand, ListBucketsCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';

const { env } = process;
const secretIn = (file) => readFileSync(file, 'utf8').trim();
const root = {
  accessKeyId: secretIn(env.S3_ROOT_ACCESS_KEY_ID_FILE),
  secretAccessKey: secretIn(env.S3_ROOT_SECRET_ACCESS_KEY_FILE),
};
const service = { access: secretIn(env.S3_ACCESS_KEY_ID_FILE), secret: secretIn(env.S3_SECRET_ACCESS_KEY_FILE) };
if (service.access === root.accessKeyId) {
  process.stderr.write(
    'The key of the service has the id of the root key of the store. Change deploy/secrets/s3-access-key-id.\n',
  );
  process.exit(1);
}

const clientOf = (endpoint) =>
  new S3Client({ endpoint, region: env.S3_REGION ?? 'us-east-1', forcePathStyle: true, credentials: root });
const client = clientOf(env.S3_ENDPOINT);

// The permissions of docs/how-to/deploy.md#buckets. The API sets the CORS rules, so it also needs the permissions for them.
const onBuckets = ['s3:ListBucket', 's3:ListBucketVersions', 's3:ListBucketMultipartUploads'];
const onCors = ['s3:GetBucketCORS', 's3:PutBucketCORS'];
const onObjects = [
  's3:GetObject',
  's3:PutObject',
  's3:AbortMultipartUpload',
  's3:ListMultipartUploadParts',
  's3:DeleteObject',
  's3:DeleteObjectVersion',
];

await keepUser(service);
await keepBucket(env.S3_PRIVATE_BUCKET, []);
const everybody = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject' };
await keepBucket(env.S3_PUBLIC_BUCKET, [{ ...everybody, Resource: `arn:aws:s3:::${env.S3_PUBLIC_BUCKET}/*` }]);
process.stdout.write(
  `The buckets ${env.S3_PRIVATE_BUCKET} and ${env.S3_PUBLIC_BUCKET} exist, and the key ${service.access} may use them.\n`,
);

/** Creates the bucket if it is missing. @param more further statements of its policy */
async function keepBucket(bucket, more) {
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error) => {
    if (!error.name?.startsWith('BucketAlready')) throw error;
  });
  const own = { Effect: 'Allow', Principal: { AWS: [service.access] } };
  const Statement = [
    { ...own, Action: [...onBuckets, ...onCors], Resource: `arn:aws:s3:::${bucket}` },
    { ...own, Action: onObjects, Resource: `arn:aws:s3:::${bucket}/*` },
    ...more,
  ];
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
  await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy }));
}

/** Creates a user of the store, or changes its secret. The store has its own interface for users, with the signatures of S3. */
async function keepUser({ access, secret }) {
  const words = { access: escaped(access), secret: escaped(secret) };
  try {
    await ask(
      '/create-user',
      {},
      `<Account><Access>${words.access}</Access><Secret>${words.secret}</Secret><Role>user</Role><UserID>0</UserID><GroupID>0</GroupID><ProjectID>0</ProjectID></Account>`,
    );
  } catch (error) {
    if (error.name !== 'XAdminUserExists') throw error;
    await ask(
      '/update-user',
      { access },
      `<MutableProps><Secret>${words.secret}</Secret><Role>user</Role></MutableProps>`,
    );
  }
}

/**
 * Sends a request to the store's interface for users. The S3 client has no method for it, so this function changes another request before
 * the client signs it.
 */
async function ask(path, query, body) {
  const admin = clientOf(env.S3_ADMIN_ENDPOINT);
  const headers = { 'content-type': 'application/xml', 'content-length': String(Buffer.byteLength(body)) };
  admin.middlewareStack.add(
    (next) => async (args) => {
      Object.assign(args.request, { method: 'PATCH', path, query, body });
      Object.assign(args.request.headers, headers);
      return next(args);
    },
    { step: 'build', priority: 'low' },
  );
  await admin.send(new ListBucketsCommand({})).finally(() => admin.destroy());
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
