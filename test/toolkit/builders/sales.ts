/** Builds shops: connections to sales platforms, products with their deliveries, and notices in the `generic` format. */
import { newId, type Id } from '../../../platform/core/ids.ts';
import { createConnection } from '../../../domain/sales/platforms/connections.ts';
import type { SalesPlatform } from '../../../entities/sales/values.ts';
import { testDeps, testDatabase } from '../stack/database.ts';
import { buildAccessDelivery } from './access.ts';
import { buildClub, type TestClub } from './clubs.ts';

export interface TestSalesConnection {
  id: Id;
  platform: SalesPlatform;
  token: string;
}

export async function buildSalesConnection(
  clubId: Id,
  platform: SalesPlatform = 'generic',
  secret?: string,
): Promise<TestSalesConnection> {
  const input = { platform, name: 'Shop', ...(secret !== undefined && { secret }) };
  const { id, token } = await createConnection(await testDeps(), clubId, input, new Date());
  return { id, platform, token };
}

interface TestProduct {
  id: Id;
  externalId: string;
  deliveryIds: Id[];
}

export async function buildProduct(
  clubId: Id,
  { platform = 'generic', externalId = `product-${newId()}`, deliveries = 1 } = {},
): Promise<TestProduct> {
  const source = await testDatabase();
  const id = newId();
  await source.query(
    `INSERT INTO products (id, club_id, platform, external_id, name, created_at, updated_at) VALUES ($1, $2, $3, $4, 'Knots', $5, $5)`,
    [id, clubId, platform, externalId, new Date()],
  );
  const deliveryIds: Id[] = [];
  for (let count = 0; count < deliveries; count++) {
    const delivery = await buildAccessDelivery(clubId);
    deliveryIds.push(delivery.id);
    await source.query(`INSERT INTO product_deliveries (product_id, delivery_id) VALUES ($1, $2)`, [id, delivery.id]);
  }
  return { id, externalId, deliveryIds };
}

export interface TestShop {
  club: TestClub;
  connection: TestSalesConnection;
  product: TestProduct;
  /** The buyer in the notices, who is not yet a student of the club. */
  email: string;
}

export async function buildShop(deliveries = 1): Promise<TestShop> {
  const club = await buildClub();
  const connection = await buildSalesConnection(club.id);
  return {
    club,
    connection,
    product: await buildProduct(club.id, { deliveries }),
    email: `buyer-${newId()}@example.com`,
  };
}

const cpf = '69526128664';

/** A notice in the `generic` format (docs/reference/sales-notices.md). */
export function noticeOf(
  shop: TestShop,
  event: string,
  further: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    event,
    occurred_at: '2026-03-02T09:15:00Z',
    product: { id: shop.product.externalId },
    buyer: { email: shop.email, name: 'Bea Buyer', document: cpf },
    ...further,
  };
}

export function purchaseNotice(
  shop: TestShop,
  event: 'paid' | 'refunded' | 'chargeback',
  further: Record<string, unknown> = {},
): Record<string, unknown> {
  return noticeOf(shop, `purchase.${event}`, {
    purchase: { id: 'sale-1', amount: 4_900, currency: 'EUR', paid_at: '2026-03-02T09:14:40Z' },
    ...further,
  });
}
