/**
 * The lock of a resumable upload: one request at a time writes to it, in whichever process. It is a lease in the upload's row. Who needs
 * it asks the holder by NOTIFY to let go: a client that comes back after a cut must not wait for its own dead connection (MED-26).
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

/** The channel on which holders hear that somebody waits; the payload is the file's id. */
const channel = 'upload_locks';
/** Between two tries: a holder that lets go does so within a few of them. */
const triesMs = 50;
/** Between two requests to let go. */
const asksMs = 1_000;

/** Somebody else has held the lock for as long as anybody waits for it. */
export class UploadLocked extends Error {
  override name = 'UploadLocked';
}

export interface UploadLock extends Claim {
  /** Gives the lock back. Safe to repeat, and where it is lost. */
  release(): Promise<void>;
}

export interface UploadLocks {
  /**
   * @param letGo called once, when somebody waits for the lock, when it is lost, and when the file is not uploaded any more
   * @param signal ends the waiting
   * @throws UploadLocked, DomainError not_found
   */
  acquire(id: Id, letGo: () => void, signal: AbortSignal): Promise<UploadLock>;
  /** Asks every holder of this process to let go. */
  letAllGo(): void;
  stop(): Promise<void>;
}

export interface UploadLockDeps {
  db: Database;
  /** A direct connection, without transaction pooling: LISTEN needs one of its own. */
  databaseUrl: string;
  /** Called with a connection that failed; it is tried again. */
  onFailure: (error: unknown) => void;
}

type Times = Pick<typeof resumableRules, 'leaseMs' | 'renewalMs' | 'lockWaitMs'>;

/** @param times other ones in tests */
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
    const claimed = await db.one<Claim>(sql`
      UPDATE media_uploads SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${seconds})
       WHERE id = ${id} AND (lease_until IS NULL OR lease_until < clock_timestamp()) RETURNING id, fence`);
    if (claimed) return claimed;
    if (await db.manager.existsBy(MediaUpload, { id })) return 'held';
    throw notFound('upload');
  }

  async function wait(id: Id, signal: AbortSignal): Promise<Claim> {
    const ends = performance.now() + lockWaitMs;
    for (let askedAt = -asksMs; ;) {
      const claimed = await claim(id);
      if (claimed !== 'held') return claimed;
      const time = performance.now();
      if (time > ends || signal.aborted) throw new UploadLocked('The upload is locked');
      if (time - askedAt >= asksMs) {
        askedAt = time;
        await db.rows(sql`SELECT pg_notify(${channel}, ${id})`);
      }
      await sleep(triesMs);
    }
  }

  return {
    async acquire(id, letGo, signal) {
      const claimed = await wait(id, signal);
      const still = sql`EXISTS (SELECT FROM media WHERE media.id = media_uploads.id AND status = 'uploading' AND removed_at IS NULL)`;
      const held = holdLease(db, MediaUpload, claimed, {
        seconds,
        everyMs: renewalMs,
        still,
        onRenewal() {},
        stop: stopping.signal,
      });
      held.signal.addEventListener('abort', letGo, { once: true });
      holders.set(id, letGo);
      return {
        ...claimed,
        async release() {
          held.release();
          if (holders.get(id) === letGo) holders.delete(id);
          await db.run(sql`UPDATE media_uploads SET lease_until = NULL WHERE id = ${id} AND fence = ${claimed.fence}`);
        },
      };
    },
    letAllGo: () => stopping.abort(),
    stop: () => listener.stop(),
  };
}
