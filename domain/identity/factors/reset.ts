/** Removes all second factors of a person who has lost them. Only operators can do it, because an account can be in several clubs (FAC-9). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { endSessionsOf } from '../sessions/sessions.ts';
import { endSecondFactors, lockAccount } from './factors.ts';
import { mailAboutFactors } from './mails.ts';

/** @returns the number of removed factors; 0 if the account had none, and then nothing changes */
export async function resetFactors(tx: Transaction, vault: Vault, administratorId: Id, now: Date): Promise<number> {
  await lockAccount(tx, administratorId);
  const count = await tx.run(
    sql`DELETE FROM second_factors WHERE administrator_id = ${administratorId} AND confirmed_at IS NOT NULL`,
  );
  if (count === 0) return 0;
  await endSecondFactors(tx, administratorId);
  await endSessionsOf(tx, 'admin', administratorId);
  await mailAboutFactors(tx, vault, 'administrator_factor_removed', administratorId, now);
  return count;
}
