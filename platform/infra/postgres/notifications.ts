/**
 * NOTIFY and LISTEN: processes notify each other of committed facts, wakes and answers. A notification may be lost, so every
 * listener polls as well.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { socketThatNoticesSilence } from '../../../entities/data-source.ts';
import type { Notifier } from './database.ts';
import { forAllClubs } from './shared-pool.ts';

/** The channel that relays listen on. */
export const relayChannel = 'relay';

/**
 * Sends one NOTIFY at a time. All calls that come while a NOTIFY is in flight together cause only one more NOTIFY. A failure is only
 * reported,
 * because every listener polls as well.
 * @param onError gets the error of a failed NOTIFY
 */
export function createNotifier(source: DataSource, onError: (error: unknown) => void): Notifier {
  let sending = false;
  let again = false;

  async function send(): Promise<void> {
    sending = true;
    do {
      again = false;
      try {
        await source.query(`NOTIFY ${relayChannel}`);
      } catch (error) {
        onError(error);
      }
    } while (again);
    sending = false;
  }

  return {
    notify() {
      if (sending) again = true;
      else void forAllClubs(send);
    },
  };
}

/** The wait before a lost connection is replaced. */
const reconnectMs = 1_000;
/** The interval at which the listener checks that its connection still works. */
const heartbeatMs = 10_000;
/** The time limit of the listener's own NOTIFY. */
const proofMs = 10_000;

export interface Listening {
  /** An address of Postgres without transaction pooling, because LISTEN needs its own connection. */
  databaseUrl: string;
  /** A pool like the pools through which other processes send notifications. The listener sends a test notification through it. */
  source: Pick<DataSource, 'query'>;
  /** The name of the connection in Postgres's list. */
  name: string;
  channel: string;
  /**
   * Called for each NOTIFY with its payload, which may be empty. Also called with an empty payload after each connection, so that the
   * caller reads what it missed.
   */
  onNotify: (payload: string) => void;
  onFailure: (error: unknown) => void;
  /** The time limit of the listener's own NOTIFY, in ms; 10 s if absent. */
  proveWithinMs?: number;
}

export interface Listener {
  stop(): Promise<void>;
}

/**
 * The error if a connection has executed LISTEN, but receives nothing. Either a pooler is in between, or the connection leads to another
 * database.
 */
class NotHeard extends Error {
  override name = 'NotHeard';
  code = 'not_heard';
}

/**
 * Sends a NOTIFY through the pool, like any other NOTIFY, and waits until the listening connection receives it. A NOTIFY that is sent
 * through the listening connection itself proves nothing, because it would arrive even behind a pooler.
 * @param notify sends the statement
 * @throws NotHeard
 */
export async function proveListening(
  listening: Pick<pg.Client, 'query' | 'on' | 'off'>,
  notify: (statement: string) => Promise<unknown>,
  withinMs: number,
): Promise<void> {
  const channel = `proof_${randomBytes(8).toString('hex')}`;
  const heard = Promise.withResolvers<void>();
  const onNotification = (notification: pg.Notification) => {
    if (notification.channel === channel) heard.resolve();
  };
  const late = setTimeout(() => heard.reject(new NotHeard('The listener did not receive its own NOTIFY')), withinMs);
  late.unref();
  heard.promise.catch(() => undefined);
  listening.on('notification', onNotification);
  try {
    await listening.query(`LISTEN ${channel}`);
    await notify(`NOTIFY ${channel}`);
    await heard.promise;
    await listening.query(`UNLISTEN ${channel}`);
  } finally {
    clearTimeout(late);
    listening.off('notification', onNotification);
  }
}

/** Listens on its own connection. It reconnects when the connection is lost, or does not receive its own NOTIFY. */
export function listen({
  databaseUrl,
  source,
  name,
  channel,
  onNotify,
  onFailure,
  proveWithinMs = proofMs,
}: Listening): Listener {
  let stopped = false;
  let client: pg.Client | undefined;

  async function connect(): Promise<void> {
    if (stopped) return;
    const fresh = new pg.Client({
      connectionString: databaseUrl,
      application_name: name,
      stream: () => socketThatNoticesSilence(),
    });
    client = fresh;
    let retried = false;
    const retry = () => {
      if (retried || stopped) return;
      retried = true;
      setTimeout(() => void connect(), reconnectMs);
    };
    fresh.on('notification', ({ channel: heard, payload = '' }) => {
      if (heard === channel) onNotify(payload);
    });
    fresh.on('error', retry);
    fresh.on('end', retry);
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${channel}`);
      onNotify('');
      // Sends regular traffic, so that silence shows a dead connection.
      const alive = setInterval(() => void fresh.query('SELECT 1').catch(() => {}), heartbeatMs);
      fresh.once('end', () => clearInterval(alive));
      await forAllClubs(() => proveListening(fresh, (statement) => source.query(statement), proveWithinMs));
    } catch (error) {
      if (stopped) return;
      onFailure(error);
      fresh.end().catch(() => {});
      retry();
    }
  }

  void connect();
  return {
    async stop() {
      stopped = true;
      await client?.end().catch(() => {});
    },
  };
}
