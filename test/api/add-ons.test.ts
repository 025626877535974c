import { Queries } from '../../platform/infra/postgres/database.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { readClubPlan } from '../../domain/billing/club-plan.ts';
import { reconcileCharges } from '../../domain/billing/reconciling.ts';
import { settleAddOn } from '../../domain/billing/settling.ts';
import { createPaymentProcessor } from '../../platform/infra/payments.ts';
import { Secret } from '../../platform/core/secret.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { addOnRow } from '../toolkit/assert/billing.ts';
import { wakesOfAddOn } from '../toolkit/assert/wakes.ts';
import { call, callAt, expectError, type Answer } from '../toolkit/drive/api.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { buildAddOn, buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { columnsHolding, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { startStripe, type StripeServer } from '../toolkit/fakes/stripe-server.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const path = ({ id }: TestClub) => `/v1/clubs/${id}/add-ons`;

/** Omits the audit log, because a purchase commits its audit entry before the charge (AUD-1). */
const rowsOfPurchases = async () => ({ ...(await rowCounts()), audit_entries: undefined });

describe('POST /v1/clubs/{clubId}/add-ons', () => {
  let stripe: StripeServer;
  let api: ServedApp;
  let club: TestClub;
  let customer = '';
  before(async () => {
    stripe = await startStripe();
    api = await serveApp({ env: { STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_URL: stripe.url } });
  });
  after(() => Promise.all([api.close(), stripe.stop()]));
  beforeEach(async () => {
    stripe.fates = [];
    stripe.calls = [];
    stripe.payments = [];
    stripe.delayMs = 0;
    stripe.up = true;
    club = await buildClub();
    customer = `cus_${newId()}`;
    stripe.paymentMethods.set(customer, 'pm_card');
    await buildPlan(club.id, 'professional', { customer_id: customer, subscription_id: `sub_${customer}` });
  });
  const buy = (id: Id, more: object = {}, by = club): Promise<Answer> =>
    callAt(api.base, 'POST', path(by), {
      token: by.owner.token,
      body: { id, kind: 'students', quantity: 2, ...more },
    });
  const plan = async () => (await call('GET', `/v1/clubs/${club.id}/plan`, { token: club.owner.token })).body.data;
  const list = async (query = '') =>
    (await call('GET', `${path(club)}${query}`, { token: club.owner.token })).body as { data: object[]; total: number };

  describe('201', () => {
    it('charges the club’s payment method once and adds the purchase to the allowance', async () => {
      const id = newId();
      const { status, body } = await buy(id);
      expect(status).to.equal(201);
      const { created_at: created, settled_at: settled, ...rest } = body.data;
      expect(rest).to.deep.equal({
        id,
        kind: 'students',
        quantity: 2,
        adds: 200,
        amount: 2_000,
        currency: 'usd',
        status: 'active',
      });
      expect(settled).to.equal(created);
      expect(stripe.paidFor(id)).to.have.length(1);
      expect(stripe.paidFor(id)[0]).to.include({ amount: 2_000, currency: 'usd', customer, payment_method: 'pm_card' });
      expect(stripe.calls.at(-1)).to.equal(`POST /v1/payment_intents ${id}`);
      expect((await plan()).allowances.students).to.include({ included: 10_000, add_ons: 200 });
      expect(await list()).to.deep.equal({ data: [body.data], total: 1 });
    });

    it('charges the payment method of the subscription, even if the customer has a different default method', async () => {
      stripe.paymentMethods.set(`sub_${customer}`, 'pm_of_subscription');
      const id = newId();
      await buy(id);
      expect(stripe.paidFor(id)[0]?.payment_method).to.equal('pm_of_subscription');
    });

    it('returns the first answer again for a repeated id, and charges nothing', async () => {
      const id = newId();
      const first = await buy(id);
      const calls = stripe.calls.length;
      const before = await rowsOfPurchases();
      await eachCase([id, id.toUpperCase()], async (again) =>
        expect((await buy(again)).body).to.deep.equal(first.body),
      );
      expect(stripe.calls).to.have.length(calls);
      expect(await rowsOfPurchases()).to.deep.equal(before);
    });

    it('charges once for three simultaneous requests with one id, and answers `pending` to two of them', async () => {
      stripe.delayMs = 200;
      const id = newId();
      const answers = await Promise.all([buy(id), buy(id), buy(id)]);
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
      const statuses = answers.map(({ body }) => body.data.status as string).toSorted();
      expect(statuses).to.deep.equal(['active', 'pending', 'pending']);
      expect(stripe.payments).to.have.length(1);
      expect((await list()).total).to.equal(1);
    });

    it('adds a purchased AI budget only to the month of its payment, but adds storage permanently', async () => {
      await buy(newId(), { kind: 'ai_budget', quantity: 3 });
      await buy(newId(), { kind: 'storage', quantity: 1 });
      const added = async () => {
        const { allowances } = await plan();
        return [allowances.ai_budget.add_ons, allowances.storage_bytes.add_ons];
      };
      expect(await added()).to.deep.equal([3_000, 100_000_000_000]);
      const later = new Date(Date.now() + 32 * 86_400_000);
      const { source } = (await testDeps()).db;
      const { allowances } = await readClubPlan(new Queries(source.manager), club.id, later);
      expect([allowances.ai_budget.add_ons, allowances.storage_bytes.add_ons]).to.deep.equal([0, 100_000_000_000]);
    });

    it('wakes the workflow before it charges, so that a crash of the API cannot leave a purchase open', async () => {
      stripe.delayMs = 300;
      const id = newId();
      const buying = buy(id);
      while (!stripe.calls.some((text) => text.startsWith('POST'))) await sleep(5);
      expect(await wakesOfAddOn(id)).to.deep.equal(['addOn']);
      expect(stripe.payments).to.deep.equal([]);
      expect((await buying).body.data.status).to.equal('active');
    });

    const unknown = {
      cut_after_charge: 1,
      cut_before_charge: 0,
      error: 0,
      error_after_charge: 1,
      processing: 0,
    } as const;
    for (const [fate, charges] of Object.entries(unknown)) {
      it(`answers pending and wakes the workflow while the outcome is unknown (${fate})`, async () => {
        stripe.fates = [fate as keyof typeof unknown];
        const id = newId();
        const { status, body } = await buy(id);
        expect([status, body.data.status]).to.deep.equal([201, 'pending']);
        expect(body.data).to.not.have.property('settled_at');
        expect(stripe.paidFor(id)).to.have.length(charges);
        expect((await plan()).allowances.students.add_ons).to.equal(0);
        expect(await wakesOfAddOn(id)).to.deep.equal(['addOn']);
        const calls = stripe.calls.length;
        expect((await buy(id)).body).to.deep.equal(body);
        expect(stripe.calls).to.have.length(calls);
        expect(await addOnRow(id)).to.include({ attempt_count: 1, lease_until: null });
      });
    }
  });

  describe('after a failover that lost the last commits (BILL-6)', () => {
    /** Removes the purchase from the database. The processor still has the payment. */
    const lose = async (id: Id) => {
      const source = await testDatabase();
      await source.query(`DELETE FROM add_ons WHERE id = $1`, [id]);
      await source.query(`DELETE FROM wakes WHERE subject_id = $1`, [id]);
    };

    it('finds the earlier payment of a repeated purchase, even after the idempotency key has expired', async () => {
      const id = newId();
      await buy(id);
      await lose(id);
      stripe.forgetKeys();
      const { status, body } = await buy(id);
      expect([status, body.data.status]).to.deep.equal([201, 'active']);
      expect(stripe.payments).to.have.length(1);
    });

    it('restores each lost purchase once from its payment, and charges nothing', async () => {
      const [lostId, otherId] = [newId(), newId()];
      const before = (await buy(lostId, { kind: 'storage', quantity: 3 })).body.data;
      await buy(otherId);
      await lose(lostId);
      const { db } = await testDeps();
      const processor = createPaymentProcessor({ secretKey: new Secret(stripe.secretKey), apiUrl: stripe.url });
      const reconcile = () => reconcileCharges({ db, processor }, new Date(Date.now() - 3_600_000), new Date());
      expect(await reconcile()).to.deep.equal([lostId]);
      expect(await reconcile()).to.deep.equal([]);
      expect(await wakesOfAddOn(lostId)).to.deep.equal(['addOn']);
      expect(await settleAddOn({ db, processor }, lostId, Date.now())).to.deep.equal({ done: true, outcome: 'active' });
      const [again] = (await list()).data.filter((addOn) => 'id' in addOn && addOn.id === lostId);
      const { created_at: _, settled_at: __, ...bought } = before;
      expect(again).to.deep.include(bought);
      expect(stripe.payments).to.have.length(2);
    });
  });

  describe('402', () => {
    it('returns payment_failed for a declined card, and repeats this answer without another charge', async () => {
      stripe.fates = ['declined'];
      const id = newId();
      const first = await buy(id);
      expectError(first, 'payment_failed');
      const calls = stripe.calls.length;
      expect((await buy(id)).text).to.equal(first.text);
      expect(stripe.calls).to.have.length(calls);
      expect((await plan()).allowances.students.add_ons).to.equal(0);
      expect((await list()).data).to.have.length(1);
      expect((await list()).data[0]).to.include({ id, status: 'failed' });
      expect((await buy(newId())).status).to.equal(201);
    });

    it('returns payment_failed for a club without a payment method, and charges nothing', async () => {
      stripe.paymentMethods.delete(customer);
      const id = newId();
      expectError(await buy(id), 'payment_failed');
      expect(stripe.payments).to.deep.equal([]);
      expect(await addOnRow(id)).to.include({ status: 'failed' });
    });

    it('returns payment_failed for a club without a billing account, and writes nothing', async () => {
      const other = await buildClub();
      const before = await rowCounts();
      expectError(await buy(newId(), {}, other), 'payment_failed');
      expect(await rowCounts()).to.deep.equal(before);
      expect(stripe.calls).to.deep.equal([]);
    });
  });

  describe('409', () => {
    it('returns add_on_exists if another purchase or another club already uses the id, and charges nothing', async () => {
      const id = newId();
      await buy(id);
      const other = await buildClub();
      await buildPlan(other.id, 'professional', { customer_id: `cus_${newId()}` });
      const before = await rowsOfPurchases();
      const calls = stripe.calls.length;
      expectError(await buy(id, { quantity: 3 }), 'add_on_exists');
      expectError(await buy(id, { kind: 'storage' }), 'add_on_exists');
      expectError(await buy(id, {}, other), 'add_on_exists');
      expect(await rowsOfPurchases()).to.deep.equal(before);
      expect(stripe.calls).to.have.length(calls);
    });
  });

  it('returns 422 for a quantity outside 1 to 100, an unknown kind or a malformed id, and charges nothing', async () => {
    const before = await rowCounts();
    await eachCase([{ quantity: 0 }, { quantity: 101 }, { kind: 'agents' }, { id: 'one' }], async (wrong) =>
      expectError(await buy(newId(), wrong), 'invalid_request'),
    );
    expect(await rowCounts()).to.deep.equal(before);
    expect(stripe.calls).to.deep.equal([]);
  });

  it('returns 501 not_configured without a Stripe key', async () => {
    const before = await rowCounts();
    const body = { id: newId(), kind: 'students', quantity: 1 };
    expectError(await call('POST', path(club), { token: club.owner.token, body }), 'not_configured');
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('never shows the Stripe key in answers, logs or rows, even if Stripe refuses the key', async () => {
    const wrong = 'sk_test_wrong_but_secret';
    const other = await serveApp({ env: { STRIPE_SECRET_KEY: wrong, STRIPE_API_URL: stripe.url } });
    const { token } = club.owner;
    const body = { id: newId(), kind: 'students', quantity: 1 };
    const refused = await callAt(other.base, 'POST', path(club), { token, body });
    expect(refused.body.data.status).to.equal('pending');
    const { text } = await buy(newId());
    const output = [...other.log, ...api.log, refused.text, text].join('');
    await eachCase([wrong, stripe.secretKey], async (secret) => {
      expect(output).to.not.include(secret);
      expect(await columnsHolding(secret)).to.deep.equal([]);
    });
    await other.close();
  });
});

describe('GET /v1/clubs/{clubId}/add-ons', () => {
  it('lists only the add-ons of this club, newest first, in pages', async () => {
    const club = await buildClub();
    const ids: Id[] = [];
    for (const minutes of [3, 2, 1])
      ids.unshift((await buildAddOn(club.id, { created_at: new Date(Date.now() - minutes * 60_000) })).id);
    await buildAddOn((await buildClub()).id);
    const page = async (query: string) =>
      (await call('GET', `${path(club)}${query}`, { token: club.owner.token })).body as {
        data: { id: Id }[];
        total: number;
      };
    expect((await page('')).data.map(({ id }) => id)).to.deep.equal(ids);
    expect(
      await page('?page=2&page_size=2').then(({ data, total }) => [data.map(({ id }) => id), total]),
    ).to.deep.equal([[ids[2]], 3]);
    expect(await page('?page=9')).to.deep.equal({ data: [], total: 3 });
  });
});
