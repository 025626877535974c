import { expect } from 'chai';
import { chargeOverage, type OverageDeps } from '../../../../domain/billing/overage/charging.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { buildPlan } from '../../../toolkit/builders/billing.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import {
  overageChargeRow,
  chargesOf,
  endMonths,
  exceed,
  overageDeps,
  stepOn,
} from '../../../toolkit/drive/overages.ts';
import { startStripe, type Fate, type StripeServer } from '../../../toolkit/fakes/stripe-server.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const day = 86_400_000;
const month = '2026-03-01';
const march = new Date('2026-03-15T12:00:00Z');
const april = new Date('2026-04-01T00:00:00Z');
const later = (ms: number) => new Date(april.getTime() + ms);

describe('the charge for overage (BILL-10)', () => {
  let stripe: StripeServer;
  let deps: OverageDeps;
  let clubId: Id;
  let customer: string;
  let id: Id;
  before(async () => {
    stripe = await startStripe();
    deps = await overageDeps(stripe);
  });
  after(() => stripe.stop());

  const subscribe = (more: object = {}) => {
    stripe.subscriptions.set(`sub_${customer}`, {
      id: `sub_${customer}`,
      customer,
      status: 'active',
      currency: 'usd',
      periodEnd: april.getTime() / 1_000 + 9 * 86_400,
      endsWithPeriod: false,
      ...more,
    });
  };
  /** Ends March with an excess of 117 students. */
  const beginCharge = async () => {
    await exceed(clubId, 117, march);
    await endMonths(april);
    id = (await overageChargeRow(clubId, month))?.id ?? '';
  };
  beforeEach(async () => {
    Object.assign(stripe, { items: [], invoices: [], calls: [], pathFates: {}, up: true, delayMs: 0 });
    stripe.forgetKeys();
    await (await testDatabase()).query(`DELETE FROM overage_turns`);
    clubId = (await buildClub()).id;
    await (await testDatabase()).query(`UPDATE clubs SET time_zone = 'UTC' WHERE id = $1`, [clubId]);
    customer = `cus_${newId()}`;
    subscribe();
    await buildPlan(clubId, 'business', { customer_id: customer, subscription_id: `sub_${customer}` });
    await beginCharge();
  });
  const row = async () => (await overageChargeRow(clubId, month)) ?? {};
  const posts = () => stripe.calls.filter((text) => text.startsWith('POST'));

  it('makes one item, with the amount, the month and the ids in its metadata', async () => {
    await stepOn(deps, id, april);
    expect(stripe.items).to.have.length(1);
    expect(stripe.items[0]).to.deep.include({
      customer,
      amount: 2_000,
      currency: 'usd',
      description: 'Overage of March 2026: 2 x 100 students',
      metadata: { overage_charge_id: id, club_id: clubId, month, resource: 'students' },
    });
    expect(await row()).to.include({
      status: 'pending',
      item_id: stripe.items[0]?.id,
      amount: '2000',
      currency: 'usd',
    });
  });

  it('waits for the next invoice of the subscription, and then records it', async () => {
    const step = await stepOn(deps, id, april);
    expect(step).to.deep.include({ done: false, isCharged: true, at: later(10 * day).getTime() });
    const invoice = stripe.runSubscription(`sub_${customer}`);
    expect(await stepOn(deps, id, later(10 * day))).to.deep.equal({ done: true, outcome: 'invoiced' });
    expect(await row()).to.include({ invoice_id: invoice.id });
    expect(stripe.invoices).to.have.length(1);
  });

  it('makes an invoice itself if the invoice of the subscription did not take the item', async () => {
    await stepOn(deps, id, april);
    expect(await stepOn(deps, id, later(10 * day))).to.deep.equal({ done: true, outcome: 'invoiced' });
    expect(stripe.invoices).to.have.length(1);
    expect(stripe.invoices[0]).to.include({ customer, total: 2_000, subscription: null, auto_advance: true });
  });

  const withoutNextInvoice: [string, object][] = [
    ['was canceled', { status: 'canceled' }],
    ['ends with its period', { endsWithPeriod: true }],
    ['is paid for a whole year', { periodEnd: april.getTime() / 1_000 + 300 * 86_400 }],
  ];
  for (const [what, more] of withoutNextInvoice)
    it(`makes an invoice immediately if the subscription ${what}`, async () => {
      subscribe(more);
      expect(await stepOn(deps, id, april)).to.deep.equal({ done: true, outcome: 'invoiced' });
      expect(stripe.invoices.map(({ total }) => total)).to.deep.equal([2_000]);
    });

  it('takes along the item of the other resource into one invoice', async () => {
    subscribe({ status: 'canceled' });
    await exceed(clubId, 1, later(day), 'storage_bytes');
    await exceed(clubId, 5, later(day));
    await endMonths(new Date('2026-05-01T00:00:00Z'));
    const [students, storage] = [
      await overageChargeRow(clubId, '2026-04-01'),
      await overageChargeRow(clubId, '2026-04-01', 'storage_bytes'),
    ];
    const may = new Date('2026-05-01T00:00:00Z');
    for (const one of [students, storage]) await chargeOverage(deps, one?.id ?? '', may.getTime());
    for (const one of [students, storage])
      expect(await stepOn(deps, one?.id ?? '', may)).to.deep.equal({ done: true, outcome: 'invoiced' });
    expect(stripe.invoices.map(({ total }) => total)).to.deep.equal([1_500]);
  });

  const fates: [Fate, number][] = [
    ['cut_after_charge', 1],
    ['cut_before_charge', 0],
    ['error_after_charge', 1],
    ['error', 0],
  ];
  for (const [fate, items] of fates)
    it(`charges once if the first attempt ended with ${fate}`, async () => {
      stripe.pathFates['/v1/invoiceitems'] = [fate];
      await stepOn(deps, id, april);
      stripe.up = true;
      expect(stripe.items).to.have.length(items);
      expect(await row()).to.include({ status: 'pending', reason: 'processor_unreachable', item_id: null });
      for (let at = april.getTime(); at < later(2 * day).getTime(); at += 3_600_000)
        await stepOn(deps, id, new Date(at));
      expect(stripe.itemsOf(id)).to.have.length(1);
    });

  it('uses a new key after 23 hours, because the processor stored an error under the old key', async () => {
    stripe.pathFates['/v1/invoiceitems'] = ['error'];
    await stepOn(deps, id, april);
    await stepOn(deps, id, later(22 * 3_600_000));
    expect(stripe.items).to.have.length(0);
    await stepOn(deps, id, later(day));
    expect(posts().slice(0, 3)).to.deep.equal([
      `POST /v1/invoiceitems overage/${id}/1`,
      `POST /v1/invoiceitems overage/${id}/1`,
      `POST /v1/invoiceitems overage/${id}/2`,
    ]);
    expect(stripe.items).to.have.length(1);
  });

  it('charges once if a worker pauses before its request until its key is too old', async () => {
    stripe.pathFates['/v1/invoiceitems'] = ['cut_before_charge'];
    await stepOn(deps, id, april);
    stripe.up = true;
    const source = await testDatabase();
    const pausing = {
      ...deps,
      failpoint: async (name: string) => {
        if (name !== 'overage_keyed') return;
        await source.query(`UPDATE overage_charges SET lease_until = NULL WHERE id = $1`, [id]);
        await stepOn(deps, id, later(23 * 3_600_000 + 120_000));
      },
    };
    await chargeOverage(pausing, id, later(23 * 3_600_000 - 60_000).getTime());
    await stepOn(deps, id, later(2 * day));
    expect(stripe.itemsOf(id)).to.have.length(1);
  });

  it('finds the item of an attempt that died, even if the processor has forgotten the key', async () => {
    const dying = {
      ...deps,
      failpoint: (name: string) => (name === 'overage_charged' ? Promise.reject(new Error('dies')) : Promise.resolve()),
    };
    await chargeOverage(dying, id, april.getTime()).catch(() => undefined);
    expect(stripe.items).to.have.length(1);
    stripe.forgetKeys();
    await (await testDatabase()).query(`UPDATE overage_charges SET lease_until = NULL WHERE id = $1`, [id]);
    await stepOn(deps, id, later(2 * day));
    expect(stripe.items).to.have.length(1);
    expect(await row()).to.include({ item_id: stripe.items[0]?.id });
  });

  it('charges nothing again if the row was lost, and keeps the amount of the item', async () => {
    await stepOn(deps, id, april);
    const source = await testDatabase();
    await source.query(`DELETE FROM overage_charges WHERE id = $1`, [id]);
    await source.query(`DELETE FROM overages WHERE club_id = $1`, [clubId]);
    stripe.forgetKeys();
    await exceed(clubId, 350, march);
    await endMonths(april);
    await stepOn(deps, id, later(2 * day));
    expect(stripe.items).to.have.length(1);
    expect(await row()).to.include({ amount: '2000', excess: '350', item_id: stripe.items[0]?.id });
  });

  it('finds the item at an earlier customer of the club', async () => {
    await stepOn(deps, id, april);
    const source = await testDatabase();
    await source.query(
      `INSERT INTO billing_events (id, club_id, type, created, received_at, customer_id, outcome) VALUES ($1, $2, 'invoice.paid', $3, $3, $4, 'outdated')`,
      [newId(), clubId, april, customer],
    );
    await source.query(
      `UPDATE overage_charges SET item_id = NULL, charged_at = NULL, customer_id = NULL, amount = NULL, next_attempt_at = $2 WHERE id = $1`,
      [id, april],
    );
    await buildPlan(clubId, 'business', { customer_id: `cus_${newId()}` });
    await stepOn(deps, id, april);
    expect(stripe.items).to.have.length(1);
    expect(await row()).to.include({ customer_id: customer });
  });

  it('searches all pages of the items of a customer with many items', async () => {
    await stepOn(deps, id, april);
    const others = stripe.items.flatMap((item) =>
      Array.from({ length: 230 }, (_, number) => ({ ...item, id: `ii_${number}`, metadata: {} })),
    );
    stripe.items.push(...others);
    await (
      await testDatabase()
    ).query(`UPDATE overage_charges SET item_id = NULL, charged_at = NULL, next_attempt_at = $2 WHERE id = $1`, [
      id,
      april,
    ]);
    stripe.forgetKeys();
    await stepOn(deps, id, april);
    expect(stripe.itemsOf(id)).to.have.length(1);
    expect(stripe.calls.filter((text) => text === 'GET /v1/invoiceitems')).to.have.length(4);
  });

  it('makes one item in five steps at the same time', async () => {
    stripe.delayMs = 100;
    await Promise.all(Array.from({ length: 5 }, () => chargeOverage(deps, id, april.getTime())));
    expect(posts()).to.deep.equal([`POST /v1/invoiceitems overage/${id}/1`]);
    expect(stripe.items).to.have.length(1);
  });

  it('sends nothing after another worker has claimed the row', async () => {
    const source = await testDatabase();
    const late = {
      ...deps,
      failpoint: async (name: string) => {
        if (name === 'overage_searched')
          await source.query(`UPDATE overage_charges SET fence = fence + 1 WHERE id = $1`, [id]);
      },
    };
    await chargeOverage(late, id, april.getTime());
    expect(posts()).to.deep.equal([]);
  });

  it('is waived for a club without a customer, for example if the operator has set the plan', async () => {
    await buildPlan(clubId, 'business', { customer_id: null, subscription_id: null });
    expect(await stepOn(deps, id, april)).to.deep.equal({ done: true, outcome: 'waived' });
    expect(await row()).to.include({ status: 'waived', reason: 'no_customer' });
    expect(stripe.calls).to.deep.equal([]);
  });

  it('is waived for a customer that was deleted at the processor', async () => {
    stripe.customers.set(customer, { id: customer, currency: null, deleted: true, metadata: {} });
    expect(await stepOn(deps, id, april)).to.deep.equal({ done: true, outcome: 'waived' });
    expect(await row()).to.include({ reason: 'customer_deleted' });
  });

  it('is waived if a person removed the item at the processor', async () => {
    await stepOn(deps, id, april);
    stripe.items = [];
    expect(await stepOn(deps, id, later(10 * day))).to.deep.equal({ done: true, outcome: 'waived' });
    expect(await row()).to.include({ reason: 'item_removed' });
  });

  it('uses the currency in which the customer pays', async () => {
    stripe.customers.set(customer, { id: customer, currency: 'brl', deleted: false, metadata: {} });
    await stepOn(deps, id, april);
    expect(stripe.items[0]).to.include({ amount: 11_000, currency: 'brl' });
  });

  it('waits a day if the table of prices lacks the currency, and then charges by the new terms', async () => {
    stripe.customers.set(customer, { id: customer, currency: 'sek', deleted: false, metadata: {} });
    const step = await stepOn(deps, id, april);
    expect(step).to.deep.include({ done: false, at: later(day).getTime() });
    expect(await row()).to.include({ reason: 'currency_without_price', item_id: null });
    stripe.customers.set(customer, { id: customer, currency: 'eur', deleted: false, metadata: {} });
    await stepOn(deps, id, later(day));
    expect(stripe.items[0]).to.include({ amount: 2_000, currency: 'eur' });
  });

  it('reads the terms again after a refusal', async () => {
    stripe.pathFates['/v1/invoiceitems'] = ['declined'];
    await stepOn(deps, id, april);
    expect(await row()).to.include({ reason: 'refused_by_processor', keyed_at: null });
    stripe.customers.set(customer, { id: customer, currency: 'eur', deleted: false, metadata: {} });
    await stepOn(deps, id, later(day));
    expect(stripe.items[0]).to.include({ currency: 'eur' });
    expect(posts().at(-1)).to.equal(`POST /v1/invoiceitems overage/${id}/2`);
  });

  it('waits while the operator has configured no processor', async () => {
    const step = await stepOn({ ...deps, invoicing: undefined }, id, april);
    expect(step).to.deep.include({ done: false, at: later(day).getTime() });
    expect(await row()).to.include({ reason: 'not_configured' });
  });

  it('holds an amount that the processor does not accept', async () => {
    await (await testDatabase()).query(`UPDATE overage_charges SET packs = 100000 WHERE id = $1`, [id]);
    await stepOn(deps, id, april);
    expect(await row()).to.include({ reason: 'amount_too_large', item_id: null });
  });

  it('fails after 60 days, but only after a search', async () => {
    stripe.up = false;
    expect(await stepOn(deps, id, later(61 * day))).to.include({ done: false });
    stripe.up = true;
    expect(await stepOn(deps, id, later(62 * day))).to.deep.equal({ done: true, outcome: 'failed' });
    expect(await row()).to.include({ status: 'failed', reason: 'processor_unreachable' });
    expect(stripe.items).to.have.length(0);
  });

  it('writes no key of the processor into its row', async () => {
    await stepOn(deps, id, april);
    expect(JSON.stringify(await row())).to.not.include(stripe.secretKey);
    expect(await chargesOf(clubId)).to.have.length(1);
  });
});
