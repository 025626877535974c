import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, callAt, expectError, type Answer } from '../toolkit/drive/api.ts';
import { startStripe, type StripeServer } from '../toolkit/fakes/stripe-server.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { columnsHolding, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const dashboard = 'https://dashboard.example.com';

describe('the pages of the payment processor', () => {
  let stripe: StripeServer;
  let api: ServedApp;
  let club: TestClub;
  before(async () => {
    stripe = await startStripe();
    api = await serveApp({
      env: {
        STRIPE_SECRET_KEY: stripe.secretKey,
        STRIPE_API_URL: stripe.url,
        STRIPE_PRICE_PLANS: 'price_starter=starter,price_business=business,price_business_yearly=business',
        DASHBOARD_URL: `${dashboard}/start`,
      },
    });
  });
  after(() => Promise.all([api.close(), stripe.stop()]));
  beforeEach(async () => {
    Object.assign(stripe, {
      checkouts: [],
      portals: [],
      calls: [],
      pathFates: {},
      up: true,
      delayMs: 0,
      isSearchUpToDate: true,
      hasPortal: true,
    });
    stripe.forgetKeys();
    stripe.customers.clear();
    stripe.subscriptions.clear();
    stripe.prices.clear();
    club = await buildClub();
  });
  const open = (page: 'checkout' | 'portal', body: object, token = club.owner.token): Promise<Answer> =>
    callAt(api.base, 'POST', `/v1/clubs/${club.id}/billing/${page}-sessions`, { token, body });
  const checkout = (more: object = {}) => open('checkout', { plan: 'business', ...more });
  const customersOfClub = () =>
    [...stripe.customers.values()].filter(({ metadata }) => metadata['club_id'] === club.id);

  describe('POST /v1/clubs/{clubId}/billing/checkout-sessions', () => {
    it('returns a page for the first configured price of the plan, which names the club', async () => {
      const { status, body } = await checkout({
        success_url: `${dashboard}/billing?paid=1`,
        cancel_url: `${dashboard}/billing`,
      });
      expect(status).to.equal(201);
      const [session] = stripe.checkouts;
      expect(body.data).to.deep.equal({
        url: session?.url,
        expires_at: new Date((session?.expires_at ?? 0) * 1_000).toISOString(),
      });
      expect(session).to.deep.include({
        price: 'price_business',
        successUrl: `${dashboard}/billing?paid=1`,
        cancelUrl: `${dashboard}/billing`,
        customer: customersOfClub()[0]?.id,
      });
      expect(session?.metadata).to.include({ club_id: club.id });
      expect((Date.parse(body.data.expires_at) - Date.now()) / 60_000).to.be.closeTo(60, 2);
    });

    it('leads back to the dashboard by default', async () => {
      await checkout();
      expect(stripe.checkouts[0]).to.include({ successUrl: `${dashboard}/start`, cancelUrl: `${dashboard}/start` });
    });

    it('finds the price by its lookup key if none is configured', async () => {
      stripe.prices.set('professional', 'price_by_key');
      expect((await checkout({ plan: 'professional' })).status).to.equal(201);
      expect(stripe.checkouts[0]?.price).to.equal('price_by_key');
    });

    it('returns 501 not_configured for a plan without a price', async () => {
      expectError(await checkout({ plan: 'professional' }), 'not_configured');
      expect(stripe.checkouts).to.deep.equal([]);
    });

    it('creates one customer for several checkouts, even before the search finds it', async () => {
      stripe.isSearchUpToDate = false;
      stripe.delayMs = 100;
      const answers = await Promise.all([checkout(), checkout(), checkout()]);
      expect(answers.map(({ status }) => status)).to.include(201);
      await checkout({ plan: 'starter' });
      expect(customersOfClub()).to.have.length(1);
    });

    it('finds the customer again if the row was lost and the key was forgotten', async () => {
      await checkout();
      await (await testDatabase()).query(`DELETE FROM billing_customers WHERE club_id = $1`, [club.id]);
      stripe.forgetKeys();
      await checkout();
      expect(customersOfClub()).to.have.length(1);
    });

    it('creates a new customer if the former customer was deleted at the processor', async () => {
      await checkout();
      for (const customer of customersOfClub()) customer.deleted = true;
      expect((await checkout()).status).to.equal(201);
      expect(customersOfClub().map(({ deleted }) => deleted)).to.deep.equal([true, false]);
      expect((await checkout()).status).to.equal(201);
      expect(customersOfClub()).to.have.length(2);
    });

    it('expires the earlier checkout of the club, so that only one can be paid', async () => {
      await checkout({ plan: 'starter' });
      expect((await checkout()).status).to.equal(201);
      expect(stripe.checkouts.map(({ status }) => status)).to.deep.equal(['expired', 'open']);
    });

    it('leaves one open checkout of several that begin at the same time', async () => {
      await checkout();
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all([checkout(), checkout({ plan: 'starter' }), checkout()]);
        const openUrls = stripe.checkouts.filter(({ status }) => status === 'open').map(({ url }) => url);
        expect(openUrls).to.have.length(1);
        const urls = answers.filter(({ status }) => status === 201).map(({ body }) => body.data.url as string);
        expect(urls).to.include.members(openUrls);
        for (const answer of answers.filter(({ status }) => status !== 201))
          expectError(answer, 'checkout_in_progress');
      }
    });

    it('returns 409 already_subscribed for a club with a subscription, and opens nothing', async () => {
      for (const status of ['active', 'past_due']) {
        await buildPlan(club.id, 'starter', { status, customer_id: `cus_${newId()}`, subscription_id: 'sub_1' });
        expectError(await checkout(), 'already_subscribed');
      }
      expect(stripe.calls.filter((text) => text.startsWith('POST'))).to.deep.equal([]);
    });

    it('returns 409 already_subscribed if the processor knows the subscription, but its event is late', async () => {
      await checkout();
      const customer = customersOfClub()[0]?.id ?? '';
      const subscription = { customer, currency: 'usd', periodEnd: 0, endsWithPeriod: false };
      stripe.subscriptions.set('sub_a', { ...subscription, id: 'sub_a', status: 'canceled' });
      expect((await checkout()).status).to.equal(201);
      stripe.subscriptions.set('sub_b', { ...subscription, id: 'sub_b', status: 'trialing' });
      expectError(await checkout(), 'already_subscribed');
    });

    it('uses the customer of a canceled subscription again', async () => {
      const customer = `cus_${newId()}`;
      await buildPlan(club.id, 'starter', { status: 'canceled', customer_id: customer, subscription_id: 'sub_1' });
      expect((await checkout()).status).to.equal(201);
      expect(stripe.checkouts[0]?.customer).to.equal(customer);
    });

    it('returns 422 for an address of another site, a plan that is not for sale, or an unknown field', async () => {
      const before = await rowCounts();
      const wrong = [
        { success_url: 'https://evil.example/' },
        { cancel_url: 'https://dashboard.example.com.evil.example/' },
        { success_url: 'http://dashboard.example.com/' },
        { success_url: 'https://dashboard.example.com:444/' },
        { success_url: 'https://user@dashboard.example.com/' },
        { success_url: 'https://dashboard.example.com@evil.example/' },
        { success_url: 'javascript:alert(1)' },
        { success_url: '/billing' },
        { success_url: `${dashboard}/${'a'.repeat(2_000)}` },
        { plan: 'trial' },
        { plan: 'platinum' },
      ];
      await eachCase(wrong, async (more) => expectError(await checkout(more), 'invalid_request'));
      expectError(await checkout({ price: 'price_1' }), 'malformed_request');
      expect(stripe.calls).to.deep.equal([]);
      expect({ ...(await rowCounts()), audit_entries: 0 }).to.deep.equal({ ...before, audit_entries: 0 });
    });

    it('returns 503 busy with Retry-After while the processor cannot be reached', async () => {
      stripe.up = false;
      const answer = await checkout();
      expectError(answer, 'busy');
      expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
    });

    it('returns 501 not_configured if the processor refuses the key or the price', async () => {
      stripe.pathFates['/v1/checkout/sessions'] = ['declined'];
      expectError(await checkout(), 'not_configured');
      const { secretKey } = stripe;
      stripe.secretKey = 'sk_test_other';
      expectError(await checkout(), 'not_configured');
      stripe.secretKey = secretKey;
    });

    it('stores the address of the page nowhere', async () => {
      const { body } = await checkout();
      expect(await columnsHolding(body.data.url)).to.deep.equal([]);
      expect(api.log.join('')).to.not.include(body.data.url);
    });
  });

  describe('POST /v1/clubs/{clubId}/billing/portal-sessions', () => {
    it('returns a page for the customer of the club’s subscription', async () => {
      const customer = `cus_${newId()}`;
      await buildPlan(club.id, 'starter', { customer_id: customer, subscription_id: 'sub_1' });
      const { status, body } = await open('portal', { return_url: `${dashboard}/billing` });
      expect(status).to.equal(201);
      expect(stripe.portals.at(-1)).to.deep.equal({
        customer,
        returnUrl: `${dashboard}/billing`,
        url: body.data.url,
      });
    });

    it('returns 409 no_billing_account without a customer, or if it was deleted at the processor', async () => {
      expectError(await open('portal', {}), 'no_billing_account');
      await checkout();
      expect((await open('portal', {})).status).to.equal(201);
      for (const customer of customersOfClub()) customer.deleted = true;
      expectError(await open('portal', {}), 'no_billing_account');
    });

    it('returns 422 for an address of another site', async () => {
      await eachCase(['https://evil.example/', 'data:text/html,x', 'portal'], async (address) =>
        expectError(await open('portal', { return_url: address }), 'invalid_request'),
      );
      expect(stripe.portals).to.deep.equal([]);
    });

    it('returns 501 not_configured if the operator has not set up the portal', async () => {
      await buildPlan(club.id, 'starter', { customer_id: `cus_${newId()}` });
      stripe.hasPortal = false;
      expectError(await open('portal', {}), 'not_configured');
    });
  });

  it('return 501 not_configured without a processor', async () => {
    for (const page of ['checkout', 'portal'])
      expectError(
        await call('POST', `/v1/clubs/${club.id}/billing/${page}-sessions`, {
          token: club.owner.token,
          body: page === 'checkout' ? { plan: 'starter' } : {},
        }),
        'not_configured',
      );
  });
});
