/** Builds events as the payment processor sends them. */
import { newId, type Id } from '../../../platform/core/ids.ts';

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

export const billingEvents = {
  checkout: ({ clubId, customer = 'cus_1', subscription = 'sub_1', at }: About) =>
    eventOf('checkout.session.completed', { id: 'cs_1', customer, subscription, ...metadata(clubId) }, at),
  subscription: (
    change: 'created' | 'updated' | 'deleted',
    about: About & { plan?: string; price?: string; status?: string; periodEnd?: number; currency?: string },
  ) => {
    const { clubId, customer = 'cus_1', subscription = 'sub_1', at, plan, price = 'price_1', periodEnd } = about;
    const items = { data: [{ price: { id: price, lookup_key: plan ?? null }, current_period_end: periodEnd }] };
    const status = about.status ?? (change === 'deleted' ? 'canceled' : 'active');
    return eventOf(
      `customer.subscription.${change}`,
      {
        id: subscription,
        customer,
        status,
        items,
        ...(about.currency && { currency: about.currency }),
        ...metadata(clubId),
      },
      at,
    );
  },
  invoice: (what: 'paid' | 'payment_failed', { customer = 'cus_1', subscription = 'sub_1', at }: About) =>
    eventOf(`invoice.${what}`, { id: 'in_1', customer, parent: { subscription_details: { subscription } } }, at),
};
