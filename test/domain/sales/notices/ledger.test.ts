import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { changeEnd, revokeAccess } from '../../../../domain/access/enrollments/enrollments.ts';
import { updateProduct } from '../../../../domain/sales/purchases/products.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { factTypes } from '../../../toolkit/assert/facts.ts';
import { noticeRow, salesStateOf } from '../../../toolkit/assert/sales.ts';
import { buildStudent } from '../../../toolkit/builders/clubs.ts';
import { columnsHolding, mailsTo, testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import {
  buildProduct,
  buildShop,
  noticeOf,
  purchaseNotice,
  buildSalesConnection,
  type TestShop,
} from '../../../toolkit/builders/sales.ts';
import { sell, stepNotice, takeNotice } from '../../../toolkit/drive/sales.ts';
import { hotmartPurchase } from '../../../toolkit/builders/platform-notices.ts';

const day = 86_400_000;
const later = new Date(Date.now() + 30 * day).toISOString();

interface Access {
  id: string;
  deliveryId: string;
  source: string;
  revokedReason: string | null;
  endsAt: Date | null;
}

async function accessOf({ club }: TestShop): Promise<Access[]> {
  const source = await testDatabase();
  return source.query<Access[]>(
    `SELECT id, delivery_id AS "deliveryId", source, revoked_reason AS "revokedReason", ends_at AS "endsAt"
       FROM enrollments WHERE club_id = $1 ORDER BY id`,
    [club.id],
  );
}

async function occurredAt({ club }: TestShop): Promise<Record<string, string>> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string; at: Date }[]>(
    `SELECT type, occurred_at AS at FROM facts WHERE club_id = $1 AND type ~ '^(purchase|subscription)' ORDER BY seq`,
    [club.id],
  );
  return Object.fromEntries(rows.map(({ type, at }) => [type, at.toISOString()]));
}

async function studentOf({ club, email }: TestShop): Promise<string> {
  const source = await testDatabase();
  const [row] = await source.query<{ id: string }[]>(`SELECT id FROM students WHERE club_id = $1 AND email = $2`, [
    club.id,
    email,
  ]);
  return row?.id ?? '';
}

const subscribed = { subscription: { id: 'sub-1' } };
const canceled = (shop: TestShop, further: object = {}) =>
  noticeOf(shop, 'subscription.canceled', {
    occurred_at: '2026-03-20T00:00:00Z',
    subscription: { id: 'sub-1', ...further },
  });

