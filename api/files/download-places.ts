/**
 * Downloads of archives that run in this process: bounded, and each club finds a place (DEC-121). A download is not cut for another
 * one, because its reader waits for the whole. A reader who finds no place comes again (REPO-8).
 */
import { fullFor } from '../../platform/core/fair-places.policy.ts';
import type { Id } from '../../platform/core/ids.ts';
import { archiveDownloads, archiveDownloadsRefused } from '../metrics.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

/** At a time. Each has a piece or two of a file in memory, so a hundred take some 50 MB. */
export const bounds = { process: 100, student: 3 } as const;
/** Downloads are long. */
const retryAfterSeconds = 30;

export interface DownloadPlaces {
  /** @returns what gives the place back; safe to repeat @throws DomainError busy: all places are taken */
  take(reader: { clubId: Id; studentId: Id }): () => void;
}

export function createDownloadPlaces(): DownloadPlaces {
  const holders = new Set<{ clubId: Id; studentId: Id }>();
  const fullBound = ({ clubId, studentId }: { clubId: Id; studentId: Id }) => {
    const ofClub = [...holders].filter((one) => one.clubId === clubId);
    if (ofClub.filter((one) => one.studentId === studentId).length >= bounds.student) return 'student';
    return fullFor(bounds.process, { all: holders.size, club: ofClub.length });
  };
  return {
    take(reader) {
      const reason = fullBound(reader);
      if (reason) {
        archiveDownloadsRefused.inc({ reason });
        throw new RefusalToPerson('busy', 'refusal.busy', {
          technical: 'Too many downloads are under way. Please try again shortly.',
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
