/**
 * Decides how often an operation commits. Most operations commit once, at their end. Some operations commit each of their transactions (ADR
 * 69).
 */
import type { ContractOperation, OperationId } from '../../contract/contract.ts';

/**
 * Operations that need several transactions, or that do other work between or after their transactions, each with the reason. Each
 * transaction commits separately, so the changes of a transaction stay if a later step fails.
 */
const ownCommits: ReadonlyMap<OperationId, string> = new Map([
  ['buyAddOn', 'The row exists before the payment processor charges for it.'],
  ['checkMailDomain', 'It asks name servers between its transactions.'],
  ['completeMedia', 'It copies the file in the store, and then watches its processing for a moment.'],
  ['importStudents', 'It stores the file between its transactions.'],
  ['pauseCampaign', 'It waits for mails that are being sent.'],
  ['putMediaTrack', 'It records the name of the file, stores the file, and then records the track.'],
  ['recoverWebhookDeliveries', 'It repeats a transaction for each batch of deliveries.'],
  ['removeMedia', 'It erases the file from the store after the commit.'],
] as const);

/** @returns whether the operation makes all its changes in one transaction, which commits at the end */
export function commitsOnce({ operationId, method, auth }: ContractOperation): boolean {
  return method !== 'get' && auth.length > 0 && !ownCommits.has(operationId);
}
