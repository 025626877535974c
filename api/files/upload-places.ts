/**
 * Requests that write to resumable uploads: each has two buffers, so they are bounded in this process, and each club finds a place
 * (DEC-121). A slow client could keep its place for an hour: if places are wanted, the slowest gives way (MED-26).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gauge } from 'prom-client';
import { fullFor } from '../../platform/core/fair-places.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { singleUploadWrites, uploadWrites, uploadWritesEnded, uploadWritesRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

type Bound = 'student' | 'club' | 'process';
/** Uploads are long; clients come again by themselves. */
const retryAfterSeconds = 5;
/** A request that writes is left alone for so long: of a megabit a second that is a part. */
const undisturbedMs = 60_000;
/** Giving way means storing what has come, which is at most two parts. */
const givingWayMs = 10_000;

export const resumableUploads: Settings = {
  writes: uploadWrites,
  /** 24 take some 400 MB. */
  bounds: { process: 24, student: 4 },
  undisturbedMs,
  givingWayMs,
};
/**
 * Of files that come in one request (MED-29): none of their bytes wait in memory. Nobody gives way, because such a file would have to
 * begin again.
 */
export const singleUploads: Settings = {
  writes: singleUploadWrites,
  bounds: { process: 100, student: 4 },
  undisturbedMs: Infinity,
  givingWayMs: 0,
};

export interface Writer {
  clubId: Id;
  /** Null where the file is the club's. */
  ownerId: Id | null;
  /** @returns what has come of it until now */
  bytesRead(): number;
}

export interface UploadPlace {
  /** Aborted when it is to give way: it stores what has come, and gives the place back. */
  signal: AbortSignal;
  /** Safe to repeat. */
  release(): void;
}

export interface UploadPlaces {
  /** @throws DomainError busy: all places are taken, and nobody gives way */
  take(writer: Writer): Promise<UploadPlace>;
}

interface Settings {
  /** Tells how many there are. */
  writes: Gauge;
  /** At a time. */
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
 * @param settings those of pieces of resumable uploads, unless told
 */
export function createUploadPlaces(clock: () => number, settings: Partial<Settings> = {}): UploadPlaces {
  const { bounds, writes, ...times } = { ...resumableUploads, ...settings };
  /** Who gives way is out, and who waits for that is in: so no bound is exceeded when the place changes hands. */
  const holders = new Set<Holder>();

  /** @returns the bound that keeps a writer out, and those one of whom would have to give way */
  function fullBound({ clubId, ownerId }: Writer): { reason: Bound; among: readonly Holder[] } | undefined {
    const ofClubs = Map.groupBy(holders, (one) => one.clubId);
    const ofClub = ofClubs.get(clubId) ?? [];
    const ofStudent = ofClub.filter((one) => ownerId !== null && one.ownerId === ownerId);
    if (ofStudent.length >= bounds.student) return { reason: 'student', among: ofStudent };
    const reason = fullFor(bounds.process, { all: holders.size, club: ofClub.length });
    if (reason === undefined) return undefined;
    if (reason === 'club') return { reason, among: ofClub };
    // A club takes no place from one that has as few.
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

  /** Puts the newcomer in the place of another one. @returns once that place is free; false if it does not become so in time */
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
