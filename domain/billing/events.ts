/** Records the payment processor's events, each event once, and derives the club's plan from all recorded events. */
import { BillingEvent } from '../../entities/billing/billing-event.ts';
import { ClubFeatureChange } from '../../entities/billing/club-feature-change.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { followedOutcomes, type EventOutcome, type PlanName } from '../../entities/billing/values.ts';
import { isOpenClub } from '../open-clubs.ts';
import { recordPresentOverages } from './overages.ts';
import { plans } from './plans.policy.ts';
import { planStateOf, type PlanEvent, type PlanState, type ReadEvent } from './events.policy.ts';

/** Records an event and updates the club's plan. An event that was recorded before changes nothing. */
export async function receiveEvent(db: Database, event: ReadEvent, now: Date): Promise<EventOutcome | undefined> {
  return db.transaction(async (tx) => {
    if (event.customerId === null || !saysSomething(event)) return recordOnce(tx, event, null, 'ignored', now);
    // The events of one customer are processed one after another. So the event that names the club finds all earlier events that were
    // stored without a club.
    await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('billing customer ' || ${event.customerId}, 0))`);
    if (event.priceUnknown) return recordOnce(tx, event, await clubOf(tx, event), 'unknown_price', now);
    const customerClub = await clubOfCustomer(tx, event.customerId);
    const named = await clubNamed(tx, event);
    const clubId = customerClub ?? named;
    if (clubId === undefined) return recordOnce(tx, event, null, 'unknown_club', now);
    if (named !== undefined && named !== clubId) return recordOnce(tx, event, clubId, 'customer_of_another_club', now);
    return follow(tx, clubId, event, now);
  });
}

function saysSomething(event: ReadEvent): boolean {
  return event.status !== null || event.priceUnknown || event.subscriptionId !== null;
}

/** Adds the event to the club's events, together with earlier events of the customer that were stored without a club. */
async function follow(tx: Transaction, clubId: Id, event: ReadEvent, now: Date): Promise<EventOutcome | undefined> {
  const club = await tx.one<{ openingPlan: PlanName }>(
    sql`SELECT opening_plan AS "openingPlan" FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`,
  );
  if (!club) throw new Error(`Club ${clubId} of event ${event.id} does not exist`);
  const before = planStateOf(await eventsOf(tx, clubId), club.openingPlan);
  const recorded = await recordOnce(tx, event, clubId, 'outdated', now);
  if (recorded === undefined) return undefined;
  await tx.manager.update(
    BillingEvent,
    { customerId: event.customerId, outcome: 'unknown_club' },
    { clubId, outcome: 'applied' },
  );
  const after = planStateOf(await eventsOf(tx, clubId), club.openingPlan);
  await savePlan(tx, clubId, after);
  if (JSON.stringify(before) === JSON.stringify(after)) return 'outdated';
  await tx.manager.update(BillingEvent, { id: event.id }, { outcome: 'applied' });
  await recordPresentOverages(tx, clubId, now);
  await noteFeatures(tx, clubId, before.plan, after.plan, now);
  return 'applied';
}

/** Records that the features of a club have changed, so that upkeep adjusts its data (MED-10). */
async function noteFeatures(tx: Transaction, clubId: Id, before: PlanName, after: PlanName, now: Date): Promise<void> {
  if (String(plans[before].features) === String(plans[after].features)) return;
  await tx.manager.upsert(ClubFeatureChange, { clubId, changedAt: now }, ['clubId']);
}

async function clubOf(tx: Transaction, event: ReadEvent): Promise<Id | null> {
  return (await clubOfCustomer(tx, event.customerId)) ?? (await clubNamed(tx, event)) ?? null;
}

/** Finds the club of a customer in an earlier event that names both the customer and the club. */
async function clubOfCustomer(tx: Transaction, customerId: string | null): Promise<Id | undefined> {
  const row = await tx.one<
    Pick<BillingEvent, 'clubId'>
  >(sql`SELECT ${columns(BillingEvent, ['clubId'])} FROM billing_events
      WHERE customer_id = ${customerId} AND club_id IS NOT NULL AND outcome = ANY (${followedOutcomes})
        AND ${isOpenClub(sql`club_id`)} LIMIT 1`);
  return row?.clubId ?? undefined;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An event of another environment may name a club that does not exist in this database. */
async function clubNamed(tx: Transaction, { namedClub }: ReadEvent): Promise<Id | undefined> {
  if (namedClub === null || !uuid.test(namedClub)) return undefined;
  const club = await tx.one<{ id: Id }>(sql`SELECT id FROM clubs WHERE id = ${namedClub} AND erasing_at IS NULL`);
  return club?.id;
}

/** @returns the outcome, or undefined if the event was recorded before */
async function recordOnce(
  tx: Transaction,
  event: ReadEvent,
  clubId: Id | null,
  outcome: EventOutcome,
  now: Date,
): Promise<EventOutcome | undefined> {
  const recorded =
    await tx.one(sql`INSERT INTO billing_events (id, club_id, type, created, received_at, customer_id, subscription_id, plan, status, current_period_end, currency, invoice_id, outcome)
     VALUES (${event.id}, ${clubId}, ${event.type}, ${event.created}, ${now}, ${event.customerId}, ${event.subscriptionId}, ${event.plan}, ${event.status}, ${event.currentPeriodEnd}, ${event.currency}, ${event.invoiceId}, ${outcome}) ON CONFLICT (id) DO NOTHING RETURNING 1`);
  return recorded === undefined ? undefined : outcome;
}

const planEventColumns = columns(BillingEvent, [
  'id',
  'type',
  'created',
  'customerId',
  'subscriptionId',
  'plan',
  'status',
  'currentPeriodEnd',
  'currency',
]);

function eventsOf(tx: Transaction, clubId: Id): Promise<PlanEvent[]> {
  return tx.rows<PlanEvent>(
    sql`SELECT ${planEventColumns} FROM billing_events WHERE club_id = ${clubId} AND outcome = ANY (${followedOutcomes})`,
  );
}

async function savePlan(tx: Transaction, clubId: Id, state: PlanState): Promise<void> {
  await tx.run(sql`INSERT INTO club_plans (club_id, plan, status, customer_id, subscription_id, current_period_end, currency, changed_at)
     VALUES (${clubId}, ${state.plan}, ${state.status}, ${state.customerId}, ${state.subscriptionId}, ${state.currentPeriodEnd}, ${state.currency}, ${state.changedAt})
     ON CONFLICT (club_id) DO UPDATE SET plan = excluded.plan, status = excluded.status, customer_id = excluded.customer_id,
       subscription_id = excluded.subscription_id, current_period_end = excluded.current_period_end,
       currency = excluded.currency, changed_at = excluded.changed_at`);
}
