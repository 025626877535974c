/** What processes files in a simulation: no ffmpeg, no disk. */
import type { ProcessingDeps } from '../../../domain/media/processing/step.ts';
import type { ObjectStore } from '../../../platform/infra/object-store.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';

/** @param onFault hears of faults of ours, which no store's absence is */
export function simulatedProcessing(
  db: Database,
  storage: ObjectStore,
  onFault: (error: unknown) => void,
): ProcessingDeps {
  return {
    db,
    storage,
    onFault,
    onOutcome: () => {},
    failpoint: () => Promise.resolve(),
    video: {
      ffmpeg: {
        look: () => Promise.resolve(false),
        isThere: false,
        run: () => Promise.reject(new Error('There is no ffmpeg')),
      },
      workDirectory: '/nowhere',
      freeBytes: () => Promise.resolve(0),
      places: { taken: 0, most: 1 },
    },
  };
}
