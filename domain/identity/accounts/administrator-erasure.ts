/** Ends the ways of administrators into a club that they leave, and into an account that they erase (ERS-41, ERS-44). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { endSessionsOf } from '../sessions/sessions.ts';

/**
 * Ends what the identity provider of a club opened for a member: the sessions that act only in this club, the sign-ins that wait for a
 * second factor, and the identities. The waiting sign-ins come first, as in `endSessionsOfProvider`.
 */
export async function endAccessThroughClub(
  tx: Transaction,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
): Promise<void> {
  await tx.run(sql`DELETE FROM sign_in_challenges WHERE administrator_id = ${administratorId} AND club_id = ${clubId}`);
  await tx.run(
    sql`DELETE FROM administrator_sessions WHERE administrator_id = ${administratorId} AND club_id = ${clubId}`,
  );
  await tx.run(sql`
    DELETE FROM administrator_identities
     WHERE administrator_id = ${administratorId}
       AND club_provider_id IN (SELECT id FROM identity_providers WHERE club_id = ${clubId})`);
}

/**
 * Deletes everything that opens the account, in all clubs. Passkeys end with their factors. The rows of codes to the telephone number stay
 * without its key, because they count against the limit of the whole deployment (SES-5).
 */
export async function eraseAccount(
  tx: Transaction,
  { administratorId, email }: { administratorId: Id; email: string },
): Promise<void> {
  await endSessionsOf(tx, 'admin', administratorId);
  await tx.run(sql`
    DELETE FROM identity_joins
     WHERE email = ${email}
        OR (provider_id, subject) IN (
             SELECT provider_id, subject FROM administrator_identities WHERE administrator_id = ${administratorId})`);
  await tx.run(sql`DELETE FROM administrator_identities WHERE administrator_id = ${administratorId}`);
  await tx.run(sql`DELETE FROM recovery_codes WHERE administrator_id = ${administratorId}`);
  await tx.run(sql`DELETE FROM second_factors WHERE administrator_id = ${administratorId}`);
  await tx.run(sql`
    UPDATE phone_codes
       SET number_key = '', tries_left = 0, status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END
     WHERE administrator_id = ${administratorId}`);
}
