/** A shop that sells a club's delivery and posts notices in the `generic` format (docs/reference/sales-notices.md). */
import { expect } from 'chai';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { call } from './api.ts';
import { taxDocument } from './listening-club.ts';
import { until } from './until.ts';

const patienceMs = 15_000;

interface Sale {
  purchaseId: string;
  email: string;
}

interface ShopSubscription extends Sale {
  subscriptionId: string;
}

export interface PostingShop {
  /** Creates a sale without notices. The buyer is new by default. */
  sale(buyer?: { email: string }): Sale;
  subscription(): ShopSubscription;
  /** Each call posts one notice and waits until it is processed. */
  paid(sale?: Sale): Promise<void>;
  refunded(sale: Sale): Promise<void>;
  chargedBack(sale: Sale): Promise<void>;
  charged(subscription: ShopSubscription): Promise<void>;
  late(subscription: ShopSubscription): Promise<void>;
  canceled(subscription: ShopSubscription, options: { periodEnd: string | undefined }): Promise<void>;
}

/** Connects the shop and maps a new product to the delivery, both through the public API. */
export async function connectShop(club: TestClub, deliveryId: Id): Promise<PostingShop> {
  const { token } = club.owner;
  const path = `/v1/clubs/${club.id}`;
  const productId = newId();
  const created = async (what: string, body: object) => {
    const answer = await call('POST', path + what, { token, body });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.data;
  };
  const product = { platform: 'generic', external_id: productId, name: 'Knots, the box', delivery_ids: [deliveryId] };
  await created('/products', product);
  const connection = await created('/sales-connections', { platform: 'generic', name: 'The shop' });

  const post = async (event: string, { email }: Sale, parts: object) => {
    const buyer = { email, name: 'Berta Buyer', tax_document: taxDocument };
    const body = { event, occurred_at: new Date().toISOString(), product: { id: productId }, buyer, ...parts };
    const answer = await call('POST', new URL(connection.url).pathname, { body });
    expect(answer.status, answer.text).to.equal(202);
    await until('the processing of the notices', { timeoutMs: patienceMs }, async () => {
      const { body: notices } = await call('GET', `${path}/sales-notices?status=pending`, { token });
      return notices.total === 0;
    });
  };
  const purchaseOf = ({ purchaseId }: Sale) => ({ purchase: { id: purchaseId, amount: 4_900, currency: 'EUR' } });
  const subscriptionOf = ({ subscriptionId }: ShopSubscription, more: object = {}) => ({
    subscription: { id: subscriptionId, ...more },
  });
  const sale = ({ email } = { email: `buyer-${newId()}@example.com` }): Sale => ({ purchaseId: newId(), email });

  return {
    sale,
    subscription: () => ({ ...sale(), subscriptionId: newId() }),
    paid: (of = sale()) => post('purchase.paid', of, purchaseOf(of)),
    refunded: (of) => post('purchase.refunded', of, purchaseOf(of)),
    chargedBack: (of) => post('purchase.chargeback', of, purchaseOf(of)),
    charged: (of) => post('purchase.paid', of, { ...purchaseOf(of), ...subscriptionOf(of) }),
    late: (of) => post('subscription.past_due', of, subscriptionOf(of, { lateness: 'the second month' })),
    canceled: (of, { periodEnd }) =>
      post(
        'subscription.canceled',
        of,
        subscriptionOf(of, periodEnd === undefined ? {} : { current_period_end: periodEnd }),
      ),
  };
}
