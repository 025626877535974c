/**
 * Moves files between the private and the public bucket with the real steps, and lists the objects of a club in both buckets.
 */
import { readConfig } from '../../../config.ts';
import type { LibraryDeps } from '../../../domain/media/media.ts';
import { moveFile, type MovingDeps, type MoveStep } from '../../../domain/media/library/moving.ts';
import { keyPrefix } from '../../../platform/infra/store/object-store.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { testBucket } from '../stack/storage.ts';
import { mediaDeps } from './media.ts';

export async function movingDeps(changes: Partial<MovingDeps> = {}): Promise<MovingDeps & LibraryDeps> {
  return { ...(await mediaDeps()), onOutcome() {}, failpoint: async () => {}, ...changes };
}

/** Acts as a worker that is not stopping. */
export const moveOnce = (deps: MovingDeps, mediaId: Id, at = new Date()): Promise<MoveStep> =>
  moveFile(deps, mediaId, at.getTime(), { beat() {}, stop: new AbortController().signal });

/** @returns the last step */
export async function movedFile(mediaId: Id, changes: Partial<MovingDeps> = {}, at = new Date()): Promise<MoveStep> {
  const deps = await movingDeps(changes);
  for (;;) {
    const step = await moveOnce(deps, mediaId, at);
    if (step.done || step.at > at.getTime()) return step;
  }
}

export async function objectsOf({ id }: { id: Id }): Promise<{ public: string[]; private: string[] }> {
  const bucket = await testBucket();
  return {
    public: await bucket.objects(`${keyPrefix.public}${id}/`, readConfig().storage.publicBucket),
    private: await bucket.objects(`${keyPrefix.private}${id}/`),
  };
}

/** Lists those objects of a club in the store that belong to no file, no erasure and no running claim. */
export async function orphansOf(club: { id: Id }): Promise<string[]> {
  const objects = await objectsOf(club);
  const rows = await (
    await testDatabase()
  ).query<{ key: string }[]>(
    `SELECT object_key AS key FROM media WHERE club_id = $1 AND object_key IS NOT NULL
      UNION ALL SELECT object_key FROM leftover_objects WHERE club_id = $1
      UNION ALL SELECT target_key FROM media_moves WHERE club_id = $1 AND target_key IS NOT NULL`,
    [club.id],
  );
  const isNamed = (object: string) => rows.some(({ key }) => object === key || object.startsWith(`${key}.`));
  return [...objects.public, ...objects.private].filter((object) => !isNamed(object));
}
