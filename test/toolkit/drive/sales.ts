/** Sales for tests: a shop connected to a club, notices in the format of our own, and what they have led to. */
import { createConnection } from '../../../domain/sales/connections.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { processNotice, type NoticePlatform, type NoticeStep } from '../../../domain/sales/processing.ts';
import { receiveNotice } from '../../../domain/sales/notices.ts';
import type { SalesPlatform } from '../../../domain/sales/platforms.policy.ts';
import { buildDelivery } from '../builders/access.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildClub, type TestClub } from '../builders/factories.ts';

export interface TestConnection {
  id: Id;
  platform: SalesPlatform;
  token: string;
}

/** A connection of a club. @param secret what the platform proves itself by */
export async function buildConnection(
  clubId: Id,
  platform: SalesPlatform = 'generic',
  secret?: string,
): Promise<TestConnection> {
  const input = { platform, name: 'Shop', ...(secret !== undefined && { secret }) };
  const { id, token } = await createConnection(await testPlatform(), clubId, input, new Date());
  return { id, platform, token };
}

export interface TestProduct {
  id: Id;
  externalId: string;
  deliveryIds: Id[];
}

/** What a platform sells for a club. @param deliveries how many it gives */
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
    const delivery = await buildDelivery(clubId);
    deliveryIds.push(delivery.id);
    await source.query(`INSERT INTO product_deliveries (product_id, delivery_id) VALUES ($1, $2)`, [id, delivery.id]);
  }
  return { id, externalId, deliveryIds };
}

export interface Shop {
  club: TestClub;
  connection: TestConnection;
  product: TestProduct;
  /** The buyer of its notices: nobody that the club knows. */
  email: string;
}

/** A club with a connection and one product. */
export async function buildShop(deliveries = 1): Promise<Shop> {
  const club = await buildClub();
  const connection = await buildConnection(club.id);
  return {
    club,
    connection,
    product: await buildProduct(club.id, { deliveries }),
    email: `buyer-${newId()}@example.com`,
  };
}

const cpf = '69526128664';

/** A notice in the format of our own (docs/sales-notices.md). */
export function noticeOf(shop: Shop, event: string, further: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event,
    occurred_at: '2026-03-02T09:15:00Z',
    product: { id: shop.product.externalId },
    buyer: { email: shop.email, name: 'Bea Buyer', document: cpf },
    ...further,
  };
}

/** The same of a purchase. */
export function purchaseNotice(
  shop: Shop,
  event: 'paid' | 'refunded' | 'chargeback',
  further: Record<string, unknown> = {},
): Record<string, unknown> {
  return noticeOf(shop, `purchase.${event}`, {
    purchase: { id: 'sale-1', amount: 4_900, currency: 'EUR', paid_at: '2026-03-02T09:14:40Z' },
    ...further,
  });
}

/** Takes a notice in, past HTTP. @returns its id */
export async function take(connection: TestConnection, body: unknown, proof = ''): Promise<Id> {
  const platform = await testPlatform();
  const received = {
    ...connection,
    raw: Buffer.from(JSON.stringify(body)),
    body,
    header: () => proof,
    signature: proof,
  };
  await receiveNotice(platform, received, new Date());
  const [row] = await platform.database.source.query<{ id: Id }[]>(
    `SELECT id FROM sales_notices WHERE connection_id = $1 ORDER BY id DESC LIMIT 1`,
    [connection.id],
  );
  if (!row) throw new Error('The notice is not there.');
  return row.id;
}

export async function noticePlatform(changes: Partial<NoticePlatform> = {}): Promise<NoticePlatform> {
  return { ...(await testPlatform()), onOutcome() {}, async failpoint() {}, ...changes };
}

/** One step of a notice, now. */
export async function process(noticeId: Id, now = new Date()): Promise<NoticeStep> {
  return processNotice(await noticePlatform(), noticeId, Math.max(now.getTime(), Date.now()));
}

/** Takes notices in and processes them, one after the other. @returns how each ended */
export async function sell(shop: Shop, ...bodies: unknown[]): Promise<string[]> {
  const outcomes: string[] = [];
  for (const body of bodies) {
    const step = await process(await take(shop.connection, body));
    outcomes.push(step.done ? step.outcome : 'pending');
  }
  return outcomes;
}

export interface NoticeLeft {
  status: string;
  errorCode: string | null;
  errorPath: string | null;
  attemptCount: number;
  body: Buffer | null;
  studentId: Id | null;
}

export async function noticeRow(noticeId: Id): Promise<NoticeLeft> {
  const source = await testDatabase();
  const [row] = await source.query<NoticeLeft[]>(
    `SELECT status, error_code AS "errorCode", error_path AS "errorPath", attempt_count AS "attemptCount", body, student_id AS "studentId"
       FROM sales_notices WHERE id = $1`,
    [noticeId],
  );
  if (!row) throw new Error('There is no such notice.');
  return row;
}

/** What the notices of a club have led to, without ids and without the times of its processing. */
export async function stateOf(clubId: Id): Promise<Record<string, unknown>> {
  const source = await testDatabase();
  const rows = (sql: string) => source.query<unknown[]>(sql, [clubId]);
  return {
    students: await rows(`SELECT email, name FROM students WHERE club_id = $1 ORDER BY email`),
    purchases: await rows(
      `SELECT sale.external_id, sale.status, amount, currency, paid_at, refunded_at, subscription.external_id AS subscription
         FROM purchases sale LEFT JOIN subscriptions subscription ON subscription.id = sale.subscription_id
        WHERE sale.club_id = $1 ORDER BY sale.external_id`,
    ),
    subscriptions: await rows(
      `SELECT external_id, status, current_period_end, past_due_since, canceled_at FROM subscriptions WHERE club_id = $1 ORDER BY 1`,
    ),
    enrollments: await rows(
      `SELECT delivery_id, source, ends_at, revoked_reason FROM enrollments WHERE club_id = $1 ORDER BY source, delivery_id`,
    ),
    facts: await rows(
      `SELECT fact.type, coalesce(purchase.external_id, subscription.external_id, enrollment.delivery_id::text) AS about, count(*)::int
         FROM facts fact LEFT JOIN purchases purchase ON purchase.id = fact.subject_id
         LEFT JOIN subscriptions subscription ON subscription.id = fact.subject_id
         LEFT JOIN enrollments enrollment ON enrollment.id = fact.subject_id
        WHERE fact.club_id = $1 GROUP BY 1, 2 ORDER BY 1, 2`,
    ),
  };
}

/** The types of a club's facts, oldest first. */
export async function factTypes(clubId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string }[]>(`SELECT type FROM facts WHERE club_id = $1 ORDER BY seq`, [
    clubId,
  ]);
  return rows.map(({ type }) => type);
}
