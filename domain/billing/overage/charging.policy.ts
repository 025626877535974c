/** Defines when the service tries to charge for overage again, how long it uses an idempotency key, and when it stops. */
import type { OverageChargeReason } from '../../../entities/billing/values.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The wait after each attempt, in milliseconds. The last value also applies to all later attempts. */
const waits = [5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, hour] as const;

/** Only a person or a new version of the service can change these. Such a charge is tried each day. */
const slowReasons: ReadonlySet<OverageChargeReason> = new Set<OverageChargeReason>([
  'not_configured',
  'currency_without_price',
  'amount_too_large',
  'refused_by_processor',
]);

/** A step makes a few calls to the processor, each of at most 10 s, and searches all items of the customer since the month. */
export const chargeLeaseSeconds = 120;

/**
 * Each idempotency key is used for this time. The processor stores keys for at least 24 hours. If it stores the answer `500` under a key,
 * a later key gets past this answer.
 */
export const keyLastsMs = 23 * hour;

/**
 * The time after the last use of a key before the next key begins. A worker that paused before its request may still send it with the old
 * key. The search before the next key then finds its item.
 */
export const keyRestsMs = 30 * minute;

/** After this time without an item at the processor, the charge has failed, and a person must decide (docs/how-to/charge-for-overage.md). */
export const chargesForMs = 60 * day;

/** The processor's invoices of a subscription at most this far away take the item along. For a later one, an own invoice is made. */
export const waitsForInvoiceMs = 35 * day;

/** The processor makes the invoice of a subscription within some hours of the end of the period. */
export const invoiceGraceMs = day;

/**
 * @param attempts the number of attempts so far
 * @param reason the reason why the last attempt did not go through
 * @returns the wait after the last attempt, in milliseconds
 */
export function waitAfterOverageCharge(attempts: number, reason: OverageChargeReason): number {
  if (slowReasons.has(reason)) return day;
  return waits[Math.min(attempts, waits.length) - 1] ?? waits[0];
}
