/** Tests that notices of a sale lead to one state in any order (ADR 0012). */
import { expect } from 'chai';
import fc from 'fast-check';
import { salesStateOf } from '../../../toolkit/assert/sales.ts';
import { buildShop, noticeOf, purchaseNotice, type TestShop } from '../../../toolkit/builders/sales.ts';
import { sell, stepNotice, takeNotice } from '../../../toolkit/drive/sales.ts';

const day = 86_400_000;
const start = Date.parse('2026-03-02T09:00:00Z');
const on = (days: number) => new Date(start + days * day).toISOString();
/** For cancellations with a grace period. */
const later = new Date(Date.now() + 400 * day).toISOString();

type Notice = (shop: TestShop) => Record<string, unknown>;

const oneTime: Notice[] = [
  (shop) => purchaseNotice(shop, 'paid', { occurred_at: on(0) }), // approved
  (shop) => purchaseNotice(shop, 'paid', { occurred_at: on(7) }), // completed
  (shop) => purchaseNotice(shop, 'refunded', { occurred_at: on(8) }),
  (shop) => purchaseNotice(shop, 'chargeback', { occurred_at: on(9) }),
];

const termsOf = (amount: number, days: number) => ({ id: 'sale-1', amount, currency: 'EUR', paid_at: on(days) });

const chargeOf =
  (number: number, days: number, event: 'paid' | 'refunded' = 'paid', periodEnd?: string): Notice =>
  (shop) =>
    purchaseNotice(shop, event, {
      occurred_at: on(days),
      purchase: { id: `charge-${number}`, amount: 900, currency: 'EUR', paid_at: on(number * 30) },
      subscription: { id: 'sub-1', current_period_end: periodEnd ?? on(number * 30 + 30) },
    });
const lateOn =
  (days: number, key: string): Notice =>
  (shop) =>
    noticeOf(shop, 'subscription.past_due', { occurred_at: on(days), subscription: { id: 'sub-1', lateness: key } });
const canceledOn =
  (days: number, periodEnd?: string): Notice =>
  (shop) =>
    noticeOf(shop, 'subscription.canceled', {
      occurred_at: on(days),
      subscription: { id: 'sub-1', ...(periodEnd !== undefined && { current_period_end: periodEnd }) },
    });

const charges = [chargeOf(0, 0), chargeOf(1, 30), chargeOf(2, 63)];
const late = [lateOn(60, 'march'), lateOn(61, 'march'), lateOn(90, 'april')];

/** The refunded amount is the price of the payment notice. */
const partialRefund = (shop: TestShop, refunded: number) =>
  purchaseNotice(shop, 'refunded', {
    occurred_at: on(8),
    purchase: { ...termsOf(4_900, 0), refunded_amount: refunded },
  });

const stories: Record<string, Notice[]> = {
  'a sale is approved, completed, refunded and charged back': oneTime,
  'a sale is approved, completed and refunded': oneTime.slice(0, 3),
  'a sale whose notices have different amounts and times': [
    (shop) => purchaseNotice(shop, 'paid', { occurred_at: on(0), purchase: termsOf(4_900, 0) }),
    (shop) => purchaseNotice(shop, 'paid', { occurred_at: on(7), purchase: termsOf(4_750, 1) }),
    (shop) => purchaseNotice(shop, 'refunded', { occurred_at: on(8), purchase: termsOf(4_900, 2) }),
  ],
  'a sale with two partial refunds': [
    (shop) => purchaseNotice(shop, 'paid', { occurred_at: on(0) }),
    ...[1_000, 2_500].map(
      (refunded): Notice =>
        (shop) =>
          partialRefund(shop, refunded),
    ),
  ],
  'a subscription is canceled twice, a day apart': [chargeOf(0, 0), canceledOn(20), canceledOn(21)],
  'a subscription is charged, late, paid and late again': [...charges, ...late],
  'a subscription is charged, late and then canceled immediately': [...charges, ...late, canceledOn(95)],
  'a subscription is charged, late and then canceled with a grace period': [...charges, ...late, canceledOn(95, later)],
  'a subscription is canceled and resumed': [charges[0], canceledOn(20), charges[1], charges[2]].flatMap(
    (notice) => notice ?? [],
  ),
  'a subscription is canceled with a grace period and resumed': [
    chargeOf(0, 0),
    canceledOn(20, later),
    chargeOf(1, 30),
  ],
  'a subscription is canceled immediately, and then its charge is refunded': [
    chargeOf(0, 0),
    canceledOn(2),
    chargeOf(0, 3, 'refunded', later),
  ],
  'a subscription is canceled, resumed and canceled again immediately': [
    chargeOf(0, 0),
    canceledOn(20),
    chargeOf(1, 30),
    canceledOn(40),
  ],
};

