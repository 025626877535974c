/** Notices of a shop: purchases, refunds, subscriptions, and the access that follows (EVT-10 to EVT-13). */
import { expect } from 'chai';
import { inDays, type Cause } from './cause.ts';

export const sales: readonly Cause[] = [
  {
    cause: 'a purchase by an unknown person',
    prepare:
      async ({ shop }) =>
      () =>
        shop.paid(),
    raises: ['student.created', 'purchase.paid', 'access.granted'],
    looks(of) {
      expect(of('purchase.paid').purchase.status).to.equal('paid');
      expect(of('access.granted').enrollment.source).to.equal('purchase');
    },
  },
  {
    cause: 'a purchase by a student, which the shop reports in three notices',
    prepare: async ({ shop, student }) => {
      const buyer = await student();
      const sale = shop.sale({ email: buyer.email });
      return async () => {
        await shop.paid(sale);
        await shop.paid(sale);
        await shop.paid(sale);
      };
    },
    raises: ['purchase.paid', 'access.granted'],
  },
  {
    cause: 'a refund',
    prepare: async ({ shop }) => {
      const sale = shop.sale();
      await shop.paid(sale);
      return () => shop.refunded(sale);
    },
    raises: ['purchase.refunded', 'access.revoked'],
    looks(of) {
      expect(of('purchase.refunded').purchase.status).to.equal('refunded');
      expect(of('access.revoked').enrollment).to.include({ status: 'revoked', revoked_reason: 'refund' });
    },
  },
  {
    cause: 'a chargeback',
    prepare: async ({ shop }) => {
      const sale = shop.sale();
      await shop.paid(sale);
      return () => shop.chargedBack(sale);
    },
    raises: ['purchase.refunded', 'access.revoked'],
    looks: (of) => expect(of('purchase.refunded').purchase.status).to.equal('chargeback'),
  },
  {
    cause: 'the first charge of a subscription',
    prepare:
      async ({ shop }) =>
      () =>
        shop.charged(shop.subscription()),
    raises: ['student.created', 'purchase.paid', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('subscription'),
  },
  {
    cause: 'a late charge, which the shop reports in two notices',
    prepare: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return async () => {
        await shop.late(subscription);
        await shop.late(subscription);
      };
    },
    raises: ['subscription.past_due'],
    looks: (of) => expect(of('subscription.past_due').subscription.status).to.equal('past_due'),
  },
  {
    cause: 'a cancellation that names no paid period',
    prepare: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return () => shop.canceled(subscription, { periodEnd: undefined });
    },
    raises: ['subscription.canceled', 'access.revoked'],
    looks: (of) => expect(of('access.revoked').enrollment.revoked_reason).to.equal('cancellation'),
  },
  {
    cause: 'a cancellation within the paid period',
    prepare: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return () => shop.canceled(subscription, { periodEnd: inDays(9) });
    },
    raises: ['subscription.canceled', 'access.shortened'],
    looks(of) {
      const { subscription } = of('subscription.canceled');
      expect(of('access.shortened').enrollment).to.include({
        status: 'active',
        ends_at: subscription.current_period_end,
      });
    },
  },
];
