// Makes the buckets of deploy/compose.yaml: a private one, and one whose objects everybody may read and nobody may list. Safe to repeat.
import { readFileSync } from 'node:fs';
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';

const { S3_ENDPOINT, S3_PRIVATE_BUCKET, S3_PUBLIC_BUCKET, S3_ACCESS_KEY_ID_FILE, S3_SECRET_ACCESS_KEY_FILE } =
  process.env;
const secretIn = (file) => readFileSync(file, 'utf8').trim();

const client = new S3Client({
  endpoint: S3_ENDPOINT,
  region: process.env.S3_REGION ?? 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId: secretIn(S3_ACCESS_KEY_ID_FILE), secretAccessKey: secretIn(S3_SECRET_ACCESS_KEY_FILE) },
});
for (const Bucket of [S3_PRIVATE_BUCKET, S3_PUBLIC_BUCKET])
  await client.send(new CreateBucketCommand({ Bucket })).catch((error) => {
    if (!error.name?.startsWith('BucketAlready')) throw error;
  });
const readableByAnybody = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${S3_PUBLIC_BUCKET}/*` },
  ],
};
await client.send(new PutBucketPolicyCommand({ Bucket: S3_PUBLIC_BUCKET, Policy: JSON.stringify(readableByAnybody) }));
process.stdout.write(`The buckets ${S3_PRIVATE_BUCKET} and ${S3_PUBLIC_BUCKET} are there.\n`);