const sooner = new Date(Date.now() + 300 * day).toISOString();
const chargedBack: Notice = (shop) => ({ ...chargeOf(0, 4, 'refunded')(shop), event: 'purchase.chargeback' });
const alone: Notice = (shop) => ({ ...chargeOf(0, 1)(shop), subscription: undefined });

/** The access changes more than once, so the number of facts depends on the order of the notices. */
const windings: Record<string, Notice[]> = {
  'an old charge is refunded': [...charges, chargeOf(0, 70, 'refunded')],
  'a charge is refunded, and then the subscription is canceled with a grace period': [
    ...charges,
    chargeOf(2, 70, 'refunded', later),
    canceledOn(71, later),
  ],
  'the subscription is canceled twice, and the second grace period is longer': [
    chargeOf(0, 0),
    canceledOn(5, sooner),
    canceledOn(6, later),
  ],
  'the subscription is canceled twice, and the first grace period is longer': [
    chargeOf(0, 0),
    canceledOn(5, later),
    canceledOn(6, sooner),
  ],
  'the subscription is canceled three times, the last time immediately': [
    chargeOf(0, 0),
    canceledOn(5, later),
    canceledOn(6, sooner),
    canceledOn(7),
  ],
  'the subscription is canceled, charged, canceled and charged': [
    chargeOf(0, 0),
    canceledOn(5, sooner),
    chargeOf(1, 30),
    canceledOn(35, later),
    chargeOf(2, 60),
  ],
  'the subscription is canceled with a grace period, charged, and canceled immediately': [
    chargeOf(0, 0),
    canceledOn(5, sooner),
    chargeOf(1, 30),
    canceledOn(35),
  ],
  'the subscription is canceled immediately, charged, and canceled with a grace period': [
    chargeOf(0, 0),
    canceledOn(5),
    chargeOf(1, 30),
    canceledOn(35, later),
  ],
  'the latest charge is refunded and charged back': [chargeOf(0, 0), chargeOf(0, 3, 'refunded'), chargedBack],
  'the subscription is refunded, charged, canceled and charged': [
    chargeOf(0, 0),
    chargeOf(0, 3, 'refunded'),
    chargeOf(1, 30),
    canceledOn(35, later),
    chargeOf(2, 60),
  ],
  'the subscription is canceled immediately, refunded and charged': [
    chargeOf(0, 0),
    canceledOn(3),
    chargeOf(0, 4, 'refunded'),
    chargeOf(1, 30),
  ],
  'the subscription is canceled with a grace period, refunded, charged and then late': [
    chargeOf(0, 0),
    canceledOn(3, later),
    chargeOf(0, 4, 'refunded'),
    chargeOf(1, 30),
    ...late,
  ],
  'an old and the latest charge are refunded, and then the subscription is canceled': [
    ...charges,
    chargeOf(0, 70, 'refunded'),
    chargeOf(2, 71, 'refunded'),
    canceledOn(72, later),
  ],
};

