/** Creates the client of the payment processor's API (Stripe). */
import Stripe from 'stripe';
import type { Secret } from '../core/secret.ts';

/** A call takes a few seconds, and an API caller may wait for it. */
const timeoutMs = 10_000;

export interface PaymentSettings {
  /** Absent if no processor is configured. */
  secretKey: Secret | undefined;
  apiUrl: string;
}

/** @returns undefined without a key */
export function createStripe({ secretKey, apiUrl }: PaymentSettings): Stripe | undefined {
  if (!secretKey) return undefined;
  const url = new URL(apiUrl);
  return new Stripe(secretKey.reveal(), {
    protocol: url.protocol === 'http:' ? 'http' : 'https',
    host: url.hostname,
    port: url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port),
    timeout: timeoutMs,
    maxNetworkRetries: 0, // The caller retries on its own schedule.
    telemetry: false,
  });
}

/** @returns the id of a record that the processor sends as an id or as a whole */
export function idOf(reference: string | { id: string } | null | undefined): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

/** Whether the processor says that it has no such record. */
export function isMissing(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing';
}

/** Whether the first request with the same idempotency key has not ended yet. It may still have its effect. */
export function isKeyInUse(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'idempotency_key_in_use';
}
