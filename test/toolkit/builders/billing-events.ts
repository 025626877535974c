/** Events as the payment processor sends and signs them, and APIs that believe them. */
import Stripe from 'stripe';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { callAt, type Answer } from '../drive/api.ts';
import { serveApp, type ServedApp } from '../stack/app.ts';
import { testDatabase } from '../stack/database.ts';

export const webhookSecret = 'whsec_test_5kQ2mJ3nT9XcK8vE0yRb7LdW';

export interface TestEvent {
  id: string;
  type: string;
  /** Unix seconds. */
  created: number;
  data: { object: object };
}

interface About {
  clubId?: Id;
  customer?: string;
  subscription?: string;
  /** Unix seconds. */
  at?: number;
}

export const unixNow = () => Math.floor(Date.now() / 1_000);
const eventOf = (type: string, object: object, at = unixNow()): TestEvent => ({
  id: `evt_${newId()}`,
  type,
  created: at,
  data: { object },
});
const metadata = (clubId: Id | undefined) => ({ metadata: clubId === undefined ? {} : { club_id: clubId } });

/** What the processor tells, one function an event type. */
export const billingEvents = {
  checkout: ({ clubId, customer = 'cus_1', subscription = 'sub_1', at }: About) =>
    eventOf('checkout.session.completed', { id: 'cs_1', customer, subscription, ...metadata(clubId) }, at),
  subscription: (
    change: 'created' | 'updated' | 'deleted',
    about: About & { plan?: string; price?: string; status?: string; periodEnd?: number },
  ) => {
    const { clubId, customer = 'cus_1', subscription = 'sub_1', at, plan, price = 'price_1', periodEnd } = about;
    const items = { data: [{ price: { id: price, lookup_key: plan ?? null }, current_period_end: periodEnd }] };
    const status = about.status ?? (change === 'deleted' ? 'canceled' : 'active');
    return eventOf(
      `customer.subscription.${change}`,
      { id: subscription, customer, status, items, ...metadata(clubId) },
      at,
    );
  },
  invoice: (what: 'paid' | 'payment_failed', { customer = 'cus_1', subscription = 'sub_1', at }: About) =>
    eventOf(`invoice.${what}`, { id: 'in_1', customer, parent: { subscription_details: { subscription } } }, at),
};

export function signatureOf(payload: string, { secret = webhookSecret, at = unixNow() } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at });
}

/** An API with the secret of these events; the caller closes it. */
export function serveBilling(env: Record<string, string> = {}): Promise<ServedApp> {
  return serveApp({ env: { STRIPE_WEBHOOK_SECRET: webhookSecret, ...env } });
}

/** Posts an event, signed. */
export function postEvent(
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

/** The row of a club's plan; undefined where it has none. */
export async function planRow(clubId: Id): Promise<Record<string, unknown> | undefined> {
  const source = await testDatabase();
  const [row] = await source.query<Record<string, unknown>[]>(
    `SELECT plan, status, customer_id, subscription_id, current_period_end, changed_at FROM club_plans WHERE club_id = $1`,
    [clubId],
  );
  return row;
}

/** What became of an event; undefined where it was not recorded. */
export async function outcomeOf({ id }: TestEvent): Promise<string | undefined> {
  const source = await testDatabase();
  const [row] = await source.query<{ outcome: string }[]>(`SELECT outcome FROM billing_events WHERE id = $1`, [id]);
  return row?.outcome;
}
