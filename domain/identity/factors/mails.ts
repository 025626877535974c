/** Writes to a person about their second factors, so that a person notices a change by a stranger. */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requestMail } from '../../mail/transactional/requests.ts';

type FactorMail =
  | 'administrator_factor_added'
  | 'administrator_factor_removed'
  | 'administrator_recovery_code_used'
  | 'administrator_recovery_codes_replaced';

export async function mailAboutFactors(
  tx: Transaction,
  vault: Vault,
  template: FactorMail,
  administratorId: Id,
  now: Date,
): Promise<void> {
  const account = await tx.one<{ email: string }>(
    sql`SELECT email FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`,
  );
  if (!account) return;
  await requestMail(tx, vault, { template, clubId: null, recipient: { administratorId }, email: account.email }, now);
}
