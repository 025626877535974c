/**
 * Permits for requests that write to resumable uploads. Each request has two buffers, so the total is bounded in this process, and each
 * club gets its share (DEC-121). A slow client could keep its permit for an hour. So if others wait, the slowest request gives its permit
 * up (MED-26).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gauge } from 'prom-client';
import { fullFor } from '../../platform/core/fair-places.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { singleUploadWrites, uploadWrites, uploadWritesEnded, uploadWritesRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

type Bound = 'student' | 'club' | 'process';
/** Uploads take long, and clients try again by themselves. */
const retryAfterSeconds = 5;
/** A writing request keeps its permit at least this long, which is one part at a megabit a second. */
const undisturbedMs = 60_000;
/** Giving a permit up means storing the received bytes, at most two parts. */
const givingWayMs = 10_000;

export const resumableUploads: Settings = {
  writes: uploadWrites,
  /** 24 requests take about 400 MB. */
  bounds: { process: 24, student: 4 },
  undisturbedMs,
  givingWayMs,
};
/**
 * For files in one request (MED-29), whose bytes never wait in memory. No request gives its permit up, because the file would have to
 * start again.
 */
export const singleUploads: Settings = {
  writes: singleUploadWrites,
  bounds: { process: 100, student: 4 },
  undisturbedMs: Infinity,
  givingWayMs: 0,
};

export interface Writer {
  clubId: Id;
  /** Null if the file belongs to the club. */
  ownerId: Id | null;
  /** @returns the bytes received so far */
  bytesRead(): number;
}

export interface UploadPlace {
  /** Aborts when the request must give its permit up: it stores the received bytes, and returns the permit. */
  signal: AbortSignal;
  /** Safe to repeat. */
  release(): void;
}

export interface UploadPlaces {
  /** @throws DomainError busy if no permit is free, and no request can give one up */
  take(writer: Writer): Promise<UploadPlace>;
}

interface Settings {
  /** The gauge of permits in use. */
  writes: Gauge;
  /** The most permits at the same time. */
  bounds: Record<'process' | 'student', number>;
  undisturbedMs: number;
  givingWayMs: number;
}

interface Holder extends Writer {
  since: number;
  bytesBefore: number;
  givesWay: AbortController;
  released: PromiseWithResolvers<void>;
}

/**
 * @param clock in milliseconds
 * @param settings those of resumable uploads if absent
 */
export function createUploadPlaces(clock: () => number, settings: Partial<Settings> = {}): UploadPlaces {
  const { bounds, writes, ...times } = { ...resumableUploads, ...settings };
  /**
   * Excludes requests that are giving their permit up, and includes requests that wait for it. So no bound is exceeded when the permit
   * changes hands.
   */
  const holders = new Set<Holder>();

  /** @returns the bound that keeps a writer out, and the holders that could give a permit up */
  function fullBound({ clubId, ownerId }: Writer): { reason: Bound; among: readonly Holder[] } | undefined {
    const ofClubs = Map.groupBy(holders, (one) => one.clubId);
    const ofClub = ofClubs.get(clubId) ?? [];
    const ofStudent = ofClub.filter((one) => ownerId !== null && one.ownerId === ownerId);
    if (ofStudent.length >= bounds.student) return { reason: 'student', among: ofStudent };
    const reason = fullFor(bounds.process, { all: holders.size, club: ofClub.length });
    if (reason === undefined) return undefined;
    if (reason === 'club') return { reason, among: ofClub };
    // A club cannot take a permit from a club with as few permits.
    return { reason, among: [...ofClubs.values()].filter(({ length }) => length > ofClub.length).flat() };
  }

  function slowestOf(among: readonly Holder[]): Holder | undefined {
    const now = clock();
    const rateOf = ({ since, bytesBefore, bytesRead }: Holder) => (bytesRead() - bytesBefore) / (now - since);
    return among
      .filter(({ since, givesWay }) => now - since >= times.undisturbedMs && !givesWay.signal.aborted)
      .toSorted((one, other) => rateOf(one) - rateOf(other))[0];
  }

  function refuse(reason: Bound): never {
    uploadWritesRefused.inc({ reason });
    throw new RefusalToPerson('busy', 'refusal.busy', {
      technical: 'Too many uploads are under way. Please try again shortly.',
      retryAfterSeconds,
    });
  }

  /** Replaces a holder by the newcomer. @returns true once the permit is free; false if it does not become free in time */
  async function replace(leaving: Holder, newcomer: Holder): Promise<boolean> {
    holders.delete(leaving);
    holders.add(newcomer);
    leaving.givesWay.abort();
    const isFree = await Promise.race([
      leaving.released.promise.then(() => true),
      sleep(times.givingWayMs, false, { ref: false }),
    ]);
    if (isFree) return true;
    holders.delete(newcomer);
    holders.add(leaving);
    return false;
  }

  return {
    async take(writer) {
      const holder: Holder = {
        ...writer,
        since: clock(),
        bytesBefore: writer.bytesRead(),
        givesWay: new AbortController(),
        released: Promise.withResolvers(),
      };
      const full = fullBound(writer);
      if (full) {
        const slowest = slowestOf(full.among);
        if (!slowest || !(await replace(slowest, holder))) refuse(full.reason);
        uploadWritesEnded.inc({ reason: full.reason });
        holder.since = clock();
      }
      holders.add(holder);
      writes.set(holders.size);
      return {
        signal: holder.givesWay.signal,
        release() {
          holders.delete(holder);
          holder.released.resolve();
          writes.set(holders.size);
        },
      };
    },
  };
}