describe('a sale', () => {
  it('invites a new buyer to a new account, and grants all deliveries of the product', async () => {
    const shop = await buildShop(2);
    expect(await sell(shop, purchaseNotice(shop, 'paid'))).to.deep.equal(['processed']);
    expect(await factTypes(shop.club.id)).to.deep.equal([
      'student.created',
      'purchase.paid',
      'access.granted',
      'access.granted',
    ]);
    expect(await mailsTo(await studentOf(shop))).to.deep.equal(['student_invitation']);
    expect((await accessOf(shop)).map(({ source, revokedReason }) => [source, revokedReason])).to.deep.equal([
      ['purchase', null],
      ['purchase', null],
    ]);
  });

  it('opens no account and sends no mail if the buyer is already a student', async () => {
    const shop = await buildShop();
    const student = await buildStudent(shop.club.id, { email: shop.email });
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(await factTypes(shop.club.id)).to.deep.equal(['purchase.paid', 'access.granted']);
    expect(await mailsTo(student.id)).to.deep.equal([]);
  });

  it('records the purchase and the refund if the refund arrives first', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'refunded'));
    const expectedTypes = ['student.created', 'purchase.paid', 'access.granted', 'purchase.refunded', 'access.revoked'];
    expect(await factTypes(shop.club.id)).to.deep.equal(expectedTypes);
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(await factTypes(shop.club.id)).to.deep.equal(expectedTypes);
    expect((await accessOf(shop))[0]?.revokedReason).to.equal('refund');
  });

  it('records facts with the platform’s times, even for late notices (EVT-22)', async () => {
    const shop = await buildShop();
    await sell(
      shop,
      purchaseNotice(shop, 'refunded', { occurred_at: '2026-03-09T00:00:00Z' }),
      noticeOf(shop, 'subscription.past_due', {
        occurred_at: '2026-03-12T00:00:00Z',
        subscription: { id: 'sub-1', lateness: 'March' },
      }),
      canceled(shop),
    );
    expect(await occurredAt(shop)).to.deep.equal({
      'purchase.paid': '2026-03-02T09:14:40.000Z',
      'purchase.refunded': '2026-03-09T00:00:00.000Z',
      'subscription.past_due': '2026-03-12T00:00:00.000Z',
      'subscription.canceled': '2026-03-20T00:00:00.000Z',
    });
  });

  it('records no fact with a time in the future, even if the platform’s clock is fast (EVT-22)', async () => {
    const shop = await buildShop();
    const ahead = { occurred_at: later, purchase: { id: 'sale-1', amount: 1, currency: 'EUR', paid_at: later } };
    await sell(shop, purchaseNotice(shop, 'paid', ahead), purchaseNotice(shop, 'refunded', ahead));
    const source = await testDatabase();
    const facts = await source.query<{ type: string; late: boolean }[]>(
      `SELECT type, occurred_at > recorded_at AS late FROM facts WHERE club_id = $1 AND type LIKE 'purchase.%' ORDER BY seq`,
      [shop.club.id],
    );
    expect(facts).to.deep.equal([
      { type: 'purchase.paid', late: false },
      { type: 'purchase.refunded', late: false },
    ]);
  });

  it('has the earliest time and the amount of the latest payment', async () => {
    const shop = await buildShop();
    const terms = (amount: number, paidAt: string) => ({
      purchase: { id: 'sale-1', amount, currency: 'EUR', paid_at: paidAt },
    });
    await sell(
      shop,
      purchaseNotice(shop, 'refunded', { occurred_at: '2026-03-09T00:00:00Z', ...terms(100, '2026-03-03T00:00:00Z') }),
      purchaseNotice(shop, 'paid', { occurred_at: '2026-03-08T00:00:00Z', ...terms(4_750, '2026-03-02T00:00:00Z') }),
      purchaseNotice(shop, 'paid', { occurred_at: '2026-03-02T00:00:00Z', ...terms(4_900, '2026-03-01T00:00:00Z') }),
    );
    const { purchases } = await salesStateOf(shop.club.id);
    expect(purchases).to.deep.equal([
      {
        external_id: 'sale-1',
        status: 'paid',
        amount: '4750',
        currency: 'EUR',
        paid_at: new Date('2026-03-01T00:00:00Z'),
        refunded_amount: '100',
        refunded_at: new Date('2026-03-09T00:00:00Z'),
        subscription: null,
      },
    ]);
  });

  describe('with a partial refund', () => {
    const refund = (shop: TestShop, terms: Record<string, unknown>) =>
      purchaseNotice(shop, 'refunded', {
        occurred_at: '2026-03-09T00:00:00Z',
        purchase: { id: 'sale-1', amount: 4_900, currency: 'EUR', ...terms },
      });
    const standing = async (shop: TestShop) => {
      const { purchases } = await salesStateOf(shop.club.id);
      const [sale] = purchases as { status: string; amount: string; refunded_amount: string | null }[];
      const [access] = await accessOf(shop);
      return [sale?.status, sale?.amount, sale?.refunded_amount, access?.revokedReason];
    };
    const facts = async ({ club }: TestShop) => (await factTypes(club.id)).filter((type) => type !== 'student.created');
    const paid = ['purchase.paid', 'access.granted'];

    it('keeps access and status, and records the refunded amount', async () => {
      for (const terms of [{ refunded_amount: 1_000 }, { amount: 1_000 }]) {
        const shop = await buildShop();
        await sell(shop, purchaseNotice(shop, 'paid'), refund(shop, terms), refund(shop, terms));
        expect(await standing(shop)).to.deep.equal(['paid', '4900', '1000', null]);
        expect(await facts(shop)).to.deep.equal(paid);
      }
    });

    it('loses its access when its notices have refunded the whole price', async () => {
      const shop = await buildShop();
      await sell(shop, purchaseNotice(shop, 'paid'));
      for (const refunded of [1_000, 4_899, 900]) await sell(shop, refund(shop, { refunded_amount: refunded }));
      expect(await standing(shop)).to.deep.equal(['paid', '4900', '4899', null]);
      await sell(shop, refund(shop, { refunded_amount: 4_900 }));
      expect(await standing(shop)).to.deep.equal(['refunded', '4900', '4900', 'refund']);
      expect(await facts(shop)).to.deep.equal([...paid, 'purchase.refunded', 'access.revoked']);
    });

    it('loses its access if the setting of the product says so', async () => {
      const shop = await buildShop();
      const change = { partial_refund_ends_access: true };
      await updateProduct(await testDeps(), shop.club.id, shop.product.id, change, new Date());
      await sell(
        shop,
        purchaseNotice(shop, 'paid'),
        refund(shop, { refunded_amount: 1_000 }),
        purchaseNotice(shop, 'paid'),
      );
      expect(await standing(shop)).to.deep.equal(['refunded', '4900', '1000', 'refund']);
      expect(await facts(shop)).to.deep.equal([...paid, 'purchase.refunded', 'access.revoked']);
    });

    it('still gives access if the product’s setting changes later', async () => {
      const shop = await buildShop();
      await sell(shop, purchaseNotice(shop, 'paid'), refund(shop, { refunded_amount: 1_000 }));
      const change = { partial_refund_ends_access: true };
      await updateProduct(await testDeps(), shop.club.id, shop.product.id, change, new Date());
      await sell(shop, purchaseNotice(shop, 'paid'));
      expect(await standing(shop)).to.deep.equal(['paid', '4900', '1000', null]);
    });

    it('gives access again if a refund without a price arrived before the payment', async () => {
      const shop = await buildShop();
      await sell(shop, refund(shop, { amount: 1_000 }));
      expect(await standing(shop)).to.deep.equal(['refunded', '1000', '1000', 'refund']);
      await sell(shop, purchaseNotice(shop, 'paid'));
      expect(await standing(shop)).to.deep.equal(['paid', '4900', '1000', null]);
      await sell(shop, refund(shop, { refunded_amount: 4_900 }));
      expect(await standing(shop)).to.deep.equal(['refunded', '4900', '4900', 'refund']);
      expect((await facts(shop)).filter((type) => type === 'purchase.refunded')).to.have.length(1);
    });

    it('ends after a chargeback, or after a refund in another currency', async () => {
      for (const undoing of [
        (shop: TestShop) => ({ ...refund(shop, { amount: 1_000 }), event: 'purchase.chargeback' }),
        (shop: TestShop) => refund(shop, { amount: 1_000, currency: 'USD' }),
      ]) {
        const shop = await buildShop();
        await sell(shop, purchaseNotice(shop, 'paid'), undoing(shop));
        expect((await standing(shop)).at(-1)).to.equal('refund');
        await sell(shop, purchaseNotice(shop, 'paid'));
        expect((await standing(shop)).at(-1)).to.equal('refund');
      }
    });

    it('remains ended if a refund in another currency arrived first', async () => {
      const shop = await buildShop();
      await sell(shop, refund(shop, { amount: 1_000, currency: 'USD' }), purchaseNotice(shop, 'paid'));
      expect(await standing(shop)).to.deep.equal(['refunded', '4900', null, 'refund']);
    });

    it('keeps its access until the subscription’s whole latest charge is refunded', async () => {
      const shop = await buildShop();
      const charge = { ...subscribed, purchase: { id: 'one', amount: 900, currency: 'EUR' } };
      await sell(shop, purchaseNotice(shop, 'paid', charge));
      await sell(
        shop,
        purchaseNotice(shop, 'refunded', { ...charge, purchase: { ...charge.purchase, refunded_amount: 899 } }),
      );
      expect((await accessOf(shop))[0]?.revokedReason).to.equal(null);
      await sell(
        shop,
        purchaseNotice(shop, 'refunded', { ...charge, purchase: { ...charge.purchase, refunded_amount: 900 } }),
      );
      expect((await accessOf(shop))[0]?.revokedReason).to.equal('refund');
    });
  });

  it('is recorded and grants nothing if the product has no deliveries', async () => {
    const shop = await buildShop(0);
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(await factTypes(shop.club.id)).to.deep.equal(['student.created', 'purchase.paid']);
  });

  it('does not grant a delivery that was added to the product later', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const { deliveryIds } = await buildProduct(shop.club.id);
    const source = await testDatabase();
    await source.query(`INSERT INTO product_deliveries (product_id, delivery_id) VALUES ($1, $2)`, [
      shop.product.id,
      deliveryIds[0],
    ]);
    await sell(shop, purchaseNotice(shop, 'paid'));
    expect(await accessOf(shop)).to.have.length(1);
  });

  it('keeps access that an administrator restored after the refund', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'refunded'));
    const source = await testDatabase();
    await source.query(`UPDATE enrollments SET revoked_at = NULL, revoked_reason = NULL WHERE club_id = $1`, [
      shop.club.id,
    ]);
    await sell(shop, purchaseNotice(shop, 'refunded'), purchaseNotice(shop, 'paid'));
    expect((await accessOf(shop))[0]?.revokedReason).to.equal(null);
  });

  it('has one purchase for each charge, but only one enrollment', async () => {
    const shop = await buildShop();
    const charge = (id: string) =>
      purchaseNotice(shop, 'paid', { purchase: { id, amount: 900, currency: 'EUR' }, ...subscribed });
    await sell(shop, charge('one'), charge('two'));
    expect(await factTypes(shop.club.id)).to.deep.equal([
      'student.created',
      'access.granted',
      'purchase.paid',
      'purchase.paid',
    ]);
    expect((await accessOf(shop)).map(({ source }) => source)).to.deep.equal(['subscription']);
  });

  it('grants access without an end for a subscription, even if the delivery normally lasts 30 days', async () => {
    const shop = await buildShop();
    const source = await testDatabase();
    await source.query(`UPDATE access_deliveries SET access_days = 30 WHERE club_id = $1`, [shop.club.id]);
    await sell(shop, purchaseNotice(shop, 'paid', subscribed));
    expect((await accessOf(shop))[0]?.endsAt).to.equal(null);
  });

  it('loses its access when the latest charge is refunded', async () => {
    const shop = await buildShop();
    const charge = (id: string, date: number, event: 'paid' | 'refunded' = 'paid') =>
      purchaseNotice(shop, event, {
        purchase: { id, amount: 900, currency: 'EUR', paid_at: `2026-03-0${date}T00:00:00Z` },
        ...subscribed,
      });
    await sell(shop, charge('one', 1), charge('two', 2), charge('one', 1, 'refunded'));
    expect(await factTypes(shop.club.id)).not.to.include('access.revoked');
    await sell(shop, charge('two', 2, 'refunded'));
    expect((await accessOf(shop))[0]?.revokedReason).to.equal('refund');
    await sell(shop, charge('three', 3), charge('three', 3));
    expect((await accessOf(shop))[0]?.revokedReason).to.equal(null);
    expect((await factTypes(shop.club.id)).slice(-3)).to.deep.equal([
      'access.revoked',
      'purchase.paid',
      'access.restored',
    ]);
  });

  it('differs from a sale on another platform, even if the external ids are equal', async () => {
    const shop = await buildShop();
    const purchase = { id: 'HP16015479281022', amount: 4_900, currency: 'EUR' };
    await sell(shop, purchaseNotice(shop, 'paid', { purchase }));
    await buildProduct(shop.club.id, { platform: 'hotmart', externalId: '788921' });
    const onHotmart = { ...shop, connection: await buildSalesConnection(shop.club.id, 'hotmart') };
    expect(await sell(onHotmart, hotmartPurchase('PURCHASE_APPROVED'))).to.deep.equal(['processed']);
    expect((await factTypes(shop.club.id)).filter((type) => type === 'purchase.paid')).to.have.length(2);
    const { purchases } = await salesStateOf(shop.club.id);
    expect((purchases as { external_id: string }[]).map((one) => one.external_id)).to.deep.equal([
      purchase.id,
      purchase.id,
    ]);
  });

  it('differs from a sale in another club, even if the external ids are equal', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const other = await buildShop();
    await sell(other, purchaseNotice(other, 'paid'));
    expect(await factTypes(other.club.id)).to.include('purchase.paid');
  });
});

