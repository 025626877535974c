/**
 * The stack that the processes of a test run share: one set of servers, one template database, and one bundle of the workflows. The first
 * process of the run serves this stack on the loopback interface. Each part of the stack is created when a test first requests it, so tests
 * of pure functions create nothing.
 */
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdir, rm, readdir } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import pg from 'pg';
import type { Environment } from '../../config.ts';
import { Secret } from '../../platform/core/secret.ts';
import { isAlive } from '../../dev/stack/children.ts';
import { messageOf, Problem } from '../../dev/problem.ts';
import { startStack, type PartName, type Stack } from '../../dev/stack/stack.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { writeWorkflowBundle } from '../../worker/temporal/workflow-bundle.ts';

export interface Share {
  /** The environment for readConfig(). The database and the namespace are only for this process, and all servers are shared. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
}

export interface RunServer {
  readonly url: string;
  stop(): Promise<void>;
}

const directoryPrefix = 'club-learning-test-';
/**
 * The time limit for a connection to Postgres. It is longer than in the service, because the machine may be busy. It is below mocha's limit
 * of 20 s, so that an exhausted pool is reported as such.
 */
const connectWithinMs = 15_000;

/**
 * @param env the environment. Its DATABASE_URL, if any, replaces the Postgres of the stack. The test databases in that Postgres are dropped
 * at the end
 */
export async function startRunServer(jobs: number, env: Environment = process.env): Promise<RunServer> {
  if (env['TEMPORAL_ADDRESS']) throw new Problem('The tests start a Temporal of their own: unset TEMPORAL_ADDRESS.');
  const givenDatabase = env['DATABASE_URL']; // read before the tests, because test files may change the variable
  await removeLeftovers();
  const directory = directoryOf(process.pid);
  const namespaces = Array.from({ length: jobs }, (_, job) => namespaceOf(job));
  let stack: Promise<Stack> | undefined;
  let templated: Promise<unknown> | undefined;
  let bundled: Promise<string> | undefined;
  const databases: string[] = [];
  const newDatabase = async (url: string, from: string) => {
    const name = `club_test_${process.pid}_${databases.length}`;
    databases.push(name);
    // The strategy FILE_COPY copies files. The default strategy WAL_LOG would write each page twice.
    await administer(url, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`);
    return withDatabase(url, name);
  };

  /**
   * Restarts a server that has crashed, because otherwise all further tests would fail. The launcher later prints the file `TEST_CRASHES`.
   */
  const bringBack = async (message: string, name: PartName) => {
    process.stderr.write(`${message}\n`);
    if (env['TEST_CRASHES']) appendFileSync(env['TEST_CRASHES'], `${message}\n`);
    await (await stack)?.startAgain(name).catch((error: unknown) => process.stderr.write(`${messageOf(error)}\n`));
  };
  const running = async () => {
    stack ??= startStack({
      directory,
      ports: 'free',
      namespaces,
      parts: ['temporal', 'postgres', 'storage'],
      onUnexpectedEnd: (message, name) => void bringBack(message, name),
    });
    const started = await stack;
    const url = started.environment['DATABASE_URL'] ?? '';
    templated ??= newDatabase(url, 'template0').then(migrateDatabase);
    await templated;
    return { ...started.environment, url };
  };
  const answers: Record<string, (query: URLSearchParams) => Promise<unknown>> = {
    async '/share'(query): Promise<Share> {
      const { url, ...environment } = await running();
      const DATABASE_URL = await newDatabase(url, databases[0] ?? 'template0');
      const TEMPORAL_NAMESPACE = namespaceOf(Number(query.get('job')));
      const patience = { DATABASE_CONNECT_WITHIN_MS: String(connectWithinMs) };
      return { directory, environment: { ...environment, ...patience, DATABASE_URL, TEMPORAL_NAMESPACE } };
    },
    async '/ready'() {
      await running();
      return true;
    },
    async '/bundle'() {
      const file = path.join(directory, 'workflow-bundle.js');
      bundled ??= bundle(file);
      return bundled;
    },
  };

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const answer = answers[pathname];
    if (answer === undefined) return void response.writeHead(404).end();
    void answer(searchParams).then(
      (result) => send(response, 200, result),
      (error: unknown) => send(response, 500, messageOf(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A server listens on a port.');

  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      // If the start of the stack failed, the stack has already stopped its servers.
      const started = await stack?.catch(() => undefined);
      for (const name of givenDatabase ? databases : []) {
        await administer(givenDatabase ?? '', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }
      await started?.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Bundles the workflows. The folder of the bundle may not exist yet, because only a stack creates the folder, and the replay of histories
 * needs no stack.
 */
async function bundle(file: string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeWorkflowBundle(file, new DefaultLogger('ERROR'));
  return file;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Migrates the template database to the newest schema. Copying the template takes a tenth of the time that the migrations take. */
async function migrateDatabase(url: string): Promise<void> {
  const source = await createDataSource(
    { url: new Secret(url), poolSize: 2, connectWithinMs },
    'club-test',
  ).initialize();
  try {
    await migrate(source);
  } finally {
    await source.destroy();
  }
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

const namespaceOf = (job: number) => `test-${job}`;
const directoryOf = (pid: number) => path.join(os.tmpdir(), `${directoryPrefix}${pid}`);

/** Removes the directories of killed test runs. The name of each directory contains the process id of the run. */
async function removeLeftovers(): Promise<void> {
  const names = (await readdir(os.tmpdir())).filter((name) => name.startsWith(directoryPrefix));
  const dead = names
    .map((name) => Number(name.slice(directoryPrefix.length)))
    .filter((pid) => pid === process.pid || !isAlive(pid));
  await Promise.all(dead.map((pid) => rm(directoryOf(pid), { recursive: true, force: true })));
}
