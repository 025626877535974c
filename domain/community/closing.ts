/** Ends the daily mails of a club that is erased, and the filling of its spaces. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';

/** A club has one open digest and a limited number of spaces. No worker claims a mail of a digest that has ended. */
export const closeCommunity: CloseClub = ({ db }, clubId, now) =>
  db.transaction(async (tx) => {
    await tx.run(
      sql`UPDATE community_spaces SET fill_looks_at = NULL WHERE club_id = ${clubId} AND fill_looks_at IS NOT NULL`,
    );
    await tx.run(
      sql`UPDATE space_digests SET ended_at = ${now}, looks_at = NULL WHERE club_id = ${clubId} AND ended_at IS NULL`,
    );
    return { more: false };
  });
