/**
 * Permits for downloads of archives. Each club gets its share (DEC-121). A running download is never aborted, because a reader needs the
 * whole archive. A reader without a permit tries again later (REPO-8).
 */
import { exhaustedLimit } from '../../platform/core/fair-permits.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { archiveDownloads, archiveDownloadsRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

/** Each download buffers one or two pieces of a file, so a hundred take about 50 MB. */
export const bounds = { process: 100, student: 3 } as const;
/** Downloads take long. */
const retryAfterSeconds = 30;

export interface DownloadPermits {
  /** @returns a function that returns the permit; a second call has no effect @throws DomainError busy if no permit is free */
  take(reader: { clubId: Id; studentId: Id }): () => void;
}

export function createDownloadPermits(): DownloadPermits {
  const holders = new Set<{ clubId: Id; studentId: Id }>();
  const fullBound = ({ clubId, studentId }: { clubId: Id; studentId: Id }) => {
    const ofClub = [...holders].filter((one) => one.clubId === clubId);
    if (ofClub.filter((one) => one.studentId === studentId).length >= bounds.student) return 'student';
    return exhaustedLimit(bounds.process, { all: holders.size, club: ofClub.length });
  };
  return {
    take(reader) {
      const reason = fullBound(reader);
      if (reason) {
        archiveDownloadsRefused.inc({ reason });
        throw new RefusalToPerson('busy', 'refusal.busy', {
          technical: 'Too many downloads are running. Please try again shortly.',
          retryAfterSeconds,
        });
      }
      const holder = { ...reader };
      holders.add(holder);
      archiveDownloads.set(holders.size);
      return () => {
        holders.delete(holder);
        archiveDownloads.set(holders.size);
      };
    },
  };
}
