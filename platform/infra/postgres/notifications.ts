/**
 * NOTIFY and LISTEN between processes, for committed facts, wakes and answers. A notification may be lost, so every listener also polls.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { socketThatNoticesSilence } from '../../../entities/data-source.ts';
import type { Notifier } from './database.ts';
import { forAllClubs } from './shared-pool.ts';

export const relayChannel = 'relay';

/** Calls during a NOTIFY cause only one more NOTIFY. A failure is only reported, because every listener also polls. */
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

const reconnectMs = 1_000;
/** The listener then checks its connection. */
const heartbeatMs = 10_000;
const proofMs = 10_000;

export interface Listening {
  /** The connection must not be pooled by transaction, because LISTEN needs its own connection. */
  databaseUrl: string;
  /** The listener sends its test notification through this pool, as other processes do. */
  source: Pick<DataSource, 'query'>;
  /** The name in Postgres's list of connections. */
  name: string;
  channel: string;
  /** Gets the payload of each NOTIFY. After each connection it gets an empty payload, so that the caller reads what it missed. */
  onNotify: (payload: string) => void;
  onFailure: (error: unknown) => void;
  /** In ms; 10 s if absent. */
  proveWithinMs?: number;
}

export interface Listener {
  stop(): Promise<void>;
}

/** LISTEN succeeded, but nothing arrives: a pooler is in between, or it is another database. */
class NotHeard extends Error {
  override name = 'NotHeard';
  code = 'not_heard';
}

/**
 * Sends a NOTIFY through the pool and waits for it on the listening connection. A NOTIFY on that connection itself would arrive even behind
 * a pooler.
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

/** Reconnects when the connection is lost, or does not receive its own NOTIFY. */
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
      // These queries show whether the connection is dead.
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
