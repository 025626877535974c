/**
 * The scenario of overage. Events of the payment processor arrive late, twice and in any order. Months end, and workflow runs charge for
 * them. The processor loses answers, stores errors under idempotency keys, and is away.
 */
import { receiveEvent } from '../../../../domain/billing/events.ts';
import { planOfPriceBy, planStateOf, readEvent, type ReadEvent } from '../../../../domain/billing/events.policy.ts';
import { overageChargeId } from '../../../../domain/billing/overage/beginning.ts';
import { packPrices, packsOf } from '../../../../domain/billing/overage/prices.policy.ts';
import { recordOverage, turnMonths } from '../../../../domain/billing/overages.ts';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import type { BilledResource } from '../../../../entities/billing/values.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { InvoiceItem, Invoicing } from '../../../../platform/infra/invoicing.ts';
import { billingEvents } from '../../../toolkit/builders/billing-events.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';

/** How the processor reacts. A `silent` processor makes the item or the invoice, but its answer is lost. */
type Mood = 'works' | 'away' | 'silent' | 'broken' | 'refuses';
const moods: readonly Mood[] = ['works', 'away', 'silent', 'broken', 'refuses'];

/** These months have ended before the beginning of the schedule. The first turn is due, so all of them are charged. */
const firstMonth = '2026-08-01';
const firstTurn = '2026-09-01T00:00:00Z';
const customerId = 'cus_1';
const months = ['2026-08-01', '2026-09-01', '2026-10-01'];
const studentsBeyond = 117;

interface LedgerItem extends InvoiceItem {
  chargeId: Id;
}

export async function overages(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  const included = plans.business.allowances.students.included;
  await sim.postgres.ask(`UPDATE clubs SET opening_plan = 'business', time_zone = 'UTC' WHERE id = $1`, [clubId]);
  await sim.postgres.ask(`INSERT INTO club_student_counts (club_id, students) VALUES ($1, $2)`, [
    clubId,
    included + studentsBeyond,
  ]);
  for (const resource of ['students', 'storage_bytes'])
    await sim.postgres.ask(
      `INSERT INTO overages (club_id, resource, month, excess, reached_at, plan) VALUES ($1, $2, $3, 1, $4, 'business')`,
      [clubId, resource, firstMonth, firstTurn],
    );
  await sim.postgres.ask(`INSERT INTO overage_turns (club_id, turns_at) VALUES ($1, $2)`, [clubId, firstTurn]);

  let mood: Mood = 'works';
  const ledger: LedgerItem[] = [];
  /** The answers under their idempotency keys. An error is stored, too. */
  const answers = new Map<string, LedgerItem | 'error'>();
  const story = storyOf(clubId);
  const received = new Map<string, ReadEvent>();
  const now = () => new Date(sim.time.now);
  const away = () => new Error('The processor is away');

  const call = async <T>(label: string, work: () => T): Promise<T> => {
    const answer = await sim.outside(label, () => (mood === 'away' ? away() : { value: work() }));
    if (answer instanceof Error) throw answer;
    return answer.value;
  };
  /** A change whose answer may be lost. */
  const change = async <T>(label: string, work: () => T): Promise<T> => {
    const { value, isLost } = await call(label, () => ({ value: work(), isLost: mood === 'silent' }));
    if (isLost) throw new Error('The answer was lost');
    return value;
  };

  const invoicing: Invoicing = {
    account: () => call('read the account', () => ({ currency: 'usd', nextInvoiceAt: undefined })),
    findItem: (customer, chargeId) =>
      call(`find item ${chargeId}`, () =>
        copyOf(ledger.find((item) => item.customerId === customer && item.chargeId === chargeId)),
      ),
    readItem: (id) => call(`read item ${id}`, () => copyOf(ledger.find((item) => item.id === id))),
    async addItem({ chargeId, customerId: customer, amount, currency }, key) {
      const answer = await change(`add item ${chargeId}`, (): LedgerItem | 'error' | 'refused' => {
        const known = answers.get(key);
        if (known !== undefined) return known;
        if (mood === 'refuses') return 'refused';
        if (mood === 'broken') {
          answers.set(key, 'error');
          return 'error';
        }
        const id = `ii_${ledger.length}_${chargeId}`;
        const item = { id, chargeId, customerId: customer, amount, currency, invoiceId: undefined };
        ledger.push(item);
        answers.set(key, { ...item });
        return { ...item };
      });
      if (answer === 'error') throw new Error('The processor answered 500');
      return answer === 'refused' ? { result: 'refused' } : { result: 'added', item: answer };
    },
    invoice: ({ customerId: customer, chargeId }) =>
      change(`invoice ${chargeId}`, () => {
        for (const item of ledger)
          if (item.customerId === customer && item.invoiceId === undefined) item.invoiceId = `in_of_${chargeId}`;
      }),
  };

  const receive = async (event: ReadEvent): Promise<void> => {
    await receiveEvent(sim.db, event, now());
    received.set(event.id, event);
  };
  const setMood = (next: Mood): Command => ({
    label: `the processor ${next}`,
    run() {
      mood = next;
    },
  });

  return {
    types: ['overageCharge'],
    horizonMs: 70 * 86_400_000,
    leaseMs: 120_000,
    depsFor: (db) => ({ overages: { db, invoicing, failpoint: async () => {} } }),
    command(decisions) {
      const which = decisions.choose(8);
      if (which === 0) return { label: 'months end', run: async () => void (await turnMonths(sim.db, now())) };
      if (which === 1)
        return {
          label: 'the excess grows',
          run() {
            // A request may have begun in a month that another process has closed meanwhile.
            const month = decisions.choose(months.length + 1);
            const at = month === 0 ? now() : new Date(`${months[month - 1]}T12:00:00Z`);
            const excess = 200 + decisions.choose(3) * 100;
            return sim.db.transaction((tx) => recordOverage(tx, clubId, 'students', excess, at));
          },
        };
      if (which < 5) {
        const event = story[decisions.choose(story.length)];
        if (event) return { label: `event ${event.id}`, run: () => receive(event) };
      }
      return setMood(moods[decisions.choose(moods.length)] ?? 'works');
    },
    calm: () => [
      setMood('works'),
      ...story.map((event) => ({ label: `event ${event.id}`, run: () => receive(event) })),
      ...months.map(() => ({ label: 'months end', run: async () => void (await turnMonths(sim.db, now())) })),
    ],
    async atEnd() {
      const rows = await sim.postgres.ask<ChargeRow>(
        `SELECT id, resource, month::text AS month, excess::int AS excess, status, reason, amount::int AS amount, item_id AS "itemId", invoice_id AS "invoiceId"
           FROM overage_charges WHERE club_id = $1`,
        [clubId],
      );
      const closed = await sim.postgres.ask<{ resource: BilledResource; month: string; excess: number }>(
        `SELECT resource, month::text AS month, excess::int AS excess FROM overages WHERE club_id = $1 AND closed_at IS NOT NULL`,
        [clubId],
      );
      for (const { resource, month, excess } of closed) {
        const row = rows.find(({ id }) => id === overageChargeId(clubId, resource, month));
        mustHold(row?.excess === excess, 'an ended month has its charge', () => `${resource} ${month} ${excess}`);
      }
      for (const row of rows) judgeRow(row, ledger);
      for (const item of ledger)
        mustHold(
          rows.some(({ id, itemId }) => id === item.chargeId && itemId === item.id),
          'an effect that happened is recorded',
          () => `item ${item.id} is in no row`,
        );
      await judgePlan(sim, clubId, [...received.values()]);
    },
  };
}