describe('cancellation of a subscription', () => {
  it('revokes the access immediately if the notice states no end of the period', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid', subscribed), canceled(shop));
    expect((await factTypes(shop.club.id)).slice(-2)).to.deep.equal(['subscription.canceled', 'access.revoked']);
    expect((await accessOf(shop))[0]?.revokedReason).to.equal('cancellation');
  });

  it('revokes the access immediately if the end of the period has passed', async () => {
    const shop = await buildShop();
    await sell(
      shop,
      purchaseNotice(shop, 'paid', subscribed),
      canceled(shop, { current_period_end: '2026-03-25T00:00:00Z' }),
    );
    expect((await accessOf(shop))[0]?.revokedReason).to.equal('cancellation');
  });

  it('shortens the access and starts a timer if the end of the period is in the future', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid', subscribed), canceled(shop, { current_period_end: later }));
    expect((await factTypes(shop.club.id)).slice(-2)).to.deep.equal(['subscription.canceled', 'access.shortened']);
    expect((await accessOf(shop))[0]).to.deep.include({ revokedReason: null, endsAt: new Date(later) });
    const source = await testDatabase();
    expect(
      await source.query(`SELECT workflow_type FROM wakes WHERE club_id = $1 AND workflow_type = 'subscriptionEnd'`, [
        shop.club.id,
      ]),
    ).to.have.length(1);
  });

  it('is recorded once, with the earliest time, if its notice arrives three times', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid', subscribed), canceled(shop), canceled(shop));
    await sell(shop, { ...canceled(shop), occurred_at: '2026-03-19T00:00:00Z' });
    expect((await factTypes(shop.club.id)).filter((type) => type === 'subscription.canceled')).to.have.length(1);
    expect(await salesStateOf(shop.club.id)).to.have.deep.nested.property(
      'subscriptions[0].canceled_at',
      new Date('2026-03-19T00:00:00Z'),
    );
  });

  it('does not extend an end of access that an administrator set', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid', subscribed));
    const { db } = await testDeps();
    const sooner = new Date(Date.now() + day);
    const [{ id } = { id: '' }] = await accessOf(shop);
    await db.source.transaction((tx) => changeEnd(new Transaction(tx), shop.club.id, id, sooner, new Date()));
    await sell(shop, canceled(shop, { current_period_end: later }));
    expect((await accessOf(shop))[0]?.endsAt).to.deep.equal(sooner);
  });

  it('does not restore access that an administrator revoked', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid', subscribed));
    const { db } = await testDeps();
    const [{ id } = { id: '' }] = await accessOf(shop);
    await db.source.transaction((tx) => revokeAccess(new Transaction(tx), shop.club.id, id, 'revocation', new Date()));
    const again = {
      purchase: { id: 'two', amount: 1, currency: 'EUR', paid_at: '2026-04-01T00:00:00Z' },
      ...subscribed,
    };
    await sell(shop, canceled(shop), purchaseNotice(shop, 'paid', again));
    expect((await accessOf(shop))[0]?.revokedReason).to.equal('revocation');
    expect(await factTypes(shop.club.id)).not.to.include('access.restored');
  });
});

