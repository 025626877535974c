/** Posts signed events of the payment processor to an API that trusts the signature. */
import Stripe from 'stripe';
import { unixNow } from '../builders/billing-events.ts';
import { serveApp, type ServedApp } from '../stack/app.ts';
import { callAt, type Answer } from './api.ts';

export const webhookSecret = 'whsec_test_5kQ2mJ3nT9XcK8vE0yRb7LdW';

export function signatureOf(payload: string, { secret = webhookSecret, at = unixNow() } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at });
}

/** The caller must close the API. */
export function serveBilling(env: Record<string, string> = {}): Promise<ServedApp> {
  return serveApp({ env: { STRIPE_WEBHOOK_SECRET: webhookSecret, ...env } });
}

export function postBillingEvent(
  { base }: ServedApp,
  event: object,
  signing: { secret?: string; at?: number } = {},
): Promise<Answer> {
  const payload = JSON.stringify(event);
  return callAt(base, 'POST', '/webhooks/billing', {
    raw: payload,
    headers: { 'stripe-signature': signatureOf(payload, signing) },
  });
}
