/** Requests that write to resumable uploads: each has two buffers, so they are bounded in this process, and no club has all places (MED-26). */
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { uploadWrites, uploadWritesRefused } from '../metrics.ts';

/** At a time: 24 take some 400 MB. */
const bounds = { process: 24, club: 12, student: 4 } as const;
/** Uploads are long; clients come again by themselves. */
const retryAfterSeconds = 5;

interface Writer {
  clubId: Id;
  /** Null where the file is the club's. */
  ownerId: Id | null;
}

export interface UploadPlaces {
  /** @returns gives the place back; safe to repeat @throws DomainError busy */
  take(writer: Writer): () => void;
}

export function createUploadPlaces(): UploadPlaces {
  const writers = new Set<Writer>();

  function reasonAgainst({ clubId, ownerId }: Writer): keyof typeof bounds | undefined {
    const count = (isAlike: (one: Writer) => boolean) => [...writers].filter(isAlike).length;
    if (ownerId !== null && count((one) => one.ownerId === ownerId) >= bounds.student) return 'student';
    if (count((one) => one.clubId === clubId) >= bounds.club) return 'club';
    return writers.size >= bounds.process ? 'process' : undefined;
  }

  return {
    take({ clubId, ownerId }) {
      const writer = { clubId, ownerId };
      const reason = reasonAgainst(writer);
      if (reason) {
        uploadWritesRefused.inc({ reason });
        throw new DomainError('busy', 'Too many uploads are under way. Please try again shortly.', {
          retryAfterSeconds,
        });
      }
      writers.add(writer);
      uploadWrites.set(writers.size);
      return () => {
        writers.delete(writer);
        uploadWrites.set(writers.size);
      };
    },
  };
}
