import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { outcomeOfEvent, planRow } from '../toolkit/assert/billing.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { billingEvents, unixNow } from '../toolkit/builders/billing-events.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, callAt, clock, expectError } from '../toolkit/drive/api.ts';
import { postBillingEvent, serveBilling, signatureOf, webhookSecret } from '../toolkit/drive/billing.ts';
import type { ServedApp } from '../toolkit/stack/app.ts';
import { columnsHolding, rowCounts } from '../toolkit/stack/database.ts';

const accepted = { data: { accepted: true } };

describe('POST /webhooks/billing', () => {
  let api: ServedApp;
  let club: TestClub;
  let [customer, subscription] = ['', ''];
  before(async () => {
    api = await serveBilling({ STRIPE_PRICE_PLANS: 'price_old=starter' });
  });
  after(() => api.close());
  beforeEach(async () => {
    club = await buildClub();
    [customer, subscription] = [`cus_${newId()}`, `sub_${newId()}`];
  });
  const about = (clubId?: Id) => ({ customer, subscription, ...(clubId !== undefined && { clubId }) });
  const start = unixNow() - 1_000;
  const subscribe = (plan: string, at = start) =>
    postBillingEvent(
      api,
      billingEvents.subscription('created', { ...about(club.id), plan, at, periodEnd: start + 2_592_000 }),
    );

  describe('202', () => {
    it('applies the subscription’s plan to the club that the event’s metadata names', async () => {
      const { status, body } = await subscribe('business');
      expect([status, body]).to.deep.equal([202, accepted]);
      expect(await planRow(club.id)).to.deep.equal({
        plan: 'business',
        status: 'active',
        customer_id: customer,
        subscription_id: subscription,
        current_period_end: new Date((start + 2_592_000) * 1_000),
        changed_at: new Date(start * 1_000),
        currency: null,
      });
    });

    it('finds the plan by the lookup key of the price, or by the configured map from prices to plans', async () => {
      await postBillingEvent(api, billingEvents.subscription('created', { ...about(club.id), price: 'price_old' }));
      expect(await planRow(club.id)).to.include({ plan: 'starter' });
    });

    it('finds the club by the customer id, if an earlier event named both the customer and the club', async () => {
      await postBillingEvent(api, billingEvents.checkout({ ...about(club.id), at: start }));
      await postBillingEvent(
        api,
        billingEvents.subscription('updated', { ...about(), plan: 'starter', at: start + 1 }),
      );
      await postBillingEvent(api, billingEvents.invoice('payment_failed', { ...about(), at: start + 2 }));
      expect(await planRow(club.id)).to.include({ plan: 'starter', status: 'past_due' });
      await postBillingEvent(api, billingEvents.invoice('paid', { ...about(), at: start + 3 }));
      expect(await planRow(club.id)).to.include({ plan: 'starter', status: 'active' });
    });

    it('applies an event of an unknown customer once a later event names the customer’s club', async () => {
      const early = billingEvents.subscription('created', { ...about(), plan: 'starter', at: start });
      await postBillingEvent(api, early);
      expect([await outcomeOfEvent(early), await planRow(club.id)]).to.deep.equal(['unknown_club', undefined]);
      await postBillingEvent(api, billingEvents.checkout({ ...about(club.id), at: start + 1 }));
      expect(await planRow(club.id)).to.include({ plan: 'starter', customer_id: customer });
      expect(await outcomeOfEvent(early)).to.equal('applied');
    });

    it('applies the starter plan after a cancelation, until a new subscription begins', async () => {
      await subscribe('business');
      await postBillingEvent(
        api,
        billingEvents.subscription('deleted', { ...about(), plan: 'business', at: start + 5 }),
      );
      await postBillingEvent(api, billingEvents.invoice('paid', { ...about(), at: start + 6 }));
      expect(await planRow(club.id)).to.include({ plan: 'starter', status: 'canceled' });
      const again = { ...about(), subscription: `sub_${newId()}`, plan: 'professional', at: start + 7 };
      await postBillingEvent(api, billingEvents.subscription('created', again));
      expect(await planRow(club.id)).to.include({ plan: 'professional', status: 'active' });
    });

    it('ignores an event that is older than the last applied event', async () => {
      await subscribe('business', start + 10);
      const older = billingEvents.subscription('updated', {
        ...about(),
        plan: 'starter',
        status: 'past_due',
        at: start,
      });
      expect((await postBillingEvent(api, older)).status).to.equal(202);
      expect(await planRow(club.id)).to.include({ plan: 'business', status: 'active' });
      expect(await outcomeOfEvent(older)).to.equal('outdated');
    });

    it('returns the same answer for a repeated event, and applies the event once', async () => {
      const event = billingEvents.subscription('created', { ...about(club.id), plan: 'starter' });
      const answers = await Promise.all([1, 2, 3].map(() => postBillingEvent(api, event)));
      await eachCase(answers, ({ status, body }) => expect([status, body]).to.deep.equal([202, accepted]));
      const before = await rowCounts();
      await postBillingEvent(api, { ...event, data: { object: {} } });
      expect(await rowCounts()).to.deep.equal(before);
      expect(await planRow(club.id)).to.include({ plan: 'starter' });
    });

    const unknown = {
      unknown_club: () => billingEvents.subscription('created', { ...about(newId()), plan: 'starter' }),
      unknown_price: () => billingEvents.subscription('created', { ...about(club.id), plan: 'platinum' }),
      ignored: () => ({ ...billingEvents.checkout(about(club.id)), type: 'customer.tax_id.created' }),
    };
    for (const [outcome, event] of Object.entries(unknown)) {
      it(`records and logs an event with outcome ${outcome}, and changes no plan`, async () => {
        const notice = event();
        expect((await postBillingEvent(api, notice)).body).to.deep.equal(accepted);
        expect([await outcomeOfEvent(notice), await planRow(club.id)]).to.deep.equal([outcome, undefined]);
        const lines = api.log.map((line) => JSON.parse(line) as Record<string, unknown>);
        expect(lines.find((line) => line['event'] === notice.id)).to.include({
          outcome,
          level: outcome === 'ignored' ? 30 : 40,
        });
      });
    }

    it('ignores an event that names a different club than the customer’s (customer_of_another_club)', async () => {
      await subscribe('starter');
      const other = await buildClub();
      const event = billingEvents.subscription('updated', { ...about(other.id), plan: 'business' });
      await postBillingEvent(api, event);
      expect(await outcomeOfEvent(event)).to.equal('customer_of_another_club');
      expect(await planRow(club.id)).to.include({ plan: 'starter' });
      expect(await planRow(other.id)).to.equal(undefined);
    });

    it('accepts and ignores unknown fields of any type', async () => {
      const odd: unknown[] = [null, 7, 'x', [], {}, { id: {} }, { data: [[]] }, 'x'.repeat(300)];
      await eachCase(odd, async (value) => {
        const object = {
          id: subscription,
          customer: value,
          status: value,
          items: value,
          metadata: value,
          parent: value,
        };
        await eachCase(
          ['customer.subscription.updated', 'invoice.paid', 'checkout.session.completed', '__proto__'],
          async (type) =>
            expect(
              (await postBillingEvent(api, { id: `evt_${newId()}`, type, created: start, data: { object } })).status,
            ).to.equal(202),
        );
      });
    });
  });

  describe('400', () => {
    const good = () => JSON.stringify(billingEvents.subscription('created', { ...about(club.id), plan: 'starter' }));
    const post = (raw: string, headers: Record<string, string> = {}) =>
      callAt(api.base, 'POST', '/webhooks/billing', { raw, headers });

    it('returns signature_invalid for a missing or wrong signature, and stores nothing', async () => {
      const before = await rowCounts();
      const payload = good();
      const headers = [
        '',
        't=1,v1=00',
        'nonsense',
        signatureOf(payload, { secret: 'whsec_another' }),
        signatureOf(`${payload} `),
        signatureOf(payload).replace('v1=', 'v0='),
      ];
      await eachCase(headers, async (signature) =>
        expectError(await post(payload, { 'stripe-signature': signature }), 'signature_invalid'),
      );
      expectError(await post(payload), 'signature_invalid');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns signature_invalid if the timestamp differs by more than 5 minutes, and stores nothing', async () => {
      const event = billingEvents.subscription('created', { ...about(club.id), plan: 'starter' });
      const before = await rowCounts();
      expectError(await postBillingEvent(api, event, { at: unixNow() - 310 }), 'signature_invalid');
      clock.advance(310_000);
      expectError(await postBillingEvent(api, event), 'signature_invalid');
      expect(await rowCounts()).to.deep.equal(before);
      clock.reset();
      expect((await postBillingEvent(api, event, { at: unixNow() - 290 })).status).to.equal(202);
    });

    it('returns malformed_request if the signed body is not an event, and stores nothing', async () => {
      const before = await rowCounts();
      await eachCase(['{}', '{"id":1}', '{"id":"evt_1","type":"x"}', '[]', 'null', '{'], async (raw) =>
        expectError(await post(raw, { 'stripe-signature': signatureOf(raw) }), 'malformed_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('does not write the secret, the signature or the body to the answer or the log', async () => {
      const payload = JSON.stringify({ ...billingEvents.checkout(about(club.id)), note: 'a-private-note' });
      const signature = signatureOf(payload, { secret: 'whsec_another' });
      const { text } = await post(payload, { 'stripe-signature': signature });
      await post(payload, { 'stripe-signature': signatureOf(payload) });
      const output = text + api.log.join('');
      await eachCase([webhookSecret, signature, signature.slice(-40), 'a-private-note', customer], (secret) =>
        expect(output).to.not.include(secret),
      );
      expect(await columnsHolding('a-private-note')).to.deep.equal([]);
    });
  });

  it('returns 501 not_configured without a webhook secret', async () => {
    const payload = JSON.stringify(billingEvents.checkout(about(club.id)));
    const headers = { 'stripe-signature': signatureOf(payload) };
    expectError(await call('POST', '/webhooks/billing', { raw: payload, headers }), 'not_configured');
  });
});