interface ChargeRow {
  id: Id;
  resource: BilledResource;
  month: string;
  excess: number;
  status: string;
  reason: string | null;
  amount: number | null;
  itemId: string | null;
  invoiceId: string | null;
}

/** @throws BrokenInvariant */
function judgeRow(
  { id, resource, excess, status, reason, amount, itemId, invoiceId }: ChargeRow,
  ledger: readonly LedgerItem[],
) {
  const items = ledger.filter(({ chargeId }) => chargeId === id);
  mustHold(items.length <= 1, 'a month is charged once', () => `${items.length} items of charge ${id}`);
  mustHold(status !== 'pending', 'all work ends', () => `charge ${id} is pending: ${reason}`);
  const [item] = items;
  mustHold(
    (status === 'invoiced') === (item !== undefined),
    'a recorded effect has happened',
    () => `${id} is ${status}`,
  );
  if (!item)
    return mustHold(reason === 'no_customer', 'a month is charged once', () => `${id} is ${status}: ${reason}`);
  const price = packsOf(resource, excess) * packPrices.business[resource].usd;
  mustHold(item.amount === price && amount === price, 'a charge has its price', () => `${id}: ${item.amount}`);
  mustHold(
    item.id === itemId && item.invoiceId === invoiceId,
    'a recorded effect has happened',
    () => `charge ${id} names ${itemId} on ${invoiceId}`,
  );
}

/** The plan must follow from the events alone, and not from the order in which they arrived. @throws BrokenInvariant */
async function judgePlan(sim: Simulation, clubId: Id, events: readonly ReadEvent[]): Promise<void> {
  const [row] = await sim.postgres.ask<{ plan: string; status: string; subscriptionId: string | null }>(
    `SELECT plan, status, subscription_id AS "subscriptionId" FROM club_plans WHERE club_id = $1`,
    [clubId],
  );
  const { plan, status, subscriptionId } = planStateOf(events, 'business');
  mustHold(
    row?.plan === plan && row.status === status && row.subscriptionId === subscriptionId,
    'any order of events ends in one state',
    () => `${JSON.stringify(row)} instead of ${JSON.stringify({ plan, status, subscriptionId })}`,
  );
}

/** The events of a subscription in its order. It is paid late once, and a second one replaces it. */
function storyOf(clubId: Id): ReadEvent[] {
  const about = (at: number, subscription = 'sub_1') => ({
    clubId,
    customer: customerId,
    subscription,
    at: beginning / 1_000 + at,
  });
  const stripeEvents = [
    billingEvents.checkout(about(0)),
    billingEvents.subscription('created', { ...about(0), plan: 'business' }),
    billingEvents.invoice('payment_failed', about(20)),
    billingEvents.invoice('paid', about(30)),
    billingEvents.subscription('updated', { ...about(40), plan: 'professional' }),
    billingEvents.subscription('deleted', { ...about(50), plan: 'professional' }),
    billingEvents.subscription('created', { ...about(60, 'sub_2'), plan: 'business' }),
  ];
  return stripeEvents.flatMap((event, index) => readEvent({ ...event, id: `evt_${index}` }, planOfPriceBy([])) ?? []);
}

const copyOf = (item: LedgerItem | undefined): LedgerItem | undefined => item && { ...item };
