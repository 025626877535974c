import { activities as all } from '../../activities/index.ts';
import { buyAddOn } from '../../domain/billing/add-ons.ts';
import { createPaymentProcessor, type PaymentProcessor } from '../../platform/infra/payments.ts';
import { settleAddOn } from '../../domain/billing/settling.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import type { addOn } from '../../workflows/index.ts';
import { addOnRow } from '../toolkit/assert/billing.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { keptOf } from '../toolkit/assert/histories.ts';
import { buildAddOn, buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { startStripe, type Fate, type StripeServer } from '../toolkit/fakes/stripe-server.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';
import { expect } from 'chai';

const hour = 3_600_000;

describe('the workflow of an add-on', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let stripe: StripeServer;
  let processor: PaymentProcessor;
  /** Times on the clock of the time-skipping server. */
  let steps: number[] = [];

  let beforeStep: (step: number) => void = () => {};

  before('start the worker', async () => {
    stripe = await startStripe();
    const config = await testConfig({ STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_URL: stripe.url });
    const createdProcessor = createPaymentProcessor(config.stripe);
    if (!createdProcessor) throw new Error('The processor with a key was not created.');
    processor = createdProcessor;
    const { db } = await testDeps();
    const { settle } = all.addOn({ addOns: { db, processor } });
    const activities = {
      async settle(id: Id, now: number) {
        beforeStep(steps.push(await environment().currentTimeMs()));
        return settle(id, now);
      },
    };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'billing', activities }));
  });
  after('stop the processor', () => stripe.stop());
  beforeEach(() => {
    steps = [];
    beforeStep = () => {};
    Object.assign(stripe, { fates: [], calls: [], payments: [], up: true, delayMs: 0 });
  });

  /** The payment processor knows the club's card. */
  const buyer = async () => {
    const { id } = await buildClub();
    await buildPlan(id, 'professional', { customer_id: `cus_${id}` });
    stripe.paymentMethods.set(`cus_${id}`, 'pm_card');
    return id;
  };
  const start = ({ id }: { id: Id }) =>
    environment().client.workflow.start<typeof addOn>('addOn', {
      workflowId: workflowIdOf('addOn', id),
      taskQueue: 'billing',
      args: [id],
    });
  /** The API process died after its claim, and the lease has expired, so a step may continue. */
  const abandoned = async (clubId: Id) => {
    const now = new Date(await environment().currentTimeMs());
    return buildAddOn(clubId, {
      created_at: now,
      next_attempt_at: now,
      attempt_count: 1,
      fence: 1,
      payment_method_id: 'pm_card',
      lease_until: new Date(Date.now() - 1_000),
    });
  };
  const buyHere = async (clubId: Id, id: Id) => {
    const { db } = await testDeps();
    return buyAddOn(
      { db, processor },
      clubId,
      { id, kind: 'students', quantity: 1 },
      new Date(await environment().currentTimeMs()),
    );
  };

  const fates: [Fate, number, 'active' | 'failed'][] = [
    ['cut_after_charge', 1, 'active'],
    ['cut_before_charge', 1, 'active'],
    ['error_after_charge', 1, 'active'],
    ['declined', 0, 'failed'],
  ];
  for (const [fate, paid, outcome] of fates) {
    it(`ends as ${outcome} if the API’s attempt to charge ended with ${fate} (charges: ${paid})`, async () => {
      const clubId = await buyer();
      const id = newId();
      stripe.fates = [fate];
      await buyHere(clubId, id).catch(() => undefined);
      stripe.up = true;
      expect(await (await start({ id })).result()).to.equal(outcome);
      expect(stripe.paidFor(id)).to.have.length(paid);
      expect(await addOnRow(id)).to.include({ status: outcome, payment_id: stripe.paidFor(id)[0]?.id ?? null });
    });
  }

  it('makes no second charge if the API died after it made the charge', async () => {
    const clubId = await buyer();
    const row = await abandoned(clubId);
    const { amount, currency } = { amount: 1_000, currency: 'usd' };
    const customerId = `cus_${clubId}`;
    const bought = { kind: 'students', quantity: 1 };
    await processor.charge({
      ...bought,
      addOnId: row.id,
      clubId,
      customerId,
      paymentMethodId: 'pm_card',
      amount,
      currency,
    });
    expect(await (await start(row)).result()).to.equal('active');
    expect(stripe.payments).to.have.length(1);
  });

  it('makes the charge with the API’s idempotency key if the API died before the charge', async () => {
    const row = await abandoned(await buyer());
    expect(await (await start(row)).result()).to.equal('active');
    expect(stripe.calls).to.deep.equal(['GET /v1/payment_intents', `POST /v1/payment_intents ${row.id}`]);
  });

  it('tries again with growing waits while the payment processor is unavailable', async () => {
    const row = await abandoned(await buyer());
    stripe.up = false;
    beforeStep = (step) => {
      if (step === 9) stripe.up = true;
    };
    expect(await (await start(row)).result()).to.equal('active');
    expect(stripe.paidFor(row.id)).to.have.length(1);
    const waits = steps.slice(1).map((at, index) => Math.round((at - (steps[index] ?? 0)) / 1_000));
    expect(waits.map((wait) => [30, 120, 600, 1_800, 3_600].find((due) => Math.abs(due - wait) <= 3))).to.deep.equal([
      30, 120, 600, 1_800, 3_600, 3_600, 3_600, 3_600,
    ]);
  });

  it('makes no charge after 23 hours, but finds an earlier charge', async () => {
    const [withoutCharge, withCharge] = [await abandoned(await buyer()), await abandoned(await buyer())];
    stripe.up = false;
    beforeStep = () => {
      stripe.up = (steps.at(-1) ?? 0) - (steps[0] ?? 0) > 23 * hour;
    };
    const paymentOf = ({ id, clubId }: { id: Id; clubId: Id }) => ({
      id: `pi_${id}`,
      status: 'succeeded',
      amount: 1_000,
      currency: 'usd',
      customer: `cus_${clubId}`,
      payment_method: 'pm_card',
      created: Math.floor(Date.now() / 1_000),
      metadata: { add_on_id: id },
    });
    stripe.payments.push(paymentOf(withCharge));
    const [one, other] = [await start(withoutCharge), await start(withCharge)];
    expect([await one.result(), await other.result()]).to.deep.equal(['failed', 'active']);
    expect(stripe.payments).to.have.length(1);
    expect(stripe.calls.filter((text) => text.startsWith('POST'))).to.deep.equal([]);
  });

  it('makes only one charge in five concurrent steps', async () => {
    const { db } = await testDeps();
    const row = await buildAddOn(await buyer());
    stripe.delayMs = 100;
    await Promise.all(Array.from({ length: 5 }, () => settleAddOn({ db, processor }, row.id, Date.now())));
    expect(stripe.payments).to.have.length(1);
    expect(stripe.calls.filter((text) => text.startsWith('POST'))).to.have.length(1);

    const slow = await buildAddOn(await buyer());
    stripe.fates = ['declined'];
    stripe.delayMs = 300;
    const late = settleAddOn({ db, processor }, slow.id, Date.now());
    const source = await testDatabase();
    while (!(await addOnRow(slow.id))['payment_method_id']) await new Promise((resolve) => setTimeout(resolve, 5));
    await source.query(`UPDATE add_ons SET fence = fence + 1 WHERE id = $1`, [slow.id]);
    expect(await late).to.include({ done: false });
    expect(await addOnRow(slow.id)).to.include({ status: 'pending' });
  });

  it('stores only ids in the workflow history', async () => {
    const clubId = await buyer();
    const row = await abandoned(clubId);
    const handle = await start(row);
    await handle.result();
    const storedText = await keptOf(handle);
    expect(storedText).to.include(row.id);
    await eachCase([stripe.secretKey, `cus_${clubId}`, 'pm_card', 'pi_'], (secret) =>
      expect(storedText).to.not.include(secret),
    );
  });
});
