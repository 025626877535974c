/** The connection to Postgres: the entities and migrations in the folders of entities/, and one pool. */
import { readdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { DataSource, getMetadataArgsStorage } from 'typeorm';
import type { Secret } from '../platform/core/secret.ts';
import { SnakeCaseNames } from './naming.ts';

/**
 * A connection counts as dead after a silence of this many milliseconds. After a failover or a host failure the server disappears without a
 * message, and the server's timeouts have no effect. So without this limit a query would wait forever. The limit is longer than the
 * server's
 * timeouts.
 */
const silenceMs = 35_000;

/** @returns a socket for a connection to Postgres that closes after a silence; the pool then opens a new connection */
export function socketThatNoticesSilence(limitMs = silenceMs): Socket {
  const socket = new Socket();
  return socket.setTimeout(limitMs, () => socket.destroy(new Error('Postgres has not answered for too long')));
}

/** The lock timeout. It is shorter than every lease, so a wait for a lock fails before another process claims the row (ENG-2). */
const lockTimeoutMs = 5_000;

/**
 * The timeouts of our role in Postgres, in milliseconds. The command `setup` sets them on the role. A connection cannot set them at its
 * start, because a pooler refuses or drops such settings (pgbouncer/pgbouncer#525).
 */
export const limitsOfTime = {
  statement_timeout: 30_000, // our statements are fast; a slow statement must not hold locks forever
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: 60_000, // a process that hangs inside a transaction loses its locks
} as const;

/** Options for long work. The session runs without the timeouts of its role. */
export const withoutLimits = Object.keys(limitsOfTime)
  .map((name) => `SET ${name} = 0`)
  .join('; ');

/**
 * The lock timeout of migrations, which run beside the service. Other transactions queue behind a migration that waits for a table, so a
 * migration must not wait long. A migration that fails is tried again (commands/migrate.ts). A migration that builds an index concurrently
 * blocks no transaction, so it sets `lock_timeout` to 0.
 */
export const migrationLockMs = 2_000;

async function classesIn(folder: string): Promise<Class[]> {
  const files = (await readdir(path.join(import.meta.dirname, folder))).filter((file) => /\.(?:ts|js)$/.test(file));
  const modules = await Promise.all(
    files.map((file) => import(`./${folder}/${file}`) as Promise<Record<string, unknown>>),
  );
  return modules.flatMap((one) => Object.values(one).filter((value): value is Class => typeof value === 'function'));
}

type Class = new () => object;

const folders = (await readdir(import.meta.dirname, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const classes = (await Promise.all(folders.map(classesIn))).flat();
const tables = new Set<unknown>(getMetadataArgsStorage().tables.map(({ target }) => target)); // loading the classes registers the entities
const entities = classes.filter((one) => tables.has(one));
export const migrations = classes.filter(({ name }) => /\d{13}$/.test(name));

export interface DatabaseSettings {
  url: Secret;
  /**
   * A second address of the same database, without a transaction pooler in between. LISTEN and session locks need this, because each
   * session has its own connection there.
   */
  directUrl?: Secret | undefined;
  poolSize: number;
  /** The maximum time for which a statement waits for a free connection of the pool, or for an answer of Postgres. */
  connectWithinMs?: number;
}

/** @returns the address for LISTEN and session locks: the direct address, or the usual address if no direct address is set */
export const directUrlOf = ({ directUrl, url }: Pick<DatabaseSettings, 'directUrl' | 'url'>): Secret =>
  directUrl ?? url;

/**
 * @param options.patient whether to use the direct address without timeouts. Migrations need this, because an index over millions of rows
 *   takes minutes without any traffic on the connection
 * @param options.reserved the number of connections of the pool that are reserved for work that writes records (ENG-18)
 * @returns a data source that is not yet connected: call `initialize()`
 */
export function createDataSource(
  database: DatabaseSettings,
  applicationName: string,
  {
    patient = false,
    reserved = 0,
    Pool = pg.Pool,
  }: { patient?: boolean; reserved?: number; Pool?: typeof pg.Pool } = {},
): DataSource {
  return new DataSource({
    type: 'postgres',
    url: (patient ? directUrlOf(database) : database.url).reveal(),
    applicationName,
    poolSize: database.poolSize,
    driver: Object.create(pg, { Pool: { value: Pool } }) as typeof pg,
    connectTimeoutMS: database.connectWithinMs ?? 5_000, // after a longer wait, the connection fails, and readiness reports it
    extra: {
      // The server may end a connection before the pool hands it out. Without a listener, the error event of the connection would then end
      // the process. The listener ignores the error, because the next query on this connection fails in any case.
      onConnect(connection: pg.Client) {
        connection.on('error', () => undefined);
        return patient ? connection.query(`${withoutLimits}; SET lock_timeout = ${migrationLockMs}`) : undefined;
      },
      keepAlive: true,
      reserved,
      ...(!patient && { stream: () => socketThatNoticesSilence() }),
    },
    entities,
    migrations,
    migrationsTransactionMode: 'each',
    namingStrategy: new SnakeCaseNames(),
    synchronize: false,
  });
}
