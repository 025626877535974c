/**
 * Erases copies of mail images that releases before 0.3 stored as `mail/<name>` (CAMP-10, ERS-27). Later copies are stored as
 * `mail/<club id>/<name>`, and are erased by this prefix. No row names the older copies, so their names are derived again: from the ids in
 * campaigns and versions of automations, under every master key, and from the addresses in compiled e-mails.
 */
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { mailPicturePrefix, type ObjectStore } from '../../platform/infra/store/object-store.ts';
import { pictureNameOf } from './drafts/images.ts';

export interface OldPictureDeps {
  db: Database;
  vault: Vault;
  storage: Pick<ObjectStore, 'list' | 'remove'>;
}

/** One round handles at most this many campaigns and versions, and begins no further one after `roundMs`. */
const causesARound = 100;
const roundMs = 10_000;

interface Cause {
  /** The campaign or the version. */
  id: Id;
  /** The ids of images, as the e-mail spells them. */
  mediaIds: string[];
  /** The lists of addresses in the compiled e-mails. */
  addresses: unknown[];
}

/**
 * Erases the older copies of the next campaigns and versions of the club. The row of the club's erasure remembers the last one, so a call
 * after an interruption continues. Repeated and simultaneous calls do no harm.
 * @returns whether another round is due immediately
 * @throws the error of the store
 */
export async function eraseOldMailPictures(
  { db, vault, storage }: OldPictureDeps,
  clubId: Id,
  _now: Date,
): Promise<{ more: boolean }> {
  const causes = await db.rows<Cause>(sql`
    SELECT id, jsonb_path_query_array(content, 'strict $.**.media_id') AS "mediaIds",
           jsonb_path_query_array(compiled, 'strict $.**.images') AS addresses
      FROM (SELECT id, content, coalesce(compiled, '{}') AS compiled FROM campaigns WHERE club_id = ${clubId}
            UNION ALL SELECT version.id, definition, compiled
              FROM automations automation JOIN automation_versions version ON version.automation_id = automation.id
             WHERE automation.club_id = ${clubId}) AS cause
     WHERE id > coalesce((SELECT pictures_after FROM erasures WHERE subject_id = ${clubId}), '00000000-0000-0000-0000-000000000000')
     ORDER BY id LIMIT ${causesARound}`);
  const ends = performance.now() + roundMs;
  let lastId: Id | undefined;
  for (const cause of causes) {
    if (performance.now() > ends) break;
    for (const name of namesOf(vault, cause))
      for await (const key of storage.list(`${mailPicturePrefix}${name}.`)) await storage.remove(key);
    lastId = cause.id;
  }
  if (lastId !== undefined)
    await db.run(sql`
      UPDATE erasures SET pictures_after = ${lastId} WHERE subject_id = ${clubId} AND coalesce(pictures_after < ${lastId}, true)`);
  return { more: causes.length === causesARound || lastId !== causes.at(-1)?.id };
}

const namesInAddresses = /\/mail\/([0-9a-f]{64})\./g;

/** @returns the names without the endings. A name is derived from random ids, so no other club has a copy with this name */
function namesOf(vault: Pick<Vault, 'derive' | 'keyIds'>, { id, mediaIds, addresses }: Cause): Set<string> {
  const derived = mediaIds.flatMap((mediaId) => vault.keyIds.map((keyId) => pictureNameOf(vault, id, mediaId, keyId)));
  const compiled = [...JSON.stringify(addresses).matchAll(namesInAddresses)].map(([, name = '']) => name);
  return new Set([...derived, ...compiled]);
}
