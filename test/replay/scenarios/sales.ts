/** Scenarios: notices of sales, ends of subscriptions, and add-ons of clubs. */
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { WorkflowHandle } from '@temporalio/client';
import { changeEnd } from '../../../domain/access/enrollments/enrollments.ts';
import type { ChargeOutcome } from '../../../platform/infra/payments.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildAddOn, buildOverageCharge } from '../../toolkit/builders/billing.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildShop, noticeOf, purchaseNotice, type TestShop } from '../../toolkit/builders/sales.ts';
import { sell, takeNotice } from '../../toolkit/drive/sales.ts';
import { until } from '../../toolkit/drive/until.ts';
import { fakeInvoicing } from '../../toolkit/fakes/invoicing.ts';
import { fakePaymentProcessor } from '../../toolkit/fakes/payments.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

const second = 1_000;

async function servedShop({ relays }: Recorder): Promise<TestShop> {
  const shop = await buildShop();
  relays.real.serve(shop.club.id);
  return shop;
}

async function noticed(recorder: Recorder, further: Record<string, unknown> = {}): Promise<WorkflowHandle> {
  const shop = await servedShop(recorder);
  const id = await takeNotice(shop.connection, purchaseNotice(shop, 'paid', further));
  await recorder.relays.real.carry();
  return recorder.runOf('salesNotice', id);
}

/** Creates a canceled subscription. The access ends after `ms`. */
async function canceledIn(recorder: Recorder, ms: number): Promise<{ shop: TestShop; id: Id; enrollmentId: Id }> {
  const shop = await servedShop(recorder);
  const subscription = { id: 'sub-1', current_period_end: new Date(Date.now() + ms).toISOString() };
  await sell(
    shop,
    purchaseNotice(shop, 'paid', { subscription }),
    noticeOf(shop, 'subscription.canceled', { subscription, occurred_at: '2026-03-20T00:00:00Z' }),
  );
  const { source } = (await testDeps()).db;
  const [row] = await source.query<{ id: Id; enrollmentId: Id }[]>(
    `SELECT subscription.id, enrollment.id AS "enrollmentId"
       FROM subscriptions subscription JOIN enrollments enrollment ON enrollment.origin_id = subscription.id
      WHERE subscription.club_id = $1`,
    [shop.club.id],
  );
  if (!row) throw new Error('The subscription does not exist.');
  await recorder.relays.real.carry();
  return { shop, ...row };
}

async function charged({ injected, skipped }: Recorder, ...outcomes: ChargeOutcome[]): Promise<WorkflowHandle> {
  injected.processor = fakePaymentProcessor(outcomes);
  const now = await skipped.now();
  const { id } = await buildAddOn((await buildClub()).id, { created_at: now, next_attempt_at: now });
  return skipped.start('addOn', 'billing', id);
}

async function chargedOverage(
  { injected, skipped }: Recorder,
  invoicing: Parameters<typeof fakeInvoicing>[0],
): Promise<WorkflowHandle> {
  injected.invoicing = fakeInvoicing(invoicing);
  const now = await skipped.now();
  const { id } = await buildOverageCharge((await buildClub()).id, { created_at: now, next_attempt_at: now });
  return skipped.start('overageCharge', 'billing', id);
}

const unknown = { result: 'unknown', code: 'StripeConnectionError' } as const;

export const salesScenarios: Scenarios = {
  salesNotice: {
    processed: (recorder) => noticed(recorder),
    failed: (recorder) => noticed(recorder, { product: { id: 'unknown' } }),
    async 'fault-then-processed'(recorder) {
      recorder.injected.noticeFaults = 2;
      return noticed(recorder);
    },
  },
  subscriptionEnd: {
    ended: async (recorder) => recorder.runOf('subscriptionEnd', (await canceledIn(recorder, 4 * second)).id),
    async 'extended-then-ended'(recorder) {
      const { shop, id, enrollmentId } = await canceledIn(recorder, 20 * second);
      const handle = recorder.runOf('subscriptionEnd', id);
      await until('the timer', { timeoutMs: 10 * second }, async () => {
        const { events } = await handle.fetchHistory();
        return events?.some((event) => event.timerStartedEventAttributes) ?? false;
      });
      const { db } = await testDeps();
      const end = new Date(Date.now() + 24 * second);
      await db.source.transaction((tx) => changeEnd(new Transaction(tx), shop.club.id, enrollmentId, end, new Date()));
      await recorder.relays.real.carry();
      return handle;
    },
  },
  overageCharge: {
    'invoiced-at-last': (recorder) => chargedOverage(recorder, { failures: 2 }),
    async 'taken-by-subscription'(recorder) {
      const nextInvoiceAt = new Date((await recorder.skipped.now()).getTime() + 9 * 86_400 * second);
      return chargedOverage(recorder, { nextInvoiceAt });
    },
    async waived({ by }) {
      const { id, clubId } = await buildOverageCharge((await buildClub()).id, { customer: null });
      return by.start('overageCharge', { id, clubId });
    },
  },
  addOn: {
    'paid-at-last': (recorder) => charged(recorder, unknown, unknown),
    declined: (recorder) => charged(recorder, { result: 'declined' }),
    async 'settled-before'({ by }) {
      const settled = { status: 'active', payment_id: 'pi_1', settled_at: new Date() };
      return by.start('addOn', await buildAddOn((await buildClub()).id, settled));
    },
  },
};
