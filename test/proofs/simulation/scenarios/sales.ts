/**
 * The scenario of sales: a platform repeats its notices and sends them in any order, buyers are removed, and administrators change access.
 * The order of the notices must not change the result.
 */
import { receivedBody } from '../../../toolkit/builders/received-bodies.ts';
import {
  setEnrollmentEnd,
  restoreEnrollment,
  revokeEnrollment,
} from '../../../../domain/access/enrollments/by-hand.ts';
import { createNoticeReceiver, replayNotice } from '../../../../domain/sales/notices/notices.ts';
import { createProduct } from '../../../../domain/sales/purchases/products.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { sha256 } from '../../../../platform/infra/keys/vault.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { keepToldFacts } from './facts-told.ts';
import { addClub, addressOf, addStudents, searchForTraces, type Footing } from './ground.ts';

interface Body {
  n: number;
  event: string;
  occurred_at: string;
  product: { id: string };
  buyer: { email: string; name: string };
  purchase?: { id: string; amount: number; refunded_amount: number; currency: 'EUR'; paid_at: string };
  subscription?: { id: string; lateness?: string; current_period_end?: string };
}

interface SentNotice {
  body: Body;
  buyer: Id;
  isAnswered: boolean;
}

interface PurchaseRow {
  id: Id;
  externalId: string;
  productId: Id;
  studentId: Id;
  subscriptionId: Id | null;
  status: string;
  amount: string;
  paidAt: Date;
  refundedAt: Date | null;
}

interface SubscriptionRow {
  id: Id;
  externalId: string;
  productId: Id;
  status: string;
  endLooksAt: Date | null;
  accessEndedAt: Date | null;
}

