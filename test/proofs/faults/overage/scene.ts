/** The clubs of `faults overage`, and the events that the payment processor posts about them. */
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import type { DataSource } from 'typeorm';
import { packPrices, packsOf } from '../../../../domain/billing/overage/prices.policy.ts';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import type { StripeServer } from '../../../toolkit/fakes/stripe-server.ts';
import { billingEvents, unixNow, type TestEvent } from '../../../toolkit/builders/billing-events.ts';
import { buildRecipients } from '../mail/recipients.ts';
import type { ExpectedClub } from './tally.ts';

export interface BilledClub extends ExpectedClub {
  customer: string;
  subscription: string;
}

/** @returns the first days of the last months before the current month, the oldest first, by the clock in UTC */
export function lastMonths(count: number): { months: string[]; firstTurn: Date } {
  const now = new Date();
  const first = (back: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
  const months = Array.from({ length: count }, (_, place) =>
    first(count - place)
      .toISOString()
      .slice(0, 10),
  );
  return { months, firstTurn: first(count - 1) };
}

/** Builds a club in UTC with 1 to 300 students beyond the allowance of its plan. Every second subscription has ended with its period. */
export async function buildBilledClub(source: DataSource, stripe: StripeServer, number: number): Promise<BilledClub> {
  const { clubId } = await buildRecipients(source, 0);
  const excess = 1 + ((number * 37) % 300);
  await source.query(`UPDATE clubs SET time_zone = 'UTC' WHERE id = $1`, [clubId]);
  await source.query(
    `INSERT INTO club_student_counts (club_id, students) VALUES ($1, $2)
     ON CONFLICT (club_id) DO UPDATE SET students = excluded.students`,
    [clubId, plans.business.allowances.students.included + excess],
  );
  const [customer, subscription] = [`cus_${number}`, `sub_${number}`];
  const endsWithPeriod = number % 2 === 0;
  const periodEnd = unixNow() + 9 * 86_400;
  stripe.subscriptions.set(subscription, {
    id: subscription,
    customer,
    status: 'active',
    currency: 'usd',
    periodEnd,
    endsWithPeriod,
  });
  const amount = packsOf('students', excess) * packPrices.business.students.usd;
  return { clubId, customer, subscription, amount, isInvoiced: endsWithPeriod };
}

/** Posts all events of a club in a random order, each of them once or twice, until the API has accepted each. */
export async function postEvents(apiUrl: string, secret: string, club: BilledClub): Promise<void> {
  const { clubId, customer, subscription } = club;
  const about = (at: number) => ({ clubId, customer, subscription, at: unixNow() - 100 + at });
  const events = [
    billingEvents.checkout(about(0)),
    billingEvents.subscription('created', { ...about(0), plan: 'starter' }),
    billingEvents.subscription('updated', { ...about(10), plan: 'business' }),
    billingEvents.invoice('payment_failed', about(20)),
    billingEvents.invoice('paid', about(30)),
  ];
  const repeated = events.flatMap((event) => (Math.random() < 0.5 ? [event] : [event, event]));
  const ranks = new Map(repeated.map((event, place) => [place, [event, Math.random()] as const]));
  const inDisorder = [...ranks.values()].toSorted(([, a], [, b]) => a - b).map(([event]) => event);
  const address = Array.from({ length: 3 }, () => Math.floor(Math.random() * 250)).join('.');
  for (const event of inDisorder) await post(apiUrl, secret, event, `10.${address}`);
}

/** The processor repeats an event until it is accepted, although the API is dead from time to time. */
async function post(apiUrl: string, secret: string, event: TestEvent, address: string): Promise<void> {
  for (;;) {
    const payload = JSON.stringify(event);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: unixNow() });
    try {
      const answer = await fetch(`${apiUrl}/webhooks/billing`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'stripe-signature': signature, 'x-forwarded-for': address },
        body: payload,
        signal: AbortSignal.timeout(10_000),
      });
      await answer.arrayBuffer();
      if (answer.ok) return;
      if (answer.status < 500 && answer.status !== 429) throw new Refusal(`The API refused an event: ${answer.status}`);
    } catch (error) {
      if (error instanceof Refusal) throw error;
    }
    await sleep(300);
  }
}

class Refusal extends Error {
  override name = 'Refusal';
}
