/**
 * The lock of a resumable upload. Only one request at a time may write to an upload, even if several processes receive requests. The lock
 * is a lease in the upload's row. A request that waits for the lock sends a NOTIFY, which asks the holder to release the lock. Without the
 * NOTIFY, the request of a client that reconnects would wait for the client's own earlier request, whose connection is dead (MED-26).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MediaUpload } from '../../../entities/media/media-upload.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { holdLease, type Claim } from '../../../platform/engine/lease.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { listen } from '../../../platform/infra/postgres/notifications.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { resumableRules } from '../media.policy.ts';

/** Waiting requests notify the holder on this channel, with the file's id as payload. */
const channel = 'upload_locks';
/** The time between two tries to take the lock. A holder needs a few times this long to release the lock. */
const retryMs = 50;
/** The time between two requests to the holder to release the lock. */
const notifyMs = 1_000;

/** The error for a request that waited too long, because another request held the lock. */
export class UploadLocked extends Error {
  override name = 'UploadLocked';
}

export interface UploadLock extends Claim {
  /** Releases the lock. It may be called again, and after the lock was lost. */
  release(): Promise<void>;
}

export interface UploadLocks {
  /**
   * @param letGo called when another request waits for the lock, when the lock is lost, or when the upload has ended
   * @param signal ends the wait
   * @throws UploadLocked, DomainError not_found
   */
  acquire(id: Id, letGo: () => void, signal: AbortSignal): Promise<UploadLock>;
  /** Asks every holder in this process to release its lock. */
  releaseAll(): void;
  stop(): Promise<void>;
}

export interface UploadLockDeps {
  db: Database;
  /** The address for a direct connection, without transaction pooling. LISTEN needs a direct connection. */
  databaseUrl: string;
  /** Receives the error of a failed connection. The connection is then opened again. */
  onFailure: (error: unknown) => void;
}

type Times = Pick<typeof resumableRules, 'leaseMs' | 'renewalMs' | 'lockWaitMs'>;

/** Only tests pass the second parameter, to change the times. */
export function createUploadLocks(
  { db, databaseUrl, onFailure }: UploadLockDeps,
  { leaseMs, renewalMs, lockWaitMs }: Record<keyof Times, number> = resumableRules,
): UploadLocks {
  const holders = new Map<Id, () => void>();
  const listener = listen({
    databaseUrl,
    source: db.source,
    name: 'club-uploads',
    channel,
    onNotify: (id) => holders.get(id)?.(),
    onFailure,
  });
  const stopping = new AbortController();
  const seconds = leaseMs / 1_000;

  async function claim(id: Id): Promise<Claim | 'held'> {
    const newClaim = await db.one<Claim>(sql`
      UPDATE media_uploads SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${seconds})
       WHERE id = ${id} AND (lease_until IS NULL OR lease_until < clock_timestamp()) RETURNING id, fence`);
    if (newClaim) return newClaim;
    if (await db.manager.existsBy(MediaUpload, { id })) return 'held';
    throw notFound('upload');
  }

  async function wait(id: Id, signal: AbortSignal): Promise<Claim> {
    const ends = performance.now() + lockWaitMs;
    for (let notifiedAt = -notifyMs; ;) {
      const result = await claim(id);
      if (result !== 'held') return result;
      const time = performance.now();
      if (time > ends || signal.aborted) throw new UploadLocked(`Upload ${id} is locked by another request`);
      if (time - notifiedAt >= notifyMs) {
        notifiedAt = time;
        await db.rows(sql`SELECT pg_notify(${channel}, ${id})`);
      }
      await sleep(retryMs);
    }
  }

  return {
    async acquire(id, letGo, signal) {
      const lock = await wait(id, signal);
      const still = sql`EXISTS (SELECT FROM media WHERE media.id = media_uploads.id AND status = 'uploading' AND removed_at IS NULL)`;
      const lease = holdLease(db, MediaUpload, lock, {
        seconds,
        everyMs: renewalMs,
        still,
        onRenewal() {},
        stop: stopping.signal,
      });
      lease.signal.addEventListener('abort', letGo, { once: true });
      holders.set(id, letGo);
      return {
        ...lock,
        async release() {
          lease.release();
          if (holders.get(id) === letGo) holders.delete(id);
          await db.run(sql`UPDATE media_uploads SET lease_until = NULL WHERE id = ${id} AND fence = ${lock.fence}`);
        },
      };
    },
    releaseAll: () => stopping.abort(),
    stop: () => listener.stop(),
  };
}
