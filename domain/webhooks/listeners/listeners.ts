/**
 * The listeners of a process, each with a row. The row limits the listeners of a club over all processes (LSN-4). The process writes the
 * heartbeats of all its listeners with one statement. A row that has vanished, or that has another stream, ends the stream.
 */
import type { Id } from '../../../platform/core/ids.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId } from '../../../platform/core/ids.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { listenerRules } from './listeners.policy.ts';

export interface ListenerRequest {
  clubId: Id;
  caller: { kind: 'administrator' | 'key'; id: Id };
  /** The listener that the stream takes over; undefined for a new listener. */
  resumes: Id | undefined;
}

export interface OpenListener {
  id: Id;
  /** Aborts when another stream has taken over the listener, or its row was removed. */
  replaced: AbortSignal;
  /** Deletes the row. Never rejects, because a row that stays is removed later. */
  close(): Promise<void>;
}

export interface Listeners {
  /** @throws DomainError listener_limit_reached */
  open(request: ListenerRequest, now: Date): Promise<OpenListener>;
  /** Stops the heartbeats, and waits for rows that are being deleted. */
  stop(): Promise<void>;
}

export interface ListenersDeps {
  db: Database;
  clock: () => Date;
  /** Is called when a heartbeat or a deletion fails. The next heartbeat follows. */
  onFailure: (error: unknown) => void;
  /** The interval of the heartbeats, in milliseconds. Absent for the usual one. */
  heartbeatMs?: number;
}

export function createListeners({
  db,
  clock,
  onFailure,
  heartbeatMs = listenerRules.heartbeatMs,
}: ListenersDeps): Listeners {
  /** The listeners of this process by their streams. */
  const open = new Map<Id, AbortController>();
  const closing = new Set<Promise<void>>();
  let isBeating = false;

  async function beat(): Promise<void> {
    if (isBeating || open.size === 0) return;
    isBeating = true;
    try {
      const streams = [...open.keys()];
      const living = new Set(await writeHeartbeats(db, streams, clock()));
      for (const streamId of streams) if (!living.has(streamId)) open.get(streamId)?.abort();
    } catch (error) {
      onFailure(error);
    } finally {
      isBeating = false;
    }
  }

  const timer = setInterval(() => void forAllClubs(beat), heartbeatMs);
  timer.unref();
  return {
    async open(request, now) {
      const streamId = newId();
      const id = await db.transaction((tx) => insertListener(tx, request, streamId, now));
      const replaced = new AbortController();
      open.set(streamId, replaced);
      return {
        id,
        replaced: replaced.signal,
        close() {
          open.delete(streamId);
          const deletion = db
            .run(sql`DELETE FROM webhook_listeners WHERE id = ${id} AND stream_id = ${streamId}`)
            .then(() => undefined, onFailure)
            .finally(() => closing.delete(deletion));
          closing.add(deletion);
          return deletion;
        },
      };
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(closing);
    },
  };
}

/**
 * Inserts the listener, or takes over its row.
 * @returns the id of the listener
 * @throws DomainError listener_limit_reached
 */
async function insertListener(
  tx: Transaction,
  { clubId, caller, resumes }: ListenerRequest,
  streamId: Id,
  now: Date,
): Promise<Id> {
  const id = resumes ?? newId();
  // The lock keeps the count valid until the commit, so that two concurrent requests cannot both become the last allowed listener.
  await tx.run(sql`SELECT FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
  const livingSince = new Date(now.getTime() - listenerRules.livesMs);
  const others = await tx.one<{ living: number }>(sql`SELECT count(*)::int AS living FROM webhook_listeners
    WHERE club_id = ${clubId} AND heartbeat_at > ${livingSince} AND id <> ${id}`);
  if ((others?.living ?? 0) >= listenerRules.perClub)
    throw new DomainError(
      'listener_limit_reached',
      `A club has at most ${listenerRules.perClub} listeners. One that vanished counts for ${listenerRules.livesMs / 1_000} seconds more.`,
    );
  const keyId = caller.kind === 'key' ? caller.id : null;
  const administratorId = caller.kind === 'administrator' ? caller.id : null;
  await tx.run(sql`INSERT INTO webhook_listeners (id, club_id, key_id, administrator_id, stream_id, created_at, heartbeat_at)
    VALUES (${id}, ${clubId}, ${keyId}, ${administratorId}, ${streamId}, ${now}, ${now})
    ON CONFLICT (id) DO UPDATE SET key_id = excluded.key_id, administrator_id = excluded.administrator_id,
                                   stream_id = excluded.stream_id, heartbeat_at = excluded.heartbeat_at`);
  return id;
}

/** @returns the streams whose rows still exist */
async function writeHeartbeats(db: Queries, streamIds: readonly Id[], now: Date): Promise<Id[]> {
  const rows = await db.rows<{ streamId: Id }>(sql`UPDATE webhook_listeners SET heartbeat_at = ${now}
    WHERE stream_id = ANY (${streamIds}) RETURNING stream_id AS "streamId"`);
  return rows.map(({ streamId }) => streamId);
}

/** Ends the streams of a person to the club. The process of a stream notices at its next heartbeat that the row is gone. */
export async function endListenersOf(
  tx: Transaction,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
): Promise<void> {
  await tx.run(sql`DELETE FROM webhook_listeners WHERE club_id = ${clubId} AND administrator_id = ${administratorId}`);
}

/** The most listeners that one round of retention removes. */
const removedPerRound = 1_000;

/** Removes the rows of listeners whose process died. */
export async function removeDeadListeners(
  db: Queries,
  now: Date,
): Promise<{ rows: { listeners: number }; more: boolean }> {
  const before = new Date(now.getTime() - listenerRules.removedAfterMs);
  const listeners = await db.run(sql`DELETE FROM webhook_listeners WHERE id IN (
    SELECT id FROM webhook_listeners WHERE heartbeat_at < ${before} LIMIT ${removedPerRound} FOR UPDATE SKIP LOCKED)`);
  return { rows: { listeners }, more: listeners >= removedPerRound };
}
