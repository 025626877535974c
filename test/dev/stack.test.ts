import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Connection } from '@temporalio/client';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { isAlive } from '../../dev/stack/children.ts';
import { lockHolder } from '../../dev/stack/lock.ts';
import { fixedPorts, freePorts, host, type PortName } from '../../dev/stack/ports.ts';
import { scriptArguments } from '../../dev/project.ts';
import { startStack, type Stack, type StackOptions } from '../../dev/stack/stack.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';

describe('dev/stack', () => {
  let directory: string;
  const running: Stack[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'stack-'));
  });
  afterEach(async function () {
    this.timeout(60_000); // The stack waits 10 s for a server that stops slowly before it kills the server.
    await Promise.all(running.splice(0).map((stack) => stack.stop()));
    await rm(directory, { recursive: true, force: true });
  });

  const start = async (options: Partial<StackOptions> = {}) => {
    const stack = await startStack({
      directory,
      ports: 'free',
      parts: ['postgres'],
      env: { PATH: process.env['PATH'] },
      ...options,
    });
    running.push(stack);
    return stack;
  };
  const query = async (stack: Stack, sql: string) => {
    const client = new pg.Client({ connectionString: stack.environment['DATABASE_URL'] });
    // If the connection closes, the statement reports the error. The error event can therefore be ignored.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows as unknown[];
    } finally {
      await client.end();
    }
  };

  it('still has its data and secrets after a restart', async () => {
    const first = await start();
    await query(first, 'CREATE TABLE kept AS SELECT 1 AS one');
    await first.stop();
    const second = await start();
    expect(await query(second, 'SELECT * FROM kept')).to.deep.equal([{ one: 1 }]);
    expect(second.environment['MASTER_KEY']).to.equal(first.environment['MASTER_KEY']);
    expect((await stat(path.join(directory, 'secrets.json'))).mode & 0o777).to.equal(0o600);
  });

  it('stores data durably if it uses fixed ports, but not if it uses free ports, as in tests', async () => {
    const ports = await freePorts(Object.keys(fixedPorts) as PortName[]);
    const env = Object.fromEntries(
      Object.entries(fixedPorts).map(([name, { variable }]) => [variable, String(ports[name as PortName])]),
    );
    const durable = await start({ ports: 'fixed', env });
    const settings = `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`;
    expect(await query(durable, settings)).to.deep.equal([{ fsync: 'on', commit: 'on' }]);
    await durable.stop();
    expect(await query(await start(), settings)).to.deep.equal([{ fsync: 'off', commit: 'off' }]);
  });

  it('uses the address of a server in the environment instead of starting its own server', async () => {
    const url = 'postgres://somebody@db.example.com/theirs';
    const stack = await start({ parts: ['postgres', 'mailbox'], env: { DATABASE_URL: url } });
    expect(stack.environment['DATABASE_URL']).to.equal(url);
    expect(stack.pids).to.deep.equal({});
    expect(stack.environment['SMTP_URL']).to.match(/^smtp:\/\/127\.0\.0\.1:\d+$/);
  });

  it('starts nothing if a port is in use', async () => {
    const ports = await freePorts(Object.keys(fixedPorts) as PortName[]);
    const env = Object.fromEntries(
      Object.entries(fixedPorts).map(([name, { variable }]) => [variable, String(ports[name as PortName])]),
    );
    const occupant = net.createServer().listen(ports.mailbox, host);
    await once(occupant, 'listening');
    try {
      const message = await problemOf(start({ ports: 'fixed', parts: ['postgres', 'mailbox'], env }));
      expect(message.split('\n')[0]).to.equal(
        `Port ${ports.mailbox} on 127.0.0.1 is in use: the mailbox, for browsers needs it. Choose another port: MAILBOX_PORT=<port> npm start`,
      );
      expect(await lockHolder(directory)).to.equal(undefined);
    } finally {
      occupant.close();
    }
    await start({ ports: 'fixed', parts: ['postgres', 'mailbox'], env });
  });

  it('refuses to start twice in the same directory', async () => {
    await start({ parts: ['mailbox'] });
    expect(await problemOf(start({ parts: ['mailbox'] }))).to.equal(
      `The development stack is running already in ${directory} (process ${process.pid}). Stop it first, with Ctrl-C in its terminal.`,
    );
  });

  it('reports a server that ends by itself, with its last output', async () => {
    let report: (message: string) => void = () => undefined;
    const reported = new Promise<string>((resolve) => (report = resolve));
    const { pids } = await start({ onUnexpectedEnd: report });
    process.kill(pids.postgres ?? 0, 'SIGINT');
    expect(await reported).to.match(
      /^Postgres ended unexpectedly \(exit code 0\)\. Its last output:\n[^]*database system is shut down$/,
    );
  });

  it('reports a server that ends unexpectedly, and can restart the server with its old data', async () => {
    const ended = Promise.withResolvers<string>();
    const stack = await start({ onUnexpectedEnd: (_, name) => ended.resolve(name) });
    await query(stack, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(stack.pids.postgres ?? 0, 'SIGINT');
    expect(await ended.promise).to.equal('postgres');
    await stack.startAgain('postgres');
    expect(await query(stack, 'SELECT * FROM kept')).to.deep.equal([{ one: 1 }]);
  });

  it('restarts a killed server with its data and its port, and reports no unexpected end', async () => {
    const reports: string[] = [];
    const stack = await start({ onUnexpectedEnd: (message) => reports.push(message) });
    const [url, pid] = [stack.environment['DATABASE_URL'], stack.pids.postgres];
    await query(stack, 'CREATE TABLE kept AS SELECT 1 AS one');
    await query(stack, 'CHECKPOINT');
    await stack.kill('postgres');
    expect(isAlive(pid ?? 0)).to.equal(false);
    await stack.startAgain('postgres');
    expect(await query(stack, 'SELECT * FROM kept')).to.deep.equal([{ one: 1 }]);
    expect(stack.environment['DATABASE_URL']).to.equal(url);
    expect(stack.pids.postgres).not.to.equal(pid);
    expect(reports).to.deep.equal([]);
    process.kill(stack.pids.postgres ?? 0, 'SIGINT');
    while (reports.length === 0) await sleep(20);
    expect(reports[0]).to.match(/^Postgres ended unexpectedly/);
  });

  it('restarts Postgres after the sessions of a killed Postgres have ended', async () => {
    const stack = await start();
    const statement = 'SELECT count(*) FROM generate_series(1, 10000000)';
    const order: string[] = [];
    const slow = query(stack, statement).then(() => order.push('the statement has ended'));
    const isActive = `SELECT 1 FROM pg_stat_activity WHERE query = '${statement}' AND state = 'active'`;
    while ((await query(stack, isActive)).length === 0);
    await stack.kill('postgres');
    await stack.startAgain('postgres');
    order.push('Postgres has started');
    expect(await query(stack, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    await slow;
    expect(order).to.deep.equal(['the statement has ended', 'Postgres has started']);
  });

  describe('after a killed run', () => {
    const startAndKill = async () => {
      const holder = spawn(
        process.execPath,
        [...scriptArguments('test/toolkit/stack/stack-in-a-process.ts'), directory],
        {
          env: { PATH: process.env['PATH'] },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      const [line] = (await once(holder.stdout, 'data')) as [Buffer];
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      return Number(line.toString());
    };

    it('leaves no process of the killed run', async () => {
      const pid = await startAndKill();
      for (let waited = 0; isAlive(pid) && waited < 10_000; waited += 100) await sleep(100);
      expect(isAlive(pid)).to.equal(false);
    });

    it('starts again immediately', async () => {
      await startAndKill();
      expect(await query(await start(), 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    });

    it('ignores a pid file of Postgres that names a process of another program', async () => {
      await (await start()).stop();
      const pidFile = path.join(directory, 'postgres', 'data', 'postmaster.pid');
      await writeFile(pidFile, `${process.pid}\n${path.dirname(pidFile)}\n`);
      await start();
      expect(Number.parseInt(await readFile(pidFile, 'utf8'), 10)).not.to.equal(process.pid);
    });
  });
});

describe('dev/stack, all parts', () => {
  let directory: string;
  let stack: Stack;
  before(async function () {
    this.timeout(60_000);
    directory = await mkdtemp(path.join(os.tmpdir(), 'stack-'));
    stack = await startStack({ directory, ports: 'free', env: { PATH: process.env['PATH'], HOME: os.homedir() } });
  });
  after(async () => {
    await stack?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('provides a complete configuration', () => {
    const config = readConfig(stack.environment);
    expect(config.temporal.namespace).to.equal('club-learning');
    expect(config.egress.allowedNetworks).to.deep.equal(['127.0.0.0/8']);
  });

  it('configures Temporal to keep closed workflows for 3 days and to have the search attributes', async () => {
    const connection = await Connection.connect({ address: stack.environment['TEMPORAL_ADDRESS'] ?? '' });
    try {
      const namespace = stack.environment['TEMPORAL_NAMESPACE'] ?? '';
      const described = await connection.workflowService.describeNamespace({ namespace });
      expect(Number(described.config?.workflowExecutionRetentionTtl?.seconds)).to.equal(3 * 86_400);
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const keyword = 2;
      expect(customAttributes).to.include({ ClubId: keyword, EndpointId: keyword, EventType: keyword });
    } finally {
      await connection.close();
    }
  });

  it('allows everyone to read files of the public bucket, and no one to list or write files', async () => {
    const storage = readConfig(stack.environment).storage;
    const client = new S3Client({
      endpoint: storage.endpoint,
      region: storage.region,
      forcePathStyle: true,
      credentials: { accessKeyId: storage.accessKeyId.reveal(), secretAccessKey: storage.secretAccessKey.reveal() },
    });
    const statusOf = async (target: string, init?: RequestInit) =>
      (await fetch(`${storage.endpoint}/${target}`, init)).status;
    try {
      await eachCase([storage.publicBucket, storage.privateBucket], async (Bucket) => {
        await client.send(new PutObjectCommand({ Bucket, Key: 'a/picture.txt', Body: 'picture' }));
        expect(await statusOf(`${Bucket}/`)).to.equal(403);
        expect(await statusOf(`${Bucket}/a/other.txt`, { method: 'PUT', body: 'x' })).to.equal(403);
      });
    } finally {
      client.destroy();
    }
    expect(await statusOf(`${storage.publicBucket}/a/picture.txt`)).to.equal(200);
    expect(await statusOf(`${storage.privateBucket}/a/picture.txt`)).to.equal(403);
  });
});
