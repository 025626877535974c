/** Mails the administrators of a club about one of its endpoints (STATE-5, HOOK-21). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { requestMail } from '../../mail/transactional/requests.ts';

/** Requests an e-mail about the endpoint to each member who may administer webhook endpoints. */
export async function mailAdministrators(
  tx: Transaction,
  vault: Vault,
  { id: endpointId, clubId }: { id: Id; clubId: Id },
  template: 'webhook_endpoint_failing' | 'webhook_endpoint_gone' | 'webhook_endpoint_throttled',
  now: Date,
): Promise<void> {
  const administrators = await tx.rows<{ id: Id; email: string }>(
    sql`SELECT administrator.id, administrator.email
       FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
      WHERE memberships.club_id = ${clubId} AND memberships.role IN ('owner', 'admin') AND administrator.removed_at IS NULL
      ORDER BY administrator.id`,
  );
  for (const { id, email } of administrators) {
    const recipient = { administratorId: id };
    await requestMail(tx, vault, { template, clubId, recipient, email, endpointId }, now);
  }
}
