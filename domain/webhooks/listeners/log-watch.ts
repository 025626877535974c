/**
 * Wakes the streams of a process when the logs of their clubs have grown. One statement looks for all waiting streams, some times a second.
 * So a club without a listener costs nothing, and no fan-out has to notify anyone (ADR 77).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { clocksDifferMs } from '../deliveries/retention.policy.ts';
import type { ReaderPosition } from '../log/log-cursor.ts';
import { listenerRules } from './listeners.policy.ts';

/** The pause after a failed look. */
const failurePauseMs = 1_000;

export interface LogWatch {
  /** Resolves when the club's log has an event after the position, when the time is over, or when the signal aborts. */
  untilNews(clubId: Id, position: ReaderPosition, wait: { timeoutMs: number; closed: AbortSignal }): Promise<void>;
  /** Wakes all streams, and stops. */
  stop(): Promise<void>;
}

export interface LogWatchDeps {
  db: Database;
  /** Is called when a look fails. The next look follows. */
  onFailure: (error: unknown) => void;
}

interface Waiter {
  clubId: Id;
  position: string;
  /** No event after the position is older. */
  since: Date;
  wake: () => void;
}

export function createLogWatch({ db, onFailure }: LogWatchDeps): LogWatch {
  const waiters = new Set<Waiter>();
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;

  /** Looks until no stream waits any more. */
  async function lookAgainAndAgain(): Promise<void> {
    while (waiters.size > 0 && !stopping.signal.aborted) {
      let pauseMs: number = listenerRules.lookEveryMs;
      try {
        await look();
      } catch (error) {
        onFailure(error);
        pauseMs = failurePauseMs;
      }
      await pause(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
    looking = undefined;
  }

  async function look(): Promise<void> {
    const current = [...waiters];
    const rows = await selectGrownLogs(db.source, {
      clubIds: current.map(({ clubId }) => clubId),
      positions: current.map(({ position }) => position),
      times: current.map(({ since }) => since),
    });
    for (const { place } of rows) current[place - 1]?.wake();
  }

  return {
    async untilNews(clubId, { position, at }, { timeoutMs, closed }) {
      if (closed.aborted || stopping.signal.aborted) return;
      const news = Promise.withResolvers<void>();
      const waiter = { clubId, position, since: new Date(at.getTime() - clocksDifferMs), wake: () => news.resolve() };
      const timer = setTimeout(waiter.wake, timeoutMs);
      closed.addEventListener('abort', waiter.wake);
      waiters.add(waiter);
      looking ??= forAllClubs(lookAgainAndAgain);
      await news.promise;
      waiters.delete(waiter);
      clearTimeout(timer);
      closed.removeEventListener('abort', waiter.wake);
    },
    async stop() {
      stopping.abort();
      for (const { wake } of waiters) wake();
      await looking;
    },
  };
}

/** The LIMIT keeps the search in the index of each club. */
const selectGrownLogs = prepared<
  { place: number },
  { clubIds: readonly Id[]; positions: readonly string[]; times: readonly Date[] }
>(
  'select_grown_logs',
  (value) => `SELECT asked.place::int
     FROM unnest(${value.clubIds}::uuid[], ${value.positions}::bigint[], ${value.times}::timestamptz[])
          WITH ORDINALITY AS asked (club_id, position, since, place)
    CROSS JOIN LATERAL (
      SELECT FROM webhook_bodies body
       WHERE body.club_id = asked.club_id AND body.position > asked.position AND body.created_at >= asked.since
       ORDER BY body.position LIMIT 1) AS news`,
);
