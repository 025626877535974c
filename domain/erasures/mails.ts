/** Requests the mails about the erasure of a club. */
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';

/** Reminds the owners and admins of the club, three days before the erasure begins. */
export async function remindOfErasure(_tx: Transaction, _vault: Vault, _clubId: Id, _now: Date): Promise<void> {}
