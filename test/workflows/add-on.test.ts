import { expect } from 'chai';
import { addOnActivities } from '../../activities/add-on.ts';
import { buyAddOn } from '../../domain/billing/add-ons.ts';
import { createPaymentProcessor, type PaymentProcessor } from '../../domain/billing/processor.ts';
import { settleAddOn } from '../../domain/billing/settling.ts';
import { newId, type Id } from '../../domain/core/ids.ts';
import { workflowIdOf } from '../../domain/facts/workflow-names.policy.ts';
import type { addOn } from '../../workflows/add-on.ts';
import { addOnRow, insertAddOn } from '../toolkit/builders/add-ons.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { testDatabase, testPlatform } from '../toolkit/stack/database.ts';
import { buildClub } from '../toolkit/builders/factories.ts';
import { keptOf } from '../toolkit/assert/histories.ts';
import { putOnPlan } from '../toolkit/builders/plans.ts';
import { startStripe, type Fate, type StripeServer } from '../toolkit/fakes/stripe-server.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

const hour = 3_600_000;

describe('add-on, with time skipped', function () {
  this.timeout(60_000);
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the worker, before its server', () => Promise.all(workers.map((worker) => worker.stop())));
  const environment = useTimeSkipping();
  let stripe: StripeServer;
  let processor: PaymentProcessor;
  /** When each step was taken, by the server's clock. */
  let steps: number[] = [];
  /** Called before each step. */
  let beforeStep: (step: number) => void = () => {};

  before('start the worker', async () => {
    stripe = await startStripe();
    const config = await testConfig({ STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_URL: stripe.url });
    const made = createPaymentProcessor(config.stripe);
    if (!made) throw new Error('A processor with a key is one.');
    processor = made;
    const { database } = await testPlatform();
    const { settle } = addOnActivities({ database, processor });
    const activities = {
      async settle(id: Id, now: number) {
        beforeStep(steps.push(await environment().currentTimeMs()));
        return settle(id, now);
      },
    };
    workers.push(await runWorkerHere(environment().nativeConnection, { taskQueue: 'billing', activities }));
  });
  after('stop the processor', () => stripe.close());
  beforeEach(() => {
    steps = [];
    beforeStep = () => {};
    Object.assign(stripe, { fates: [], calls: [], payments: [], up: true, delayMs: 0 });
  });

  /** A club whose card the processor knows. */
  const buyer = async () => {
    const { id } = await buildClub();
    await putOnPlan(id, 'professional', { customer_id: `cus_${id}` });
    stripe.paymentMethods.set(`cus_${id}`, 'pm_card');
    return id;
  };
  const start = ({ id }: { id: Id }) =>
    environment().client.workflow.start<typeof addOn>('addOn', {
      workflowId: workflowIdOf('addOn', id),
      taskQueue: 'billing',
      args: [id],
    });
  /** An add-on as it is left behind by an API that died after the charge was asked for: claimed, and its lease has run out. */
  const abandoned = async (clubId: Id) => {
    const now = new Date(await environment().currentTimeMs());
    return insertAddOn(clubId, {
      created_at: now,
      next_attempt_at: now,
      attempt_count: 1,
      fence: 1,
      payment_method_id: 'pm_card',
      lease_until: new Date(Date.now() - 1_000),
    });
  };
  const buyHere = async (clubId: Id, id: Id) => {
    const { database } = await testPlatform();
    return buyAddOn(
      { database, processor },
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
    it(`settles what the first attempt left open (${fate}): charged ${paid} times, ${outcome}`, async () => {
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

  it('an API that died between the charge and its record: found, not charged again', async () => {
    const clubId = await buyer();
    const row = await abandoned(clubId);
    const { amount, currency } = { amount: 1_000, currency: 'usd' };
    const customerId = `cus_${clubId}`;
    await processor.charge({ addOnId: row.id, clubId, customerId, paymentMethodId: 'pm_card', amount, currency });
    expect(await (await start(row)).result()).to.equal('active');
    expect(stripe.payments).to.have.length(1);
  });

  it('an API that died before the charge: charged by the workflow, under the same key', async () => {
    const row = await abandoned(await buyer());
    expect(await (await start(row)).result()).to.equal('active');
    expect(stripe.calls).to.deep.equal(['GET /v1/payment_intents', `POST /v1/payment_intents ${row.id}`]);
  });

  it('a processor that is down for hours: asked again after growing waits, and charged once', async () => {
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

  it('after 23 hours nothing is charged any more, for the key may be forgotten; what was charged is found', async () => {
    const [lost, found] = [await abandoned(await buyer()), await abandoned(await buyer())];
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
    stripe.payments.push(paymentOf(found));
    const [one, other] = [await start(lost), await start(found)];
    expect([await one.result(), await other.result()]).to.deep.equal(['failed', 'active']);
    expect(stripe.payments).to.have.length(1);
    expect(stripe.calls.filter((text) => text.startsWith('POST'))).to.deep.equal([]);
  });

  it('one step at a time: of many at once, one charges, and a step that lost its claim records nothing', async () => {
    const { database } = await testPlatform();
    const row = await insertAddOn(await buyer());
    stripe.delayMs = 100;
    await Promise.all(Array.from({ length: 5 }, () => settleAddOn({ database, processor }, row.id, Date.now())));
    expect(stripe.payments).to.have.length(1);
    expect(stripe.calls.filter((text) => text.startsWith('POST'))).to.have.length(1);

    const slow = await insertAddOn(await buyer());
    stripe.fates = ['declined'];
    stripe.delayMs = 300;
    const late = settleAddOn({ database, processor }, slow.id, Date.now());
    const source = await testDatabase();
    while (!(await addOnRow(slow.id))['payment_method_id']) await new Promise((resolve) => setTimeout(resolve, 5));
    await source.query(`UPDATE add_ons SET fence = fence + 1 WHERE id = $1`, [slow.id]);
    expect(await late).to.include({ done: false });
    expect(await addOnRow(slow.id)).to.include({ status: 'pending' });
  });

  it('nothing but ids is in the run’s history', async () => {
    const clubId = await buyer();
    const row = await abandoned(clubId);
    const handle = await start(row);
    await handle.result();
    const said = await keptOf(handle);
    expect(said).to.include(row.id);
    for (const secret of [stripe.secretKey, `cus_${clubId}`, 'pm_card', 'pi_']) expect(said).to.not.include(secret);
  });
});
