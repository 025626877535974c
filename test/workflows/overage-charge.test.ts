import { expect } from 'chai';
import { activities as all } from '../../activities/index.ts';
import { overageChargeId } from '../../domain/billing/overage/beginning.ts';
import type { Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import type { overageCharge } from '../../workflows/index.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { keptOf } from '../toolkit/assert/histories.ts';
import { buildOverageCharge, buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { overageChargeRow, overageDeps } from '../toolkit/drive/overages.ts';
import { startStripe, type Fate, type StripeServer } from '../toolkit/fakes/stripe-server.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const day = 86_400_000;

describe('the workflow of an overage charge', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let stripe: StripeServer;
  /** Times on the clock of the time-skipping server. */
  let steps: number[] = [];
  let beforeStep: (step: number) => void = () => {};

  before('start the worker', async () => {
    stripe = await startStripe();
    const { chargeOverage } = all.overageCharge({ overages: await overageDeps(stripe) });
    const activities = {
      async chargeOverage(id: Id, now: number) {
        beforeStep(steps.push(await environment().currentTimeMs()));
        return chargeOverage(id, now);
      },
    };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'billing', activities }));
  });
  after('stop the processor', () => stripe.stop());
  beforeEach(() => {
    steps = [];
    beforeStep = () => {};
    Object.assign(stripe, { items: [], invoices: [], calls: [], pathFates: {}, up: true });
  });

  const begin = async (more: Record<string, unknown> = {}) => {
    const now = new Date(await environment().currentTimeMs());
    return buildOverageCharge((await buildClub()).id, { created_at: now, next_attempt_at: now, ...more });
  };
  const start = ({ id }: { id: Id }) =>
    environment().client.workflow.start<typeof overageCharge>('overageCharge', {
      workflowId: workflowIdOf('overageCharge', id),
      taskQueue: 'billing',
      args: [id],
    });

  it('makes the item, and then an invoice if the club has no subscription', async () => {
    const row = await begin();
    expect(await (await start(row)).result()).to.equal('invoiced');
    expect(stripe.itemsOf(row.id)).to.have.length(1);
    expect(stripe.invoices).to.have.length(1);
  });

  it('tries again with growing waits while the payment processor is unavailable', async () => {
    const row = await begin();
    stripe.up = false;
    beforeStep = (step) => {
      if (step === 8) stripe.up = true;
    };
    expect(await (await start(row)).result()).to.equal('invoiced');
    const waits = steps.slice(1, 8).map((at, index) => Math.round((at - (steps[index] ?? 0)) / 1_000));
    expect(waits.map((wait) => [5, 30, 120, 600, 1_800, 3_600].find((due) => Math.abs(due - wait) <= 3))).to.deep.equal(
      [5, 30, 120, 600, 1_800, 3_600, 3_600],
    );
    expect(stripe.itemsOf(row.id)).to.have.length(1);
  });

  for (const fate of ['cut_after_charge', 'cut_before_charge', 'error_after_charge', 'error'] satisfies Fate[])
    it(`charges once if the answer to the item or to the invoice is ${fate}`, async () => {
      stripe.pathFates = { '/v1/invoiceitems': [fate], '/v1/invoices': [fate] };
      beforeStep = () => {
        stripe.up = true;
      };
      const row = await begin();
      expect(await (await start(row)).result()).to.equal('invoiced');
      expect(stripe.itemsOf(row.id)).to.have.length(1);
      expect(stripe.invoices.map(({ total }) => total)).to.deep.equal([2_000]);
      expect(await overageChargeRow(row.clubId, '2026-03-01')).to.include({ invoice_id: stripe.invoices[0]?.id });
    });

  it('sleeps until the invoice of the subscription', async () => {
    const now = await environment().currentTimeMs();
    const row = await begin();
    const customer = `cus_${row.clubId}`;
    const periodEnd = Math.floor(now / 1_000) + 12 * 86_400;
    const subscription = { id: 'sub_1', customer, status: 'active', currency: 'usd', periodEnd, endsWithPeriod: false };
    stripe.subscriptions.set('sub_1', subscription);
    await buildPlan(row.clubId, 'business', { customer_id: customer, subscription_id: 'sub_1' });
    beforeStep = (step) => {
      if (step === 3) stripe.runSubscription('sub_1');
    };
    expect(await (await start(row)).result()).to.equal('invoiced');
    expect(steps).to.have.length(3);
    expect(((steps[2] ?? 0) - now) / day).to.be.closeTo(13, 0.1);
    expect(stripe.invoices.map((invoice) => invoice.subscription)).to.deep.equal(['sub_1']);
  });

  it('stores only ids in the workflow history', async () => {
    const row = await begin();
    const handle = await start(row);
    await handle.result();
    const storedText = await keptOf(handle);
    expect(storedText).to.include(overageChargeId(row.clubId, 'students', '2026-03-01'));
    await eachCase([stripe.secretKey, `cus_${row.clubId}`, 'ii_', 'in_', 'usd'], (secret) =>
      expect(storedText).to.not.include(secret),
    );
  });
});
