/** Starts Postgres from the server binaries in npm packages. */
import { execSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isAlive, startChild } from './children.ts';
import { runCommand } from './commands.ts';
import { host } from './ports.ts';
import { messageOf, Problem } from '../problem.ts';
import { until } from './readiness.ts';
import { type Part, type PartContext, startTimeoutMs } from './part.ts';
import { type Identity, placePostgres, type PostgresPlace, removeDataElsewhere } from './postgres-place.ts';

const user = 'postgres';
const database = 'club_learning';

/** This locale sorts strings and folds case equally on every machine. */
const initialSettings = [
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  `--username=${user}`,
  '--auth=scram-sha-256',
  '--no-instructions',
];

const settings = {
  listen_addresses: host,
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // API, worker, rate limits and tests each have a pool, and several test processes run at the same time.
  max_connections: 500,
};

/** Only for tests. Their data need not survive, and their roughly 300 databases are dropped before a vacuum would help. */
const careless = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  autovacuum: 'off',
};

/** Tests open about 2,000 connections, and each derives keys from the password. The default of 4,096 rounds would be slow. */
const carelessInitial = ['--no-sync', '--set=scram_iterations=1'];

/** Sessions of a killed server continue until their statements end, and no new server can start before. */
const sessionsOfKilled = { words: 'pre-existing shared memory block', endWithinMs: 35_000, pauseMs: 200 };

/** Starts the server and creates the database, in the part's directory. */
export async function startPostgres(password: string, port: number, context: PartContext): Promise<Part> {
  const place = await placePostgres(context.directory, context.report);
  if (!(await exists(path.join(place.data, 'PG_VERSION')))) {
    await initialize(place.binaries.initdb, place.data, password, place.identity, context.durable);
  }
  await removeStalePidFile(place.data);
  const deadline = Date.now() + sessionsOfKilled.endWithinMs;
  for (;;) {
    try {
      return await startServer(place, password, port, context);
    } catch (error) {
      if (Date.now() > deadline || !messageOf(error).includes(sessionsOfKilled.words)) throw error;
      await sleep(sessionsOfKilled.pauseMs);
    }
  }
}

async function startServer(
  { binaries, data, identity }: PostgresPlace,
  password: string,
  port: number,
  context: PartContext,
): Promise<Part> {
  const server = startChild({
    name: 'Postgres',
    command: binaries.postgres,
    args: ['-D', data, '-p', String(port)].concat(
      Object.entries({ ...settings, ...(context.durable ? {} : careless) }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ]),
    ),
    // Otherwise Postgres would use the locale of the environment, which may not exist on this machine.
    env: { ...process.env, LC_ALL: 'C' },
    // The server's user may be unable to enter our working directory.
    cwd: path.dirname(data),
    logFile: context.logFile,
    // "Fast" shutdown: ends sessions and writes everything to disk, without waiting for clients.
    stopSignal: 'SIGINT',
    ...(identity === undefined ? {} : { identity }),
  });
  const url = (name: string) => `postgres://${user}:${password}@${host}:${port}/${name}`;
  try {
    await until('Postgres', () => createDatabase(url('postgres')), { timeoutMs: startTimeoutMs, child: server });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    environment: { DATABASE_URL: url(database) },
    child: server,
    async stop() {
      await server.stop();
      // The code that removes a test's directory does not know of these data.
      if (context.temporary) await removeDataElsewhere(context.directory);
    },
  };
}

/** Creates the data directory under another name first. So a killed run never leaves an incomplete directory under the final name. */
async function initialize(
  initdb: string,
  data: string,
  password: string,
  identity: Identity | undefined,
  durable: boolean,
) {
  const draft = `${data}.new`;
  const passwordFile = path.join(path.dirname(data), `${randomUUID()}.password`);
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    if (identity) await Promise.all([draft, passwordFile].map((file) => chown(file, identity.uid, identity.gid)));
    await runCommand(
      initdb,
      [`--pgdata=${draft}`, `--pwfile=${passwordFile}`, ...initialSettings, ...(durable ? [] : carelessInitial)],
      { env: { LC_ALL: 'C' }, cwd: path.dirname(data), ...(identity === undefined ? {} : { identity }) },
    );
    await rm(data, { recursive: true, force: true });
    await rename(draft, data);
  } catch (error) {
    throw new Problem(`Postgres could not create its data directory: ${messageOf(error)}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * Postgres does not start if its pid file names a living process of its user. After a killed run, or in a new container, that can be any
 * program. If it is a Postgres, this waits for its end. Otherwise it removes the file.
 */
async function removeStalePidFile(data: string): Promise<void> {
  const file = path.join(data, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (!Number.isInteger(pid)) return;
  const deadline = Date.now() + 10_000;
  while (isAlive(pid) && isPostgres(pid)) {
    if (Date.now() > deadline) {
      throw new Problem(
        `Another Postgres (process ${pid}) has ${data} open. If it is not needed, stop it: kill -INT ${pid}`,
      );
    }
    await sleep(100);
  }
  await rm(file, { force: true });
}

function isPostgres(pid: number): boolean {
  try {
    // Small Linux images have no program ps; other systems have no /proc.
    const command = os.platform() === 'linux' ? `cat /proc/${pid}/comm` : `ps -o comm= -p ${pid}`;
    return execSync(command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).includes('postgres');
  } catch {
    return false;
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${database}`);
  } finally {
    await client.end();
  }
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
