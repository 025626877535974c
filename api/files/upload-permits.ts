/**
 * Permits for requests that write to resumable uploads. Each request needs two buffers, so the number of requests in this process is
 * limited, and each club gets its share (DEC-121). A slow client could keep its permit for an hour. So when a new request finds no free
 * permit, the slowest request must return its permit (MED-26).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gauge } from 'prom-client';
import { exhaustedLimit } from '../../platform/core/fair-permits.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { singleUploadWrites, uploadWrites, uploadWritesEnded, uploadWritesRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

type Bound = 'student' | 'club' | 'process';
/** `Retry-After` for a refused client. Clients try again automatically, without an action of their user. */
const retryAfterSeconds = 5;
/**
 * A request keeps its permit for at least this time, in milliseconds. In this time a client with one megabit per second sends about one
 * part of the file.
 */
const undisturbedMs = 60_000;
/** The time that a request gets to store the received bytes (at most two parts) and to return its permit, in milliseconds. */
const givingWayMs = 10_000;

export const resumableUploads: Settings = {
  writes: uploadWrites,
  /** The buffers of 24 requests take about 400 MB of memory. */
  bounds: { process: 24, student: 4 },
  protectedMs: undisturbedMs,
  releaseMs: givingWayMs,
};
/**
 * The bounds of uploads in one request (MED-29), which need no buffers. Such a request never has to return its permit early, because its
 * client would have to send the whole file again.
 */
export const singleUploads: Settings = {
  writes: singleUploadWrites,
  bounds: { process: 100, student: 4 },
  protectedMs: Infinity,
  releaseMs: 0,
};

export interface Writer {
  clubId: Id;
  /** The student who owns the file; null if the file belongs to the club. */
  ownerId: Id | null;
  /** @returns the number of bytes that have been received */
  bytesRead(): number;
}

export interface UploadPermit {
  /** This signal aborts when the request must store the received bytes and return its permit. */
  signal: AbortSignal;
  /** Returns the permit. Repeated calls have no effect. */
  release(): void;
}

export interface UploadPermits {
  /** @throws DomainError busy if no permit is free, and no request can return a permit early */
  take(writer: Writer): Promise<UploadPermit>;
}

interface Settings {
  /** The gauge of permits in use. */
  writes: Gauge;
  /** The maximum number of permits at the same time. */
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
 * @param clock returns the time in milliseconds
 * @param settings the bounds; the default is the bounds of resumable uploads
 */
export function createUploadPermits(clock: () => number, settings: Partial<Settings> = {}): UploadPermits {
  const { bounds, writes, ...times } = { ...resumableUploads, ...settings };
  /**
   * The requests that count as holders of a permit. When request A must return its permit to request B, A no longer counts and B already
   * counts. So the number of holders never exceeds a bound during the change.
   */
  const holders = new Set<Holder>();

  /**
   * @returns undefined if a permit is free; otherwise the bound that is reached, and the holders that could give up their permits
   */
  function fullBound({ clubId, ownerId }: Writer): { reason: Bound; candidates: readonly Holder[] } | undefined {
    const ofClubs = Map.groupBy(holders, (one) => one.clubId);
    const ofClub = ofClubs.get(clubId) ?? [];
    const ofStudent = ofClub.filter((one) => ownerId !== null && one.ownerId === ownerId);
    if (ofStudent.length >= bounds.student) return { reason: 'student', candidates: ofStudent };
    const reason = exhaustedLimit(bounds.process, { all: holders.size, club: ofClub.length });
    if (reason === undefined) return undefined;
    if (reason === 'club') return { reason, candidates: ofClub };
    // Club A can take a permit from club B only if B holds more permits than A.
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

  /**
   * Asks the request `previous` to return its permit, and gives the permit to the request `next`. @returns true once the permit is free, or
   * false if `previous` does not return it in time
   */
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
