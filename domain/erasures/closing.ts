/** Closes a club that is erased (ERS-5). */
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { CloseClub } from '../questions.ts';

/** Ends what is under way in the club, batch by batch. It is safe to repeat. @returns whether another batch may be due immediately */
export async function closeClub(
  deps: { db: Database; vault: Vault; storage: ObjectStore; closers: readonly CloseClub[] },
  clubId: Id,
  now: Date,
): Promise<{ more: boolean }> {
  await deps.db.run(sql`UPDATE clubs SET erasing_at = ${now} WHERE id = ${clubId} AND erasing_at IS NULL`);
  for (const close of deps.closers) if ((await close(deps, clubId, now)).more) return { more: true };
  return { more: false };
}
