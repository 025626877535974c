/** The files of an erased person that are still in the bucket (ERS-23). */
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { RemainsOfPerson } from '../../questions.ts';
import { ownPicturesPrefix } from '../media.ts';

/**
 * Counts the files of a student whose rows still name an object. A row names its object until no late upload can arrive any more (MED-29).
 * The rows of an administrator's pictures do not name their person, so the function counts the objects in the bucket.
 */
export const countFilesOfPerson: RemainsOfPerson = async ({ db, storage }, { kind, subjectId }) => {
  if (kind === 'student') {
    const row = await db.one<{ files: number }>(
      sql`SELECT count(*)::int AS files FROM media WHERE owner_id = ${subjectId} AND object_key IS NOT NULL`,
    );
    return { files: row?.files ?? 0 };
  }
  let files = 0;
  for await (const _ of storage.list(ownPicturesPrefix(subjectId))) files += 1;
  return { files };
};
