/** What the notices of every platform come to: the normalized events that the ledger takes. */
import type { SalesPlatform } from '../../../entities/sales/values.ts';

export interface Buyer {
  email: string;
  name: string;
}

interface Sale {
  /** The notice's own time: what decides where two notices disagree. */
  at: Date;
  /** The platform's own id of the product. */
  productId: string;
  buyer: Buyer;
}

/** A payment, or what undid it. Approved and completed are one sale. */
export interface PurchaseEvent extends Sale {
  kind: 'paid' | 'refunded' | 'chargeback';
  /** The platform's own id of the purchase; each charge of a subscription has its own. */
  purchaseId: string;
  /** In the smallest unit of the currency. */
  amount: number;
  /** What a refund has given back in all; `part` if the platform says no more than that. Absent: the amount. */
  refunded?: number | 'part';
  /** By ISO 4217. */
  currency: string;
  paidAt: Date;
  /** The subscription that it is a charge of, and the end of the period that it pays for. */
  subscription?: { id: string; periodEnd?: Date };
}

/** A charge of a subscription is late. */
export interface LateEvent extends Sale {
  kind: 'late';
  subscriptionId: string;
  /** The lateness's own: what is sent again for the same one has the same. */
  key: string;
  periodEnd?: Date;
}

/** A subscription was canceled; without a period end, or with one that has passed, its access ends at once. */
export interface CanceledEvent extends Sale {
  kind: 'canceled';
  subscriptionId: string;
  periodEnd?: Date;
}

export type SubscriptionEvent = LateEvent | CanceledEvent;
export type SalesEvent = PurchaseEvent | SubscriptionEvent;

export interface NoticeContent {
  /** The bytes as they came. */
  raw: Buffer;
  /** The JSON in them. */
  body: unknown;
  /** What came in the header or the query where this platform proves itself; empty where nothing did. */
  proof: string;
}

/** The platform's own ids of a sale, as far as they can be read. */
export interface SaleIds {
  purchaseId?: string | undefined;
  subscriptionId?: string | undefined;
}

/** What a platform's notices are and mean: one file a platform, `domain/sales/platforms/`. */
export interface SalesAdapter {
  platform: SalesPlatform;
  /** Whether its amounts are decimals, such as 149.5, and not smallest units. */
  sendsDecimals: boolean;
  /** Where its proof comes from: a header's name in lower case, or the `signature` of the query. */
  proofIn: { header: string } | 'signature';
  /** @returns whether the notice comes from somebody who knows the secret that the club has from the platform */
  isProven: (content: NoticeContent, secret: string) => boolean;
  /**
   * @returns what the notice tells; nothing where it has no meaning for access
   * @throws NoticeRefusal bad_shape, unknown_currency, with the path in the body
   */
  parse: (body: unknown) => SalesEvent[];
  /** @returns whether the amount is a text: versions up to 0.2.0 took it for smallest units */
  statesTextAmount: (body: unknown) => boolean;
  /** @returns which sale the notice is about, also where the rest of it cannot be read: so that a removal reaches it */
  identify: (body: unknown) => SaleIds;
}
