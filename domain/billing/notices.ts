/** Notices of the payment processor: believed only when signed, for anybody can post to the address. */
import Stripe from 'stripe';
import type { Secret } from '../../platform/core/secret.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { receiveEvent } from './events.ts';
import type { EventOutcome } from '../../entities/billing/values.ts';
import { readEvent, type PlanOfPrice } from './events.policy.ts';

/** The dependencies of receiving the payment processor's events. */
export interface BillingEventDeps {
  db: Database;
  /** Undefined where the operator has set no processor up. */
  webhookSecret: Secret | undefined;
  planOfPrice: PlanOfPrice;
  /** Called with the outcome of each event, for the log. */
  onEvent: (event: { id: string; type: string; outcome: EventOutcome | 'repeated' }) => void;
}

/** How old a notice may be, in seconds: a recorded one cannot be replayed later. */
const toleranceSeconds = 300;

/**
 * Verifies and records a notice.
 * @param rawBody the bytes that were signed
 * @throws DomainError not_configured, signature_invalid, malformed_request (signed, but no event)
 */
export async function receiveBillingEvent(
  deps: BillingEventDeps,
  rawBody: Buffer,
  signature: string,
  now: Date,
): Promise<void> {
  const { webhookSecret, planOfPrice, db, onEvent } = deps;
  if (webhookSecret === undefined)
    throw new DomainError('not_configured', 'This environment has no payment processor.');
  const event = readEvent(verified(rawBody, signature, webhookSecret, now), planOfPrice);
  if (event === undefined) throw new DomainError('malformed_request', 'The body is not an event.');
  const outcome = await receiveEvent(db, event, now);
  onEvent({ id: event.id, type: event.type, outcome: outcome ?? 'repeated' });
}

/** @returns the event that was signed @throws DomainError signature_invalid */
function verified(rawBody: Buffer, signature: string, secret: Secret, now: Date): unknown {
  try {
    return Stripe.webhooks.constructEvent(
      rawBody,
      signature,
      secret.reveal(),
      toleranceSeconds,
      undefined,
      now.getTime(),
    );
  } catch {
    // What the library says quotes the body and the header.
    throw new DomainError('signature_invalid', 'The signature is missing, wrong or too old.');
  }
}
