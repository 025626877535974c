/** Finds amounts of purchases that versions up to 0.2.0 may have stored wrongly (SALE-5). Changes no data. */
import { Purchase } from '../../entities/sales/purchase.ts';
import { SalesNotice } from '../../entities/sales/sales-notice.ts';
import { salesPlatforms } from '../../entities/sales/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { noticeBounds, readJson, UnreadableJson } from '../../platform/core/json.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { decimalsOf, formerDecimals } from './platforms/currencies.policy.ts';
import { salesAdapters } from './platforms/index.ts';

const batch = 500;

export interface DoubtfulAmount {
  clubId: Id;
  purchaseId: Id;
  externalId: string;
  amount: string;
  currency: string;
  /**
   * The reason why the amount may be wrong. A number means that the decimals of ISO 4217 were ignored: the correct amount is the stored
   * amount multiplied by this number. `text` means that the notice states the amount as text.
   */
  doubt: { factor: number } | 'text';
}

/**
 * Yields purchases whose decimal amount was rounded to whole units, although the currency has smaller units. The purchases are sorted by
 * id.
 */
export async function* roundedAmounts(db: Queries): AsyncGenerator<DoubtfulAmount> {
  const decimalPlatforms = salesPlatforms.filter((platform) => salesAdapters[platform].sendsDecimals);
  const known = columns(Purchase, ['clubId', 'externalId', 'amount', 'currency']).and<{ purchaseId: Id }>(
    sql`id AS "purchaseId"`,
  );
  for (let after: Id | undefined; ;) {
    const rows: Omit<DoubtfulAmount, 'doubt'>[] = await db.rows(sql`SELECT ${known} FROM purchases
        WHERE amount_decimals IS NULL AND amount > 0 AND platform = ANY (${decimalPlatforms})
          AND currency = ANY (${Object.keys(formerDecimals)}) AND (${after ?? null}::uuid IS NULL OR id > ${after ?? null}::uuid)
        ORDER BY id LIMIT ${batch}`);
    for (const row of rows) {
      const decimals = (decimalsOf(row.currency) ?? 0) - (formerDecimals[row.currency] ?? 0);
      yield { ...row, doubt: { factor: 10 ** decimals } };
    }
    after = rows.at(-1)?.purchaseId;
    if (rows.length < batch) return;
  }
}

/** Yields purchases that have a processed notice with the amount as a text. It can only find notices whose body is still stored. */
export async function* amountsFromText(db: Queries): AsyncGenerator<DoubtfulAmount> {
  const wholePlatforms = salesPlatforms.filter((platform) => !salesAdapters[platform].sendsDecimals);
  const noticeColumns = columns(SalesNotice, ['id', 'clubId', 'platform', 'body']);
  for (let after: Id | undefined; ;) {
    const rows = await db.rows<Pick<SalesNotice, 'id' | 'clubId' | 'platform' | 'body'>>(sql`SELECT ${noticeColumns}
        FROM sales_notices WHERE status = 'processed' AND body IS NOT NULL AND platform = ANY (${wholePlatforms})
          AND (${after ?? null}::uuid IS NULL OR id > ${after ?? null}::uuid) ORDER BY id LIMIT ${batch}`);
    for (const row of rows) {
      const externalId = purchaseOfText(row);
      const purchase = externalId === undefined ? undefined : await findPurchase(db, row, externalId);
      if (purchase) yield { ...purchase, doubt: 'text' };
    }
    after = rows.at(-1)?.id;
    if (rows.length < batch) return;
  }
}

/** @returns the platform's id of the purchase, if the notice contains the amount as a text */
function purchaseOfText({ platform, body }: Pick<SalesNotice, 'platform' | 'body'>): string | undefined {
  try {
    const read = readJson(body ?? '', noticeBounds);
    return salesAdapters[platform].statesTextAmount(read)
      ? salesAdapters[platform].identify(read).purchaseId
      : undefined;
  } catch (error) {
    if (error instanceof UnreadableJson) return undefined;
    throw error;
  }
}

async function findPurchase(
  db: Queries,
  { clubId, platform }: Pick<SalesNotice, 'clubId' | 'platform'>,
  externalId: string,
): Promise<Omit<DoubtfulAmount, 'doubt'> | undefined> {
  return db.one(sql`SELECT ${columns(Purchase, ['clubId', 'externalId', 'amount', 'currency'])}, id AS "purchaseId"
      FROM purchases WHERE club_id = ${clubId} AND platform = ${platform} AND external_id = ${externalId}`);
}
