/** Decides how often an operation commits: once at the end, or after each of its transactions (ADR 69). */
import type { ContractOperation, OperationId } from '../../contract/contract.ts';

/** These operations work between or after their transactions, for these reasons. If a later step fails, the earlier changes stay. */
const ownCommits: ReadonlyMap<OperationId, string> = new Map([
  ['buyAddOn', 'The row exists before the payment processor charges for it.'],
  ['checkMailDomain', 'It asks name servers between its transactions.'],
  ['completeMedia', 'It copies the file in the store, and then watches its processing for a moment.'],
  ['importStudents', 'It stores the file between its transactions.'],
  ['openCheckout', 'It asks the payment processor between its statements.'],
  ['openBillingPortal', 'It asks the payment processor after its statement.'],
  ['pauseCampaign', 'It waits for mails that are being sent.'],
  ['putMediaTrack', 'It records the name of the file, stores the file, and then records the track.'],
  ['putOwnAvatar', 'It records the name of the picture, stores the picture, and then records the profile.'],
  ['recoverWebhookDeliveries', 'It repeats a transaction for each batch of deliveries.'],
  ['removeMedia', 'It erases the file from the store after the commit.'],
  ['verifyPhone', 'A wrong code counts although the answer is an error.'],
  ['setIdentityProvider', 'It asks the identity provider before its transaction.'],
] as const);

/** @returns whether all changes are one transaction, which commits at the end */
export function commitsOnce({ operationId, method, auth }: ContractOperation): boolean {
  return method !== 'get' && auth.length > 0 && !ownCommits.has(operationId);
}