interface EnrollmentRow {
  id: Id;
  originId: Id;
  deliveryId: Id;
  endsAt: Date | null;
  revokedAt: Date | null;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const token = 'token-of-the-shop';
/** The simulated time of a schedule. All ends of access that notices and commands set lie within this time. */
const horizonMs = 6 * dayMs;
/** The first product exists from the beginning, and the second is created later. */
const products = ['knots', 'sails'] as const;
const subscription = 'sub-1';
/** The rank of each event of a purchase. The event with the highest rank decides the status. */
const ranks: Readonly<Record<string, number>> = {
  'purchase.paid': 0,
  'purchase.refunded': 1,
  'purchase.chargeback': 2,
};
const statuses = ['paid', 'refunded', 'chargeback'] as const;

export async function salesOfPlatforms(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  const [first, second] = (await addStudents(sim, ground, clubId, 2)) as [Id, Id];
  // A person whom the club does not know. The first sale to this person creates an account.
  const stranger = newId();
  const readFacts = await keepToldFacts(sim);
  const deliveries = [await addDelivery(sim, clubId), await addDelivery(sim, clubId)];
  await addShop(sim, clubId);
  const deps = { db: sim.db, vault };
  const now = () => new Date(sim.time.now);
  await createProduct(deps, clubId, productOf(0), now());
  const sentNotices: SentNotice[] = [];
  const removedBuyers = new Set<Id>();
  /** Enrollments that an administrator changed. */
  const byHand = new Set<Id>();

  function productOf(which: 0 | 1) {
    const externalId = products[which];
    return { platform: 'generic', external_id: externalId, name: externalId, delivery_ids: deliveries.slice(which) };
  }

  async function send(notice: SentNotice): Promise<void> {
    const receiveBody = receivedBody(notice.body);
    const received = { platform: 'generic', token, receiveBody, header: () => '', signature: undefined };
    await createNoticeReceiver(deps)(received, now()); // each request reaches a different process
    notice.isAnswered = true;
  }

  /** A notice of a new sale may not name a removed buyer, because the sale would create the buyer again. */
  async function mayName({ body, buyer }: Omit<SentNotice, 'isAnswered'>): Promise<boolean> {
    if (!removedBuyers.has(buyer)) return true;
    const known = await sim.postgres.ask<{ isRemoved: boolean }>(
      `SELECT student.removed_at IS NOT NULL AS "isRemoved"
         FROM (SELECT student_id, external_id FROM purchases UNION ALL SELECT student_id, external_id FROM subscriptions) AS sale
         JOIN students student ON student.id = sale.student_id WHERE sale.external_id = ANY ($1)`,
      [[body.purchase?.id, body.subscription?.id].filter((id) => id !== undefined)],
    );
    return known.length > 0 && known.every((sale) => sale.isRemoved);
  }

  function sendNotice(decisions: Decisions): Command {
    const notice = someNotice(decisions);
    const times = decisions.happens(4) ? 2 : 1;
    return {
      label: `${notice.body.event} of ${notice.body.purchase?.id ?? subscription}${times === 2 ? ', twice' : ''}`,
      async run() {
        if (!(await mayName(notice))) return;
        for (let time = 1; time <= times; time++) {
          const sentNotice = { ...notice, isAnswered: false };
          sentNotices.push(sentNotice);
          await send(sentNotice);
        }
      },
    };
  }

  function someNotice(decisions: Decisions): Omit<SentNotice, 'isAnswered'> {
    const which = decisions.choose(6);
    const isOther = decisions.happens(6);
    const at = (hours: number) => new Date(beginning - hours * hourMs).toISOString();
    const ofBuyer = (buyer: Id, product: string) => ({
      n: sentNotices.length,
      occurred_at: at(decisions.choose(12)),
      product: { id: product },
      buyer: { email: addressOf(buyer), name: 'Somebody' },
    });
    const purchase = (id: string, paid: number) => ({
      event: decisions.pick(['purchase.paid', 'purchase.paid', 'purchase.refunded', 'purchase.chargeback']),
      // The refund is at least as large as the largest amount of any notice, because a partial refund does not end access (ADR 47).
      purchase: {
        id,
        amount: 4_900 + decisions.choose(3),
        refunded_amount: 4_902,
        currency: 'EUR' as const,
        paid_at: at(paid),
      },
    });
    const until = [undefined, 1, 3][decisions.choose(3)];
    const period = until === undefined ? {} : { current_period_end: new Date(beginning + until * dayMs).toISOString() };
    if (which < 3) {
      const buyer = isOther ? second : ([first, second, stranger][which] ?? first);
      const product = products[Number(which === 2 || (isOther && decisions.happens(2)))] ?? products[0];
      return { buyer, body: { ...ofBuyer(buyer, product), ...purchase(`sale-${which}`, 20) } };
    }
    const buyer = isOther ? first : stranger;
    const body = ofBuyer(buyer, products[0]);
    if (which === 3) {
      const charge = decisions.choose(2);
      const ofWhat = decisions.happens(6) ? {} : { subscription: { id: subscription, ...period } };
      return { buyer, body: { ...body, ...purchase(`charge-${charge}`, 15 - 8 * charge), ...ofWhat } };
    }
    if (which === 4)
      return {
        buyer,
        body: { ...body, event: 'subscription.canceled', subscription: { id: subscription, ...period } },
      };
    const lateness = `late-${decisions.choose(2)}`;
    return {
      buyer,
      body: { ...body, event: 'subscription.past_due', subscription: { id: subscription, lateness, ...period } },
    };
  }

  function decideByHand(decisions: Decisions): Command {
    const [which, lot] = [decisions.choose(4), decisions.choose(12)];
    const end = new Date(beginning + (1 + decisions.choose(4)) * dayMs).toISOString();
    return {
      label: `an administrator ${['revokes', 'restores', 'moves the end of', 'takes the end from'][which]} an access`,
      async run() {
        const rows = await sim.postgres.ask<{ id: Id }>('SELECT id FROM enrollments ORDER BY id');
        const id = rows[lot % Math.max(1, rows.length)]?.id;
        if (id === undefined) return;
        byHand.add(id);
        if (which === 0) await revokeEnrollment(deps, clubId, id, now());
        else if (which === 1) await restoreEnrollment(deps, clubId, id, now());
        else await setEnrollmentEnd(deps, clubId, id, which === 2 ? end : undefined, now());
      },
    };
  }

  const replay: Command = {
    label: 'failed notices are processed again',
    async run() {
      const failed = await sim.postgres.ask<{ id: Id }>(
        `SELECT id FROM sales_notices WHERE status = 'failed' AND body IS NOT NULL ORDER BY id`,
      );
      for (const { id } of failed) await replayNotice(deps, clubId, id, now());
    },
  };

  return {
    types: ['salesNotice', 'subscriptionEnd', 'transactionalMail'],
    horizonMs,
    depsFor: (db) => ({
      notices: { db, vault, onOutcome: () => {}, failpoint: () => Promise.resolve() },
      mails: {
        db,
        vault,
        sendMail: ({ messageKey }) => sim.outside(`mail ${messageKey}`, () => {}),
        links: {
          classroomUrl: 'https://{slug}.test',
          dashboardUrl: 'https://dashboard.test',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [100],
        onOutcome: () => {},
      },
    }),
    command(decisions) {
      const which = decisions.choose(16);
      if (which < 10) return sendNotice(decisions);
      if (which === 10)
        return { label: 'a product', run: async () => void (await createProduct(deps, clubId, productOf(1), now())) };
      if (which === 11) return replay;
      if (which < 14) return decideByHand(decisions);
      const buyer = decisions.pick([first, second, stranger]);
      return {
        label: `remove ${buyer}`,
        async run() {
          const [student] = await sim.postgres.ask<{ id: Id }>('SELECT id FROM students WHERE email = $1', [
            addressOf(buyer),
          ]);
          if (!student) return;
          removedBuyers.add(buyer);
          await removeStudent(deps, clubId, student.id, now());
        },
      };
    },
    calm: () => [],
    async atEnd() {
      const processed = await expectNotices();
      await expectSales(processed);
      await expectSubscriptionEnds();
      await expectAccounts();
    },
  };

  async function expectNotices(): Promise<Body[]> {
    const rows = await sim.postgres.ask<{
      id: Id;
      status: string;
      code: string | null;
      body: string | null;
      isRemoved: boolean;
    }>(
      `SELECT notice.id, notice.status, error_code AS code, convert_from(body, 'UTF8') AS body, coalesce(student.removed_at IS NOT NULL, false) AS "isRemoved"
         FROM sales_notices notice LEFT JOIN students student ON student.id = notice.student_id`,
    );
    for (const { id, status, code, body, isRemoved } of rows) {
      const about = `notice ${id} (${status}, ${code})`;
      mustHold(status !== 'pending', 'all work ends', () => `${about} is pending`);
      mustHold(
        status !== 'failed' || code === 'unknown_product' || code === 'sale_mismatch',
        'no notice fails because of an internal error',
        () => about,
      );
      mustHold(!isRemoved || body === null, 'no data of removed students remain', () => `${about} is kept`);
      mustHold(
        body !== null || removedBuyers.size > 0,
        'an acknowledged change remains',
        () => `${about} lost its body`,
      );
    }
    mustHold(
      rows.length <= sentNotices.length && rows.length >= sentNotices.filter(({ isAnswered }) => isAnswered).length,
      'an acknowledged change remains',
      () => `${rows.length} of ${sentNotices.length} notices are stored`,
    );
    return rows.flatMap(({ status, body }) =>
      status === 'processed' && body !== null ? [JSON.parse(body) as Body] : [],
    );
  }

  /** If no notice of the sale names a removed buyer, all notices of the sale still exist. */
  function isWhole(id: string): boolean {
    return sentNotices.every(
      ({ body, buyer }) =>
        !removedBuyers.has(buyer) || (body.purchase?.id !== id && (body.subscription?.id ?? id) !== id),
    );
  }

  async function expectSales(processed: readonly Body[]): Promise<void> {
    const purchases = await sim.postgres.ask<PurchaseRow>(
      `SELECT id, external_id AS "externalId", product_id AS "productId", student_id AS "studentId", subscription_id AS "subscriptionId", status,
              amount, paid_at AS "paidAt", refunded_at AS "refundedAt" FROM purchases ORDER BY paid_at, external_id`,
    );
    const facts = await readFacts();
    const count = (type: string, subjectId: Id) =>
      facts.filter((fact) => fact.type === type && fact.subjectId === subjectId).length;
    for (const purchase of purchases) {
      const about = `purchase ${purchase.externalId}`;
      const undone = Number(purchase.status !== 'paid');
      mustHold(
        count('purchase.paid', purchase.id) === 1 && count('purchase.refunded', purchase.id) === undone,
        'each fact is told once',
        () =>
          `${about} is ${purchase.status}; ${count('purchase.paid', purchase.id)} times paid, ${count('purchase.refunded', purchase.id)} times refunded`,
      );
      if (isWhole(purchase.externalId)) expectPurchase(purchase, processed);
    }
    const known = new Set(purchases.map(({ externalId }) => externalId));
    const missing = processed.find(({ purchase }) => purchase && !known.has(purchase.id));
    mustHold(
      missing === undefined,
      'a recorded effect has happened',
      () => `no purchase is of ${JSON.stringify(missing)}`,
    );
    await expectAccess(purchases, processed, count);
  }

  async function expectAccess(
    purchases: readonly PurchaseRow[],
    processed: readonly Body[],
    count: (type: string, subjectId: Id) => number,
  ): Promise<void> {
    const subscriptions = await readSubscriptions();
    const enrollments = await sim.postgres.ask<EnrollmentRow>(
      `SELECT id, origin_id AS "originId", delivery_id AS "deliveryId", ends_at AS "endsAt", revoked_at AS "revokedAt" FROM enrollments ORDER BY id`,
    );
    const productDeliveries = await sim.postgres.ask<{ productId: Id; deliveryId: Id }>(
      `SELECT product_id AS "productId", delivery_id AS "deliveryId" FROM product_deliveries`,
    );
    for (const { id, revokedAt } of enrollments) {
      const open = count('access.granted', id) - count('access.revoked', id) + count('access.restored', id);
      const removed = removedBuyers.size > 0;
      mustHold(
        count('access.granted', id) === 1 && (open === Number(revokedAt === null) || removed),
        'each fact is told once',
        () =>
          `access ${id}: granted ${count('access.granted', id)}, revoked ${count('access.revoked', id)}, restored ${count('access.restored', id)} times`,
      );
    }
    const expectGiven = (of: { id: Id; externalId: string; productId: Id }, once: boolean) => {
      const deliveryIds = enrollments.filter(({ originId }) => originId === of.id).map(({ deliveryId }) => deliveryId);
      const expectedIds = productDeliveries
        .filter(({ productId }) => productId === of.productId)
        .map(({ deliveryId }) => deliveryId);
      mustHold(
        new Set(deliveryIds).size === deliveryIds.length && (deliveryIds.length === expectedIds.length || !once),
        'each sale gives access once',
        () => `${of.externalId} gave ${deliveryIds.length} of ${expectedIds.length} accesses`,
      );
    };
    const isOpen = (originId: Id) =>
      enrollments.filter((one) => one.originId === originId && !byHand.has(one.id)).map((one) => hasAccess(one));
    for (const purchase of purchases) {
      expectGiven(purchase, purchase.subscriptionId === null);
      if (!isWhole(purchase.externalId)) continue;
      const shouldBeOpen = purchase.status === 'paid' && purchase.subscriptionId === null;
      mustHold(
        isOpen(purchase.id).every((open) => open === shouldBeOpen),
        'access follows its sale',
        () => `${purchase.externalId} is ${purchase.status}, and its access is ${shouldBeOpen ? 'closed' : 'open'}`,
      );
    }
    for (const one of subscriptions) {
      expectGiven(one, true);
      if (!isWhole(one.externalId)) continue;
      const charges = purchases.filter(({ subscriptionId }) => subscriptionId === one.id);
      if (!charges.every(({ externalId }) => isWhole(externalId))) continue;
      const { shouldBeOpen, status } = stateOf(charges, processed);
      mustHold(
        one.status === status,
        'the order of notices does not matter',
        () => `${one.externalId} is ${one.status}, not ${status}`,
      );
      mustHold(
        isOpen(one.id).every((open) => open === shouldBeOpen),
        'access follows its sale',
        () => `the access of ${one.externalId} (${status}) is ${shouldBeOpen ? 'closed' : 'open'}`,
      );
      const late = new Set(
        ofSubscription(processed, 'subscription.past_due').map((body) => body.subscription?.lateness),
      );
      mustHold(
        count('subscription.past_due', one.id) === late.size,
        'each fact is told once',
        () => `${count('subscription.past_due', one.id)} facts of ${late.size} latenesses`,
      );
    }
  }

  function hasAccess({ revokedAt, endsAt }: EnrollmentRow): boolean {
    return revokedAt === null && (endsAt === null || endsAt.getTime() > sim.time.now);
  }

  async function readSubscriptions(): Promise<SubscriptionRow[]> {
    return sim.postgres.ask<SubscriptionRow>(
      `SELECT id, external_id AS "externalId", product_id AS "productId", status, end_looks_at AS "endLooksAt", access_ended_at AS "accessEndedAt" FROM subscriptions`,
    );
  }

  /** Expects that each subscription records the real end of its access. */
  async function expectSubscriptionEnds(): Promise<void> {
    for (const one of await readSubscriptions()) {
      const [access] = await sim.postgres.ask<{ open: boolean | null; endsAt: Date | null; revokedAt: Date | null }>(
        `SELECT bool_or(revoked_at IS NULL AND ends_at IS NULL) AS open, max(ends_at) FILTER (WHERE revoked_at IS NULL) AS "endsAt",
                max(revoked_at) AS "revokedAt" FROM enrollments WHERE origin_id = $1`,
        [one.id],
      );
      const ended = access?.open === true ? null : (access?.endsAt ?? access?.revokedAt ?? null);
      mustHold(
        one.endLooksAt === null && one.accessEndedAt?.getTime() === ended?.getTime(),
        'all work ends',
        () =>
          `the recorded end of ${one.externalId} is ${one.accessEndedAt?.toISOString()}, its access ended ${ended?.toISOString()}; the next check is at ${one.endLooksAt?.toISOString()}`,
      );
    }
  }

  async function expectAccounts(): Promise<void> {
    const accounts = await sim.postgres.ask<{ email: string; invitations: number }>(
      `SELECT email, (SELECT count(*)::int FROM transactional_mails WHERE student_id = student.id AND template = 'student_invitation') AS invitations
         FROM students student WHERE opened_by = 'sale' AND removed_at IS NULL`,
    );
    for (const { email, invitations } of accounts)
      mustHold(invitations === 1, 'no effect happens twice', () => `${email} was invited ${invitations} times`);
    const [sums] = await sim.postgres.ask<{ counted: number; there: number }>(
      `SELECT (SELECT sum(students)::int FROM (SELECT students FROM club_student_counts UNION ALL SELECT students FROM club_student_changes) AS sides) AS counted,
              (SELECT count(*)::int FROM students WHERE removed_at IS NULL) AS there`,
    );
    mustHold(
      sums?.counted === sums?.there,
      'sums are equal',
      () => `${sums?.counted} students counted, ${sums?.there} there`,
    );
    for (const buyer of removedBuyers) {
      const remainingRows = await sim.postgres.ask('SELECT 1 FROM students WHERE email = $1', [addressOf(buyer)]);
      // A notice that arrived during the removal may have created a new account with the address.
      if (remainingRows.length > 0 || sentNotices.some((one) => one.buyer === buyer && !one.isAnswered)) continue;
      await searchForTraces(sim, buyer);
    }
  }
}

const purchasesIn = (processed: readonly Body[], id: string) => processed.filter(({ purchase }) => purchase?.id === id);
const ofSubscription = (processed: readonly Body[], event: string) =>
  processed.filter((body) => body.event === event && body.subscription?.id === subscription);

/** Expects that a purchase is the same as if its notices had arrived in order. */
function expectPurchase(row: PurchaseRow, processed: readonly Body[]): void {
  const notices = purchasesIn(processed, row.externalId);
  const refundTimes = notices
    .filter(({ event }) => event !== 'purchase.paid')
    .map(({ occurred_at: at }) => Date.parse(at));
  const terms = notices
    .map(({ event, occurred_at: at, purchase }) => [
      Number(event === 'purchase.paid'),
      Date.parse(at),
      purchase?.amount ?? 0,
    ])
    .toSorted((one, other) => one.map((part, place) => part - (other[place] ?? 0)).find((by) => by !== 0) ?? 0)
    .at(-1);
  const expected = {
    status: statuses[Math.max(...notices.map(({ event }) => ranks[event] ?? 0))],
    amount: terms?.[2],
    refundedAt: refundTimes.length === 0 ? undefined : Math.min(...refundTimes),
    isCharge: notices.some((body) => body.subscription !== undefined),
  };
  const actual = {
    status: row.status,
    amount: Number(row.amount),
    refundedAt: row.refundedAt?.getTime(),
    isCharge: row.subscriptionId !== null,
  };
  mustHold(
    JSON.stringify(actual) === JSON.stringify(expected),
    'the order of notices does not matter',
    () => `purchase ${row.externalId} is ${JSON.stringify(actual)}, its notices say ${JSON.stringify(expected)}`,
  );
}

/** Returns the state of a subscription, which results from the latest charge and the cancellations after this charge. */
function stateOf(
  charges: readonly PurchaseRow[],
  processed: readonly Body[],
): { shouldBeOpen: boolean; status: string } {
  const last = charges.at(-1);
  const paidAt = last?.paidAt.getTime() ?? -Infinity;
  const isSince = ({ occurred_at: at }: Body) => Date.parse(at) >= paidAt;
  const canceled = ofSubscription(processed, 'subscription.canceled').some(isSince);
  // If several notices report the same late payment, the earliest notice counts.
  const lateAt = new Map<string, number>();
  for (const { subscription: of, occurred_at: at } of ofSubscription(processed, 'subscription.past_due')) {
    const key = of?.lateness ?? '';
    lateAt.set(key, Math.min(lateAt.get(key) ?? Infinity, Date.parse(at)));
  }
  const late = [...lateAt.values()].some((at) => at > paidAt);
  const status = canceled ? 'canceled' : late ? 'past_due' : 'active';
  return { shouldBeOpen: (last?.status ?? 'paid') === 'paid' && !canceled, status };
}

async function addDelivery(sim: Simulation, clubId: Id): Promise<Id> {
  const [id, courseId] = [newId(), newId()];
  await sim.postgres.ask(
    `WITH course AS (INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at) VALUES ($1, $2, $3, 'Course', 'draft', $4, $4))
     INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($5, $2, $3, 'course', $1, $4, $4)`,
    [courseId, clubId, `course-${courseId}`, new Date(sim.time.now), id],
  );
  return id;
}

async function addShop(sim: Simulation, clubId: Id): Promise<void> {
  await sim.postgres.ask(
    `WITH plan AS (INSERT INTO club_plans (club_id, plan, status) VALUES ($2, 'professional', 'active'))
     INSERT INTO sales_connections (id, club_id, platform, name, token_hash, created_at, rotated_at) VALUES ($1, $2, 'generic', 'Shop', $3, $4, $4)`,
    [newId(), clubId, sha256(token), new Date(sim.time.now)],
  );
}
