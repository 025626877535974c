/** The sales events of all platforms in one common form. Adapters create these events from notices, and the ledger applies them. */
import type { SalesPlatform } from '../../../entities/sales/values.ts';

export interface Buyer {
  email: string;
  name: string;
}

interface Sale {
  /** The time that the notice states. If two notices state different data, the data of the notice with the later time counts. */
  at: Date;
  /** The platform's id of the product. */
  productId: string;
  buyer: Buyer;
}

/**
 * A payment, a refund or a chargeback of a purchase. A platform may send several notices for one payment, such as "approved" and
 * "completed".
 */
export interface PurchaseEvent extends Sale {
  kind: 'paid' | 'refunded' | 'chargeback';
  /** Each charge of a subscription has its own id. */
  purchaseId: string;
  /** The amount in the smallest unit of the currency. */
  amount: number;
  /** The sum of all refunds; `part` for a partial refund without an amount; absent if the whole amount was refunded. */
  refunded?: number | 'part';
  /** The code of ISO 4217. */
  currency: string;
  paidAt: Date;
  /** The subscription to which this charge belongs, and the end of the paid period. */
  subscription?: { id: string; periodEnd?: Date };
}

/** A charge of a subscription that was not paid in time. */
export interface LateEvent extends Sale {
  kind: 'late';
  subscriptionId: string;
  /** Identifies the late payment. Repeated notices about one late payment have the same key. */
  key: string;
  periodEnd?: Date;
}

/** A canceled subscription. If the notice states no end of the paid period, or if that end has passed, the access ends immediately. */
export interface CanceledEvent extends Sale {
  kind: 'canceled';
  subscriptionId: string;
  periodEnd?: Date;
}

export type SubscriptionEvent = LateEvent | CanceledEvent;
export type SalesEvent = PurchaseEvent | SubscriptionEvent;

export interface NoticeContent {
  /** The bytes of the body, as they were received. */
  raw: Buffer;
  /** The parsed JSON. */
  body: unknown;
  /** The header or query parameter with the platform's proof. Empty if there is none. */
  proof: string;
}

/** The platform's ids of a sale. An id is absent if it cannot be read. */
export interface SaleIds {
  purchaseId?: string | undefined;
  subscriptionId?: string | undefined;
}

/** Reads the notices of one platform. Each platform has one adapter, in a file of `domain/sales/platforms/`. */
export interface SalesAdapter {
  platform: SalesPlatform;
  /** Whether the platform states amounts as decimals, such as 149.5, and not in smallest units. */
  sendsDecimals: boolean;
  /** The place of the proof in a request: a header in lower case, or the query parameter `signature`. */
  proofIn: { header: string } | 'signature';
  /** @returns whether the proof shows that the sender knows the secret that the club got from the platform */
  isProven: (content: NoticeContent, secret: string) => boolean;
  /**
   * @returns the events of the notice; an empty list if the notice does not affect access
   * @throws NoticeRefusal bad_shape, unknown_currency, with the path of the wrong field in the body
   */
  parse: (body: unknown) => SalesEvent[];
  /** @returns whether the amount is a text. Versions up to 0.2.0 read such a text as smallest units */
  statesTextAmount: (body: unknown) => boolean;
  /** @returns the ids of the sale, even from an otherwise unreadable notice, so that the removal of a student finds the notice */
  identify: (body: unknown) => SaleIds;
}