describe('removal of a student', () => {
  it('deletes all bodies of notices about the student', async () => {
    const shop = await buildShop();
    const name = `Bea ${newId()}`;
    const buyer = { email: shop.email, name };
    await sell(
      shop,
      purchaseNotice(shop, 'paid', { buyer }),
      purchaseNotice(shop, 'paid', {
        buyer,
        product: { id: 'unknown' },
        purchase: { id: 'x', amount: 1, currency: 'EUR' },
      }),
      { event: 'purchase.paid', who: { mail: `<${shop.email.toUpperCase()}>`, name } },
      { event: 'something else', contact: `${name} ${shop.email}` },
    );
    const waiting = await takeNotice(shop.connection, purchaseNotice(shop, 'refunded', { buyer }));
    expect(await columnsHolding(name)).to.include('sales_notices.body');
    const studentId = await studentOf(shop);
    await removeStudent(await testDeps(), shop.club.id, studentId, new Date());
    for (const text of [name, shop.email]) expect(await columnsHolding(text), text).to.deep.equal([]);
    expect(await noticeRow(waiting)).to.include({ status: 'ignored', errorCode: 'student_removed', body: null });
    const source = await testDatabase();
    expect(
      await source.query(`SELECT amount, currency FROM purchases WHERE student_id = $1`, [studentId]),
    ).to.deep.equal([{ amount: '4900', currency: 'EUR' }]);
  });

  it('is not undone if a notice about the student is repeated', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const studentId = await studentOf(shop);
    await removeStudent(await testDeps(), shop.club.id, studentId, new Date());
    const before = await factTypes(shop.club.id);
    const again = await takeNotice(shop.connection, purchaseNotice(shop, 'refunded'));
    expect(await stepNotice(again)).to.deep.equal({ done: true, outcome: 'ignored' });
    expect(await noticeRow(again)).to.include({ errorCode: 'student_removed', body: null, studentId });
    expect(await factTypes(shop.club.id)).to.deep.equal(before);
    expect(await columnsHolding(shop.email)).to.deep.equal([]);
    await sell(shop, purchaseNotice(shop, 'paid', { purchase: { id: 'sale-2', amount: 1, currency: 'EUR' } }));
    expect(await studentOf(shop)).not.to.equal(studentId);
  });

  it('does not delete the notices of other buyers', async () => {
    const shop = await buildShop();
    await sell(shop, purchaseNotice(shop, 'paid'));
    const other = await takeNotice(
      shop.connection,
      purchaseNotice({ ...shop, email: `x${shop.email}` }, 'paid', {
        purchase: { id: '2', amount: 1, currency: 'EUR' },
      }),
    );
    await removeStudent(await testDeps(), shop.club.id, await studentOf(shop), new Date());
    expect((await noticeRow(other)).body).not.to.equal(null);
  });
});
