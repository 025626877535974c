/** Receives notices (webhooks) of the payment processor. Only signed notices are accepted, because the URL is public. */
import Stripe from 'stripe';
import type { Secret } from '../../platform/core/secret.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { receiveEvent } from './events.ts';
import type { EventOutcome } from '../../entities/billing/values.ts';
import { readEvent, type PlanOfPrice } from './events.policy.ts';

export interface BillingEventDeps {
  db: Database;
  /** The secret that signs notices. Undefined if the operator has not configured a processor. */
  webhookSecret: Secret | undefined;
  planOfPrice: PlanOfPrice;
  /** A function that is called with the outcome of each event, and logs the outcome. */
  onEvent: (event: { id: string; type: string; outcome: EventOutcome | 'repeated' }) => void;
}

/** In seconds. An intercepted notice must not be replayed later. */
const toleranceSeconds = 300;

/**
 * Verifies and records a notice. The bytes are parsed only after their signature is verified.
 * @throws DomainError not_configured, signature_invalid, malformed_request (the notice is signed, but is not an event)
 */
export async function receiveBillingEvent(
  deps: BillingEventDeps,
  receiveBody: () => Promise<{ raw: Buffer; parse: () => unknown }>,
  signature: string,
  now: Date,
): Promise<void> {
  const { webhookSecret, planOfPrice, db, onEvent } = deps;
  if (webhookSecret === undefined)
    throw new DomainError('not_configured', 'This environment has no payment processor.');
  const { raw, parse } = await receiveBody();
  requireSignature(raw, signature, webhookSecret, now);
  const event = readEvent(parse(), planOfPrice);
  if (event === undefined)
    throw new DomainError('malformed_request', 'The body is not an event of the payment processor.');
  const outcome = await receiveEvent(db, event, now);
  onEvent({ id: event.id, type: event.type, outcome: outcome ?? 'repeated' });
}

// The decoder must not remove a byte-order mark, because the mark is part of the signed bytes.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** @throws DomainError signature_invalid */
function requireSignature(raw: Buffer, signature: string, secret: Secret, now: Date): void {
  const { signature: signatures } = Stripe.webhooks;
  if (signatures === null) throw new Error('The Stripe library cannot verify signatures in this runtime');
  try {
    signatures.verifyHeader(utf8.decode(raw), signature, secret.reveal(), toleranceSeconds, undefined, now.getTime());
  } catch {
    // The library's own error message is not shown, because it quotes the body and the header.
    throw new DomainError('signature_invalid', 'The signature is missing, wrong or too old.');
  }
}
