/** Tests the object store of deploy/compose.yaml: what the key of the service may do. */
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteBucketPolicyCommand,
  DeleteObjectCommand,
  GetBucketCorsCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketCorsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { expect } from 'chai';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startChild, type Child } from '../../dev/stack/children.ts';
import { runCommand } from '../../dev/stack/commands.ts';
import { locate } from '../../dev/components.ts';
import { components } from '../../dev/components/catalogue.ts';
import { freePorts } from '../../dev/stack/ports.ts';
import { projectDirectory } from '../../dev/project.ts';
import { untilOk } from '../../dev/stack/readiness.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const buckets = { private: 'club-private', public: 'club-public' };

describe('the object store of deploy/compose.yaml', function () {
  this.timeout(60_000);
  const directory = mkdtempSync(path.join(os.tmpdir(), 'club-store-'));
  const secrets = path.join(directory, 'secrets');
  const secret = (name: string) => readFileSync(path.join(secrets, name), 'utf8');
  let server: Child;
  let endpoint: string;
  let adminEndpoint: string;
  let client: S3Client;

  const clientOf = (accessKeyId: string, secretAccessKey: string) =>
    new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    });
  const makeBuckets = () => {
    const files = ['S3_ROOT_ACCESS_KEY_ID', 'S3_ROOT_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
    return runCommand(process.execPath, [path.join(projectDirectory, 'deploy', 'compose', 'buckets.mjs')], {
      env: {
        S3_ENDPOINT: endpoint,
        S3_ADMIN_ENDPOINT: adminEndpoint,
        S3_PRIVATE_BUCKET: buckets.private,
        S3_PUBLIC_BUCKET: buckets.public,
        ...Object.fromEntries(
          files.map((name) => [`${name}_FILE`, path.join(secrets, name.toLowerCase().replaceAll('_', '-'))]),
        ),
      },
    });
  };

  before('start the store with the arguments of compose.yaml', async () => {
    await runCommand('sh', [path.join(projectDirectory, 'deploy/compose/make-secrets.sh'), secrets]);
    const { port, adminPort } = await freePorts(['port', 'adminPort']);
    [endpoint, adminEndpoint] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`];
    const compose = readFileSync(path.join(projectDirectory, 'deploy', 'compose.yaml'), 'utf8');
    const [, line = ''] = /exec versitygw (.+)$/m.exec(compose) ?? [];
    const data = path.join(directory, 'data');
    for (const name of ['objects', 'metadata', 'versions', 'users'])
      mkdirSync(path.join(data, name), { recursive: true });
    server = startChild({
      name: 'The store',
      command: await locate(components.versitygw),
      args: line
        .replace(':7070', `127.0.0.1:${port}`)
        .replace(':7071', `127.0.0.1:${adminPort}`)
        .replaceAll('/data/', `${data}/`)
        .split(' '),
      env: {
        ROOT_ACCESS_KEY: secret('s3-root-access-key-id'),
        ROOT_SECRET_KEY: secret('s3-root-secret-access-key'),
        VGW_REGION: 'us-east-1',
      },
      logFile: path.join(directory, 'log'),
    });
    await untilOk(`${endpoint}/health`, { timeoutMs: 30_000, child: server });
    await makeBuckets();
    client = clientOf(secret('s3-access-key-id'), secret('s3-secret-access-key'));
  });
  after(async () => {
    client?.destroy();
    await server?.stop();
    rmSync(directory, { recursive: true });
  });

  it('allows the key of the service all needed operations in both buckets', async () => {
    await eachCase(Object.values(buckets), async (Bucket) => {
      const object = { Bucket, Key: 'files/one' };
      await client.send(new PutObjectCommand({ ...object, Body: 'content' }));
      expect(await (await client.send(new GetObjectCommand(object))).Body?.transformToString()).to.equal('content');
      const { Contents } = await client.send(new ListObjectsV2Command({ Bucket }));
      expect(Contents?.map(({ Key }) => Key)).to.deep.equal(['files/one']);
      await client.send(new ListObjectVersionsCommand({ Bucket }));
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'files/two' }));
      const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      expect(Uploads?.map((upload) => upload.UploadId)).to.deep.equal([UploadId]);
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'files/two', UploadId }));
      const CORSConfiguration = { CORSRules: [{ AllowedMethods: ['PUT'], AllowedOrigins: ['https://example.com'] }] };
      await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration }));
      expect((await client.send(new GetBucketCorsCommand({ Bucket }))).CORSRules).to.have.lengthOf(1);
    });
    const copy = { Bucket: buckets.public, Key: 'files/copy', CopySource: `${buckets.private}/files/one` };
    await client.send(new CopyObjectCommand(copy));
    const objects = [
      { Bucket: buckets.private, Key: 'files/one' },
      { Bucket: buckets.public, Key: 'files/one' },
      { Bucket: buckets.public, Key: 'files/copy' },
    ];
    await eachCase(objects, async (object) => void (await client.send(new DeleteObjectCommand(object))));
  });

  it('does not let the key of the service create buckets, policies or users', async () => {
    const Policy = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3:*', Resource: `arn:aws:s3:::${buckets.private}/*` }],
    });
    const root = clientOf(secret('s3-root-access-key-id'), secret('s3-root-secret-access-key'));
    await root.send(new CreateBucketCommand({ Bucket: 'another' }));
    root.destroy();
    const Bucket = buckets.private;
    const refused = [
      () => client.send(new CreateBucketCommand({ Bucket: 'more' })),
      () => client.send(new DeleteBucketCommand({ Bucket })),
      () => client.send(new PutBucketPolicyCommand({ Bucket, Policy })),
      () => client.send(new DeleteBucketPolicyCommand({ Bucket: buckets.public })),
      () => client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } })),
      () => client.send(new PutObjectCommand({ Bucket: 'another', Key: 'one', Body: 'content' })),
      () => client.send(new ListObjectsV2Command({ Bucket: 'another' })),
    ];
    await eachCase(refused, async (ask) => {
      const name = await ask().then(
        () => 'nothing',
        (error: Error) => error.name,
      );
      expect(name, String(ask)).to.equal('AccessDenied');
    });
    for (const at of [endpoint, adminEndpoint]) {
      const { status } = await fetch(`${at}/create-user`, { method: 'PATCH', body: '<Account/>' });
      expect(status).to.be.within(400, 499);
    }
  });

  it('lets the public read only public objects, and list nothing', async () => {
    for (const Bucket of Object.values(buckets))
      await client.send(new PutObjectCommand({ Bucket, Key: 'object', Body: 'content' }));
    const statuses: number[] = [];
    for (const place of [`${buckets.public}/object`, buckets.public, `${buckets.private}/object`, buckets.private])
      statuses.push((await fetch(`${endpoint}/${place}`)).status);
    expect(statuses).to.deep.equal([200, 403, 403, 403]);
  });

  it('changes only the secret of the service’s key if the setup is repeated with a new secret', async () => {
    expect(await makeBuckets()).to.equal(
      'The buckets club-private and club-public exist, and the key club-learning may use them.\n',
    );
    writeFileSync(path.join(secrets, 's3-secret-access-key'), 'another & <secret>');
    await makeBuckets();
    const changed = clientOf(secret('s3-access-key-id'), 'another & <secret>');
    await changed.send(new ListObjectsV2Command({ Bucket: buckets.private }));
    changed.destroy();
  });

  it('is not set up if the root key is configured as the key of the service', async () => {
    writeFileSync(path.join(secrets, 's3-access-key-id'), secret('s3-root-access-key-id'));
    const errorOutput = await makeBuckets().then(
      () => 'nothing',
      (error: Error) => error.message,
    );
    expect(errorOutput).to.contain('The key of the service has the id of the root key of the store');
  });
});
