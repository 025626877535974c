/** Manages products of sales platforms, and the deliveries that a sale of each product grants. */
import { requireUnnamed } from '../../watches/watches.ts';
import { Product } from '../../../entities/sales/product.ts';
import { ProductDelivery } from '../../../entities/sales/product-delivery.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireDeliveries } from '../../access/deliveries/deliveries.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, columns, given, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { sqlStateOf, violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';

type ProductRecord = RecordOf<'Product'>;

const productColumns = columns(
  Product,
  ['id', 'platform', 'externalId', 'name', 'partialRefundEndsAccess', 'createdAt', 'updatedAt'],
  'product',
).and<{ deliveryIds: Id[] }>(
  sql`ARRAY (SELECT given.delivery_id FROM product_deliveries given WHERE given.product_id = product.id
              ORDER BY given.delivery_id) AS "deliveryIds"`,
);
type ProductRow = RowOf<typeof productColumns>;

function presentProduct(product: ProductRow): ProductRecord {
  return {
    id: product.id,
    platform: product.platform,
    external_id: product.externalId,
    name: product.name,
    delivery_ids: product.deliveryIds,
    partial_refund_ends_access: product.partialRefundEndsAccess,
    created_at: product.createdAt.toISOString(),
    updated_at: product.updatedAt.toISOString(),
  };
}

/** @returns a page of the club's products, newest first */
export async function listProducts(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { platform?: string },
): Promise<Page<ProductRecord>> {
  const { rows, total, next } = await listPage(db, filter, {
    columns: productColumns,
    from: sql`FROM products product WHERE ${all([
      sql`product.club_id = ${clubId}`,
      filter.platform === undefined ? undefined : sql`product.platform = ${filter.platform}`,
    ])}`,
    changedAt: 'product.changed_at',
    orderBy: newestFirst('product'),
  });
  return { rows: rows.map(presentProduct), total, next };
}

/** @throws DomainError not_found */
export async function findProduct(db: Queries, clubId: Id, productId: Id, lock = sql``): Promise<ProductRecord> {
  const product = await db.one<ProductRow>(
    sql`SELECT ${productColumns} FROM products product WHERE product.id = ${productId} AND product.club_id = ${clubId} ${lock}`,
  );
  if (!product) throw notFound('product');
  return presentProduct(product);
}

/** @throws DomainError not_found (no such delivery), product_exists */
export async function createProduct(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'ProductCreation'>,
  now: Date,
): Promise<ProductRecord> {
  return db.transaction(async (tx) => {
    await requireDeliveries(tx, clubId, input.delivery_ids ?? []);
    const id = newId();
    const { platform, external_id: externalId } = input;
    const product = {
      id,
      clubId,
      platform,
      externalId,
      name: tidyName(input.name),
      partialRefundEndsAccess: input.partial_refund_ends_access ?? false,
      createdAt: now,
      updatedAt: now,
    };
    await tx.manager.insert(Product, product).catch(productExistsOr);
    await setMapping(tx, id, input.delivery_ids ?? []);
    return findProduct(tx, clubId, id);
  });
}

/**
 * Changes the fields that are present. New deliveries apply only to later sales.
 * @throws DomainError not_found (no such product or delivery), product_exists
 */
export async function updateProduct(
  { db }: DatabaseDeps,
  clubId: Id,
  productId: Id,
  input: RecordOf<'ProductChange'>,
  now: Date,
): Promise<ProductRecord> {
  return db.transaction(async (tx) => {
    await findProduct(tx, clubId, productId, sql`FOR NO KEY UPDATE`);
    if (input.delivery_ids) {
      await requireDeliveries(tx, clubId, input.delivery_ids);
      await setMapping(tx, productId, input.delivery_ids);
    }
    const change = given({
      platform: input.platform,
      externalId: input.external_id,
      name: input.name === undefined ? undefined : tidyName(input.name),
      partialRefundEndsAccess: input.partial_refund_ends_access,
      updatedAt: now,
    });
    await tx.manager.update(Product, { id: productId }, change).catch(productExistsOr);
    return findProduct(tx, clubId, productId);
  });
}

/** Deletes a product that has no sales and that no automation uses. @throws DomainError not_found, in_use */
export async function deleteProduct({ db }: DatabaseDeps, clubId: Id, productId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await findProduct(tx, clubId, productId, sql`FOR UPDATE`);
    await requireUnnamed(tx, 'product', productId);
    await tx.manager.delete(Product, { id: productId }).catch((error: unknown) => {
      throw sqlStateOf(error) === foreignKeyViolation
        ? new DomainError('in_use', 'The product has sales and cannot be deleted.')
        : error;
    });
  });
}

const foreignKeyViolation = '23503';

function productExistsOr(error: unknown): never {
  throw violates(error, 'products_identity')
    ? new DomainError('product_exists', 'The club has a product with this platform and `external_id` already.')
    : error;
}

async function setMapping(tx: Transaction, productId: Id, deliveryIds: readonly Id[]): Promise<void> {
  await tx.manager.delete(ProductDelivery, { productId });
  await tx.run(
    sql`INSERT INTO product_deliveries (product_id, delivery_id) SELECT DISTINCT ${productId}::uuid, unnest(${deliveryIds}::uuid[])`,
  );
}
