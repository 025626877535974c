/** Products of sales platforms, and the deliveries that a sale of each gives. */
import { ProductDelivery } from '../../../entities/sales/product-delivery.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireDeliveries } from '../../access/deliveries/deliveries.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { sqlStateOf, violates } from '../../../platform/infra/postgres/errors.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text.policy.ts';

type Product = RecordOf<'Product'>;

interface ProductRow {
  id: Id;
  platform: string;
  externalId: string;
  name: string;
  deliveryIds: Id[];
  createdAt: Date;
  updatedAt: Date;
}

const selected = `SELECT product.id, product.platform, product.external_id AS "externalId", product.name,
    ARRAY (SELECT given.delivery_id FROM product_deliveries given WHERE given.product_id = product.id
            ORDER BY given.delivery_id) AS "deliveryIds",
    product.created_at AS "createdAt", product.updated_at AS "updatedAt"
  FROM products product`;

function presentProduct(product: ProductRow): Product {
  return {
    id: product.id,
    platform: product.platform,
    external_id: product.externalId,
    name: product.name,
    delivery_ids: product.deliveryIds,
    created_at: product.createdAt.toISOString(),
    updated_at: product.updatedAt.toISOString(),
  };
}

/** @returns a page of the club's products, newest first */
export async function listProducts(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { platform?: string },
): Promise<Page<Product>> {
  const { limit, offset } = windowOf(filter);
  const where = `product.club_id = $1 AND ($2::text IS NULL OR product.platform = $2)`;
  const parameters = [clubId, filter.platform ?? null];
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM products product WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<ProductRow[]>(
    `${selected} WHERE ${where} ORDER BY product.created_at DESC, product.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentProduct), total: counted?.total ?? 0 };
}

/** @throws DomainError not_found */
export async function findProduct(db: Queries, clubId: Id, productId: Id, lock = ''): Promise<Product> {
  const product = await db.one<ProductRow>(
    sql`${raw(selected)} WHERE product.id = ${productId} AND product.club_id = ${clubId} ${raw(lock)}`,
  );
  if (!product) throw notFound('product');
  return presentProduct(product);
}

/** @throws DomainError not_found (delivery), product_exists */
export async function createProduct(
  { db }: DatabaseDeps,
  clubId: Id,
  input: { platform: string; external_id: string; name: string; delivery_ids?: readonly Id[] },
  now: Date,
): Promise<Product> {
  return db.transaction(async (tx) => {
    await requireDeliveries(tx, clubId, input.delivery_ids ?? []);
    const id = newId();
    await tx
      .query(
        `INSERT INTO products (id, club_id, platform, external_id, name, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)`,
        [id, clubId, input.platform, input.external_id, tidyName(input.name), now],
      )
      .catch(productExistsOr);
    await setMapping(tx, id, input.delivery_ids ?? []);
    return findProduct(tx, clubId, id);
  });
}

/**
 * Changes what is given; what is absent stays. The mapping is replaced as a whole, for sales from now on.
 * @throws DomainError not_found (product or delivery), product_exists
 */
export async function updateProduct(
  { db }: DatabaseDeps,
  clubId: Id,
  productId: Id,
  input: { platform?: string; external_id?: string; name?: string; delivery_ids?: readonly Id[] },
  now: Date,
): Promise<Product> {
  return db.transaction(async (tx) => {
    await findProduct(tx, clubId, productId, 'FOR NO KEY UPDATE');
    if (input.delivery_ids) {
      await requireDeliveries(tx, clubId, input.delivery_ids);
      await setMapping(tx, productId, input.delivery_ids);
    }
    await tx
      .query(
        `UPDATE products SET platform = coalesce($2, platform), external_id = coalesce($3, external_id),
                name = coalesce($4, name), updated_at = $5 WHERE id = $1`,
        [
          productId,
          input.platform ?? null,
          input.external_id ?? null,
          input.name === undefined ? null : tidyName(input.name),
          now,
        ],
      )
      .catch(productExistsOr);
    return findProduct(tx, clubId, productId);
  });
}

/** Deletes a product that nothing was sold of: what refers to it keeps it. @throws DomainError not_found, in_use */
export async function deleteProduct({ db }: DatabaseDeps, clubId: Id, productId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await findProduct(tx, clubId, productId, 'FOR UPDATE');
    await tx.query(`DELETE FROM products WHERE id = $1`, [productId]).catch((error: unknown) => {
      throw sqlStateOf(error) === foreignKeyViolation ? new DomainError('in_use', 'The product was sold.') : error;
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