describe('notices of a subscription that changes several times', function () {
  this.timeout(120_000);

  for (const [name, story] of Object.entries(windings)) {
    it(`lead to the same state in any order: ${name}`, async () => {
      const inOrder = await buildShop(2);
      await sell(inOrder, ...story.map((notice) => notice(inOrder)));
      const expected = withoutAccessFacts(comparable(inOrder, await salesStateOf(inOrder.club.id)));
      await fc.assert(
        fc.asyncProperty(
          fc.shuffledSubarray([...story.keys(), ...story.keys()], { minLength: story.length * 2 }),
          async (order) => {
            const shop = await buildShop(2);
            await sell(shop, ...order.map((index) => story[index]?.(shop)));
            expect(withoutAccessFacts(comparable(shop, await salesStateOf(shop.club.id)))).to.deep.equal(expected);
          },
        ),
        { numRuns: 8 },
      );
    });
  }

  for (const [name, order] of [
    ['first without the subscription, then with the subscription', [alone, chargeOf(0, 0)]],
    ['first with the subscription, then without the subscription', [chargeOf(0, 0), alone]],
  ] as const) {
    it(`grant one access for a charge that arrives ${name}`, async () => {
      const shop = await buildShop();
      const standing = async () => {
        const { enrollments } = await salesStateOf(shop.club.id);
        return (enrollments as { source: string; revoked_reason: string | null }[])
          .filter(({ revoked_reason }) => revoked_reason === null)
          .map(({ source }) => source);
      };
      await sell(shop, ...order.map((notice) => notice(shop)));
      expect(await standing()).to.deep.equal(['subscription']);
      await sell(shop, { ...alone(shop), event: 'purchase.refunded' });
      expect(await standing()).to.deep.equal([]);
    });
  }
});

/** Without the number of `access.*` facts. */
function withoutAccessFacts(state: unknown): unknown {
  const { facts, ...rest } = state as { facts: { type: string }[] };
  return { ...rest, facts: facts.filter(({ type }) => !type.startsWith('access.')) };
}

describe('notices of one sale', function () {
  this.timeout(120_000);

  for (const [name, story] of Object.entries(stories)) {
    it(`lead to the same state and facts in any order: ${name}`, async () => {
      const inOrder = await buildShop(2);
      await sell(inOrder, ...story.map((notice) => notice(inOrder)));
      const expected = comparable(inOrder, await salesStateOf(inOrder.club.id));

      const arrivals = fc
        .shuffledSubarray([...story.keys()], { minLength: story.length })
        .chain((order) =>
          fc
            .array(fc.tuple(fc.nat(story.length), fc.nat(story.length - 1)), { maxLength: 4 })
            .map((repeated) => repeated.reduce((all, [at, which]) => all.toSpliced(at, 0, which), order)),
        );
      await fc.assert(
        fc.asyncProperty(arrivals, async (order) => {
          const shop = await buildShop(2);
          const outcomes = await sell(shop, ...order.map((index) => story[index]?.(shop)));
          expect(new Set(outcomes)).to.deep.equal(new Set(['processed']));
          expect(comparable(shop, await salesStateOf(shop.club.id))).to.deep.equal(expected);
        }),
        { numRuns: 12 },
      );
    });

    it(`lead to the same state and facts if processed together: ${name}`, async () => {
      const inOrder = await buildShop(2);
      await sell(inOrder, ...story.map((notice) => notice(inOrder)));
      const shop = await buildShop(2);
      const bodies = [...story, ...story].map((notice) => notice(shop));
      const ids: string[] = [];
      for (const body of bodies) ids.push(await takeNotice(shop.connection, body));
      const steps = await Promise.all(ids.map((id) => stepNotice(id)));
      expect(steps).to.deep.equal(ids.map(() => ({ done: true, outcome: 'processed' })));
      expect(comparable(shop, await salesStateOf(shop.club.id))).to.deep.equal(
        comparable(inOrder, await salesStateOf(inOrder.club.id)),
      );
    });
  }
});

/** Puts a number in place of each name that differs between shops. */
function comparable(shop: TestShop, state: unknown): unknown {
  const names = [...shop.product.deliveryIds.toSorted(), shop.email];
  const text = names.reduce((result, name, index) => result.replaceAll(name, `name ${index}`), JSON.stringify(state));
  return JSON.parse(text);
}
