/** Tests that pages of docs/how-to name everything that an operator must set up or may look up. */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, readConfig } from '../../config.ts';
import { projectDirectory } from '../../dev/project.ts';
import { pauseReasons } from '../../entities/campaigns/values.ts';
import { searchAttributes, taskQueues, workflowTypes } from '../../platform/engine/workflow-types.ts';

const read = (file: string) => readFileSync(path.join(projectDirectory, file), 'utf8');
const [deploy, operate, findRun] = ['deploy', 'operate', 'find-a-run'].map((page) =>
  read(`docs/how-to/${page}.md`),
) as [string, string, string];

/** The S3 permission that each command of the S3 client needs. */
const permissions: Readonly<Record<string, readonly string[]>> = {
  GetObjectCommand: ['s3:GetObject', 's3:ListBucket'],
  HeadObjectCommand: ['s3:GetObject', 's3:ListBucket'],
  PutObjectCommand: ['s3:PutObject'],
  DeleteObjectCommand: ['s3:DeleteObject', 's3:DeleteObjectVersion'],
  ListObjectVersionsCommand: ['s3:ListBucketVersions'],
  ListObjectsV2Command: ['s3:ListBucket'],
  ListMultipartUploadsCommand: ['s3:ListBucketMultipartUploads'],
  AbortMultipartUploadCommand: ['s3:AbortMultipartUpload'],
  CopyObjectCommand: ['s3:GetObject', 's3:PutObject'],
  CreateMultipartUploadCommand: ['s3:PutObject'],
  UploadPartCopyCommand: ['s3:GetObject', 's3:PutObject'],
  ListPartsCommand: ['s3:ListMultipartUploadParts'],
  CompleteMultipartUploadCommand: ['s3:PutObject'],
};

describe('pages for operators', () => {
  it('name every search attribute and every required variable (deploy.md)', () => {
    const attributes = /search attributes of type Keyword \((.+?)\)/.exec(deploy)?.[1] ?? '';
    expect(attributes.match(/\w+/g)).to.deep.equal([...searchAttributes]);
    let problems: readonly string[] = [];
    try {
      readConfig({});
    } catch (error) {
      problems = error instanceof ConfigError ? error.problems : [];
    }
    const missing = problems.flatMap((problem) => /^(\w+) is missing$/.exec(problem)?.[1] ?? []);
    const named = /These must be set: (.+)\.$/m.exec(deploy)?.[1] ?? '';
    expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).to.have.members(missing);
  });

  it('list, for the key of the buckets, a permission for every S3 command of the service (deploy.md)', () => {
    const stores = ['platform/infra/store/object-store.ts', 'platform/infra/store/part-store.ts'].map(read).join('\n');
    const sentCommands = new Set(stores.match(/\b[A-Z]\w+Command\b/g));
    expect(Object.keys(permissions)).to.have.members([...sentCommands]);
    const row = /^\| private and public \|.+$/m.exec(deploy)?.[0] ?? '';
    expect([...row.matchAll(/`(s3:\w+)`/g)].map(([, name]) => name)).to.have.members([
      ...new Set(Object.values(permissions).flat()),
    ]);
  });

  it('name every extension of Postgres that a migration requires (deploy.md)', () => {
    const migrations = globSync('entities/migrations/*.ts', { cwd: projectDirectory }).map(read).join('\n');
    const required = [...migrations.matchAll(/requireExtension\(queryRunner, '(\w+)'\)/g)].map(([, name]) => name);
    expect(required).to.have.length.above(0);
    const named = /create the extensions (.+?):/.exec(deploy)?.[1] ?? '';
    expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).to.have.members(required);
  });

  it('name a remedy for every reason that pauses a campaign (operate.md)', () => {
    const [, campaigns = ''] = operate.split('\n## Campaigns\n');
    const [table = ''] = campaigns.split('\n## ');
    const rows = table.split('\n').filter((line) => line.startsWith('| `paused`'));
    const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(named.filter((name) => name !== 'paused' && name !== 'pause_reason')).to.have.members([...pauseReasons]);
  });

  it('name every task queue (operate.md)', () => {
    const queues = /names the queues of a worker, separated by commas: (.+?)\./.exec(operate)?.[1] ?? '';
    expect(queues.match(/[\w-]+/g)).to.deep.equal([...taskQueues]);
  });

  it('explain the waits of every workflow (find-a-run.md)', () => {
    const ids = [...findRun.matchAll(/^\| `([\w-]+)\/…` \|/gm)].map(([, id]) => id);
    expect(ids).to.have.members(Object.values(workflowTypes).map(({ id }) => id));
  });
});
