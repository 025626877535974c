/** The S3 server, with a private bucket and a public bucket. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { startChild } from './children.ts';
import { locate } from '../components.ts';
import { components } from '../components/catalogue.ts';
import { host } from './ports.ts';
import { untilOk } from './readiness.ts';
import { type Part, type PartContext, startTimeoutMs } from './part.ts';

const region = 'us-east-1';
const accessKeyId = 'club-learning';
const buckets = { private: 'club-private', public: 'club-public' };
const healthPath = '/health';

/** Everyone may read the objects without a signature, but no one may list them. */
const readableByAnybody = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${buckets.public}/*` },
  ],
};

/** Starts the server; buckets and objects stay in the part's directory. */
export async function startStorage(secretAccessKey: string, port: number, context: PartContext): Promise<Part> {
  const command = await locate(components.versitygw, { report: context.report });
  const objects = path.join(context.directory, 'objects');
  // Metadata are stored in files, because not every file system has extended attributes.
  const metadata = path.join(context.directory, 'metadata');
  // The server needs this directory for versioning, which our buckets do not use.
  const versions = path.join(context.directory, 'versions');
  await Promise.all([objects, metadata, versions].map((directory) => mkdir(directory, { recursive: true })));

  const server = startChild({
    name: 'The S3 server',
    command,
    args: [
      '--port',
      `${host}:${port}`,
      '--health',
      healthPath,
      '--quiet',
      'posix',
      '--sidecar',
      metadata,
      '--versioning-dir',
      versions,
      objects,
    ],
    // The keys are no arguments, because the process list shows a program's arguments.
    env: { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey, VGW_REGION: region },
    logFile: context.logFile,
  });
  const endpoint = `http://${host}:${port}`;
  try {
    await untilOk(`${endpoint}${healthPath}`, { timeoutMs: startTimeoutMs, child: server });
    await createBuckets(endpoint, secretAccessKey);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    environment: {
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
      S3_PRIVATE_BUCKET: buckets.private,
      S3_PUBLIC_BUCKET: buckets.public,
    },
    child: server,
    stop: () => server.stop(),
  };
}

async function createBuckets(endpoint: string, secretAccessKey: string): Promise<void> {
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  try {
    for (const Bucket of Object.values(buckets)) {
      await client.send(new CreateBucketCommand({ Bucket })).catch((error: unknown) => {
        // The bucket exists from an earlier run.
        if (!(error instanceof Error && error.name.startsWith('BucketAlready'))) throw error;
      });
    }
    await client.send(
      new PutBucketPolicyCommand({ Bucket: buckets.public, Policy: JSON.stringify(readableByAnybody) }),
    );
  } finally {
    client.destroy();
  }
}
