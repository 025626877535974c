/**
 * NOTIFY and LISTEN: processes notify each other of committed facts, wakes and answers. A notification may be lost, so every
 * listener polls as well.
 */
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { socketThatNoticesSilence } from '../../../entities/data-source.ts';
import type { Notifier } from './database.ts';
import { forAllClubs } from './shared-pool.ts';

/** The channel that relays listen on. */
export const relayChannel = 'relay';

/**
 * Sends one NOTIFY at a time, and coalesces calls while a NOTIFY is in flight into one more. A failure is only reported,
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

/** How long it waits before it replaces a lost connection. */
const reconnectMs = 1_000;
/** How often it checks that the connection still works. */
const heartbeatMs = 10_000;

export interface Listening {
  databaseUrl: string;
  /** The name of the connection, as Postgres lists it. */
  name: string;
  channel: string;
  /**
   * Called for each NOTIFY with its payload, which may be empty; and with an empty one after each connection: what was missed
   * meanwhile is to be read then.
   */
  onNotify: (payload: string) => void;
  onFailure: (error: unknown) => void;
}

export interface Listener {
  stop(): Promise<void>;
}

/** Listens on a connection of its own, without transaction pooling, and connects again when it is lost. */
export function listen({ databaseUrl, name, channel, onNotify, onFailure }: Listening): Listener {
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
    fresh.on('notification', ({ payload = '' }) => onNotify(payload));
    fresh.on('error', retry);
    fresh.on('end', retry);
    try {
      await fresh.connect();
      await fresh.query(`LISTEN ${channel}`);
      onNotify('');
      // Regular traffic, so that silence means a dead connection.
      const alive = setInterval(() => void fresh.query('SELECT 1').catch(() => {}), heartbeatMs);
      fresh.once('end', () => clearInterval(alive));
    } catch (error) {
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
