/**
 * Permits for requests that write to resumable uploads. Each needs two buffers, so their number is limited, and each club gets its share
 * (DEC-121). A slow client could keep its permit for an hour. So if no permit is free, the slowest request must return its permit (MED-26).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gauge } from 'prom-client';
import { exhaustedLimit } from '../../platform/core/fair-permits.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { singleUploadWrites, uploadWrites, uploadWritesEnded, uploadWritesRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

type Bound = 'student' | 'club' | 'process';
/** Clients try again by themselves. */
const retryAfterSeconds = 5;
/** In milliseconds. A client with one megabit per second sends about one part of the file in this time. */
const undisturbedMs = 60_000;
/** In milliseconds. In this time a request must store the received bytes (at most two parts) and return its permit. */
const givingWayMs = 10_000;

export const resumableUploads: Settings = {
  writes: uploadWrites,
  /** The buffers of 24 requests take about 400 MB of memory. */
  bounds: { process: 24, student: 4 },
  protectedMs: undisturbedMs,
  releaseMs: givingWayMs,
};
/**
 * Uploads in one request (MED-29) need no buffers. They never return their permit early, because the client would have to send the whole
 * file again.
 */
export const singleUploads: Settings = {
  writes: singleUploadWrites,
  bounds: { process: 100, student: 4 },
  protectedMs: Infinity,
  releaseMs: 0,
};

export interface Writer {
  clubId: Id;
  /** Null if the file belongs to the club. */
  ownerId: Id | null;
  bytesRead(): number;
}

export interface UploadPermit {
  /** Aborts when the request must store the received bytes and return its permit. */
  signal: AbortSignal;
  /** A second call has no effect. */
  release(): void;
}

export interface UploadPermits {
  /** @throws DomainError busy if no permit is free, and no request can return one early */
  take(writer: Writer): Promise<UploadPermit>;
}

interface Settings {
  writes: Gauge;
  bounds: Record<'process' | 'student', number>;
  protectedMs: number;
  releaseMs: number;
}

interface Holder extends Writer {
  since: number;
  bytesBefore: number;
  mustRelease: AbortController;
  released: PromiseWithResolvers<void>;
}

/**
 * @param clock in milliseconds
 * @param settings by default the bounds of resumable uploads
 */
export function createUploadPermits(clock: () => number, settings: Partial<Settings> = {}): UploadPermits {
  const { bounds, writes, ...times } = { ...resumableUploads, ...settings };
  /** When request A must return its permit to request B, A no longer counts and B already counts. So no bound is exceeded meanwhile. */
  const holders = new Set<Holder>();

  /** @returns undefined if a permit is free; otherwise the reached bound, and the requests that could return their permits */
  function fullBound({ clubId, ownerId }: Writer): { reason: Bound; candidates: readonly Holder[] } | undefined {
    const ofClubs = Map.groupBy(holders, (one) => one.clubId);
    const ofClub = ofClubs.get(clubId) ?? [];
    const ofStudent = ofClub.filter((one) => ownerId !== null && one.ownerId === ownerId);
    if (ofStudent.length >= bounds.student) return { reason: 'student', candidates: ofStudent };
    const reason = exhaustedLimit(bounds.process, { all: holders.size, club: ofClub.length });
    if (reason === undefined) return undefined;
    if (reason === 'club') return { reason, candidates: ofClub };
    // Club A can take a permit from club B only if B holds more permits.
    return { reason, candidates: [...ofClubs.values()].filter(({ length }) => length > ofClub.length).flat() };
  }

  function slowestOf(candidates: readonly Holder[]): Holder | undefined {
    const now = clock();
    const rateOf = ({ since, bytesBefore, bytesRead }: Holder) => (bytesRead() - bytesBefore) / (now - since);
    return candidates
      .filter(({ since, mustRelease: givesWay }) => now - since >= times.protectedMs && !givesWay.signal.aborted)
      .toSorted((one, other) => rateOf(one) - rateOf(other))[0];
  }

  function refuse(reason: Bound): never {
    uploadWritesRefused.inc({ reason });
    throw new RefusalToPerson('busy', 'refusal.busy', {
      technical: 'Too many uploads are running. Please try again shortly.',
      retryAfterSeconds,
    });
  }

  /** @returns false if `previous` does not return its permit in time */
  async function replace(previous: Holder, next: Holder): Promise<boolean> {
    holders.delete(previous);
    holders.add(next);
    previous.mustRelease.abort();
    const isFree = await Promise.race([
      previous.released.promise.then(() => true),
      sleep(times.releaseMs, false, { ref: false }),
    ]);
    if (isFree) return true;
    holders.delete(next);
    holders.add(previous);
    return false;
  }

  return {
    async take(writer) {
      const holder: Holder = {
        ...writer,
        since: clock(),
        bytesBefore: writer.bytesRead(),
        mustRelease: new AbortController(),
        released: Promise.withResolvers(),
      };
      const full = fullBound(writer);
      if (full) {
        const slowest = slowestOf(full.candidates);
        if (!slowest || !(await replace(slowest, holder))) refuse(full.reason);
        uploadWritesEnded.inc({ reason: full.reason });
        holder.since = clock();
      }
      holders.add(holder);
      writes.set(holders.size);
      return {
        signal: holder.mustRelease.signal,
        release() {
          holders.delete(holder);
          holder.released.resolve();
          writes.set(holders.size);
        },
      };
    },
  };
}
