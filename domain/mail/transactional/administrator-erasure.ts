/** Cancels the mails of administrators who leave a club, and erases the addresses of erased accounts (ERS-41, ERS-44). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** Cancels the club's mails to a member that are not sent yet. A mail that a worker sends at this moment is still sent. */
export async function cancelMailsOfMember(
  tx: Transaction,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
): Promise<void> {
  await tx.run(sql`
    UPDATE transactional_mails SET status = 'canceled', sealed_address = NULL, device = NULL, network = NULL
     WHERE administrator_id = ${administratorId} AND club_id = ${clubId} AND status = 'pending'`);
}

/**
 * Cancels the mails to an erased account that are not sent yet, and deletes the keys of its address. Mails of ended invitations and of
 * requests from before the account name the address only by its key. Mails of clubs to students keep their keys, because a student with
 * this address is another account.
 */
export async function eraseMailsOfAdministrator(
  tx: Transaction,
  { administratorId, addressKey }: { administratorId: Id; addressKey: Buffer },
): Promise<void> {
  const mails = await tx.rows<{ key: Buffer }>(
    sql`SELECT DISTINCT address_key AS key FROM transactional_mails WHERE administrator_id = ${administratorId}`,
  );
  const keys = [addressKey, ...mails.map(({ key }) => key)];
  await tx.run(sql`
    UPDATE transactional_mails
       SET status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END,
           sealed_address = NULL, address_key = '', device = NULL, network = NULL
     WHERE administrator_id = ${administratorId}
        OR address_key = ANY (${keys}::bytea[]) AND num_nonnulls(student_id, administrator_id, invitation_id) = 0
           AND (club_id IS NULL OR template = 'administrator_invitation')`);
}
