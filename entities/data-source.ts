/** The connection to Postgres: the entities and migrations that the folders of entities/ hold, and one pool. */
import { readdir } from 'node:fs/promises';
import { Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';
import { DataSource, getMetadataArgsStorage } from 'typeorm';
import type { Secret } from '../platform/core/secret.ts';
import { SnakeCaseNames } from './naming.ts';

/**
 * A connection whose other end has vanished without a word (a failover, a frozen host) would keep a query, and whoever
 * waits for it, for ever: the server's own time limits are gone with the server. Longer than those, in milliseconds.
 */
const silenceMs = 35_000;

/** @returns a socket for a connection to Postgres that ends itself after a silence; the pool then makes a new one */
export function socketThatNoticesSilence(limitMs = silenceMs): Socket {
  const socket = new Socket();
  return socket.setTimeout(limitMs, () => socket.destroy(new Error('Postgres has fallen silent')));
}

/** Shorter than every lease: a wait for a lock fails before another process takes the row up (ENG-2). */
const lockTimeoutMs = 5_000;

/**
 * The time limits of our role in Postgres, in milliseconds. They stand on the role, because a pooler refuses or drops them where a
 * connection asks for them at its start (pgbouncer/pgbouncer#525). The command `setup` puts them there.
 */
export const limitsOfTime = {
  statement_timeout: 30_000, // no statement of ours is meant to take seconds; one that does must not hold locks for ever
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: 60_000, // a process that hangs inside a transaction gives its locks back
} as const;

/** For what may take long: the session goes without the limits of its role. */
export const withoutLimits = Object.keys(limitsOfTime)
  .map((name) => `SET ${name} = 0`)
  .join('; ');

/**
 * For migrations, beside the service: whoever wants a table waits behind a migration that waits for it, so that must not wait long. It is tried
 * again (commands/migrate.ts). One that builds an index concurrently holds up nobody, and sets `lock_timeout` to 0 meanwhile.
 */
export const migrationLockMs = 2_000;

/** @returns the classes that the files of a folder in entities/ export */
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
const tables = new Set<unknown>(getMetadataArgsStorage().tables.map(({ target }) => target)); // entities are known once they are loaded
const entities = classes.filter((one) => tables.has(one));
export const migrations = classes.filter(({ name }) => /\d{13}$/.test(name));

export interface DatabaseSettings {
  url: Secret;
  /** The same database, where a session of ours has a connection of its own. */
  directUrl?: Secret | undefined;
  /** Connections that a process holds at most. */
  poolSize: number;
  /** How long a statement waits for a connection at most, be it for a free one of the pool or for Postgres to answer. */
  connectWithinMs?: number;
}

/** @returns where LISTEN and session locks work */
export const directUrlOf = ({ directUrl, url }: Pick<DatabaseSettings, 'directUrl' | 'url'>): Secret =>
  directUrl ?? url;

/**
 * @param options.patient by the direct address, without limits of time, for migrations: an index over millions of rows takes minutes, in silence
 * @param options.reserved connections of the pool that only records take (ENG-18)
 * @param options.Pool of connections, in place of the driver's own
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
    connectTimeoutMS: database.connectWithinMs ?? 5_000, // later than that it is down: fail, and let readiness say so
    extra: {
      // Ended by the server before anybody has it in hand, a connection tells nobody, and that would end the process: its
      // next query fails all the same.
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
