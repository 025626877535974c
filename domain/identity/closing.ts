/**
 * Ends the sessions that the identity provider of a club has opened, when the club is erased. Sessions of students need no batches: the
 * look-up of a session refuses them from the first moment (ERS-5), and they are deleted with the rows of their students.
 */
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';
import { closeJoinsOf } from './providers/joins.ts';
import { endSessionsOfProvider } from './sessions/sessions.ts';

/** A club has at most one provider, and its members have a limited number of sessions. */
export const closeIdentity: CloseClub = ({ db }, clubId) =>
  db.transaction(async (tx) => {
    const providers = await tx.rows<{ id: Id }>(sql`SELECT id FROM identity_providers WHERE club_id = ${clubId}`);
    for (const { id } of providers) {
      await closeJoinsOf(tx, id);
      await endSessionsOfProvider(tx, id);
    }
    return { more: false };
  });
