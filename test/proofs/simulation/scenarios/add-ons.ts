/**
 * The scenario of add-ons. Requests buy add-ons, and some requests die. A payment processor loses answers. Workflow runs settle the
 * charges.
 */
import { buyAddOn } from '../../../../domain/billing/add-ons.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { ChargeOutcome, PaymentProcessor } from '../../../../platform/infra/payments.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';

/** How the processor reacts to the next charges. A `silent` processor makes the charge, but its answer is lost. */
type Mood = 'pays' | 'declines' | 'away' | 'silent';

export async function addOns(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(
    `INSERT INTO club_plans (club_id, plan, status, customer_id) VALUES ($1, 'professional', 'active', 'cus_1')`,
    [clubId],
  );
  let mood: Mood = 'pays';
  const charges = new Map<Id, ChargeOutcome>();
  /** The status of each purchase in the answer to its buyer. Purchases without an answer are missing. */
  const answeredStatuses = new Map<Id, string>();
  const now = () => new Date(sim.time.now);

  const processor: PaymentProcessor = {
    paymentMethodOf: () => sim.outside('payment method', () => 'pm_card'),
    async charge({ addOnId }) {
      const answer = await sim.outside(`charge ${addOnId}`, (): ChargeOutcome => {
        if (mood === 'away') return { result: 'unknown', code: 'away' };
        const first =
          charges.get(addOnId) ??
          (mood === 'declines' ? { result: 'declined' } : { result: 'paid', paymentId: `pi_${addOnId}` });
        charges.set(addOnId, first); // the charges by key: a repeated call gets the answer to the first call
        return mood === 'silent' ? { result: 'unknown', code: 'timeout' } : first;
      });
      return answer;
    },
    async findCharge(_customer, addOnId) {
      const charge = await sim.outside(`find charge ${addOnId}`, () =>
        mood === 'away' ? 'away' : charges.get(addOnId),
      );
      if (charge === 'away') throw new Error('The processor is away');
      return charge?.result === 'paid' ? charge : undefined;
    },
    paidSince: async function* () {},
  };

  const setMood = (next: Mood): Command => ({
    label: `the processor ${next}`,
    run() {
      mood = next;
    },
  });

  return {
    types: ['addOn'],
    horizonMs: 3 * 86_400_000,
    depsFor: (db) => ({ addOns: { db, processor } }),
    command(decisions) {
      const which = decisions.choose(8);
      if (which > 3) return setMood((['pays', 'declines', 'away', 'silent'] as const)[which - 4] ?? 'pays');
      return {
        label: 'buy an add-on',
        async run() {
          const id = newId();
          const again = decisions.choose(4) === 3 ? 2 : 1;
          for (let time = 1; time <= again; time++) {
            const purchase = await buyAddOn(
              { db: sim.db, processor },
              clubId,
              { id, kind: 'storage', quantity: 1 },
              now(),
            );
            answeredStatuses.set(id, purchase.status);
          }
        },
      };
    },
    calm: () => [setMood('pays')],
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; paymentId: string | null }>(
        `SELECT id, status, payment_id AS "paymentId" FROM add_ons`,
      );
      for (const { id, status, paymentId } of rows) {
        const charge = charges.get(id);
        mustHold(status !== 'pending', 'all work ends', () => `add-on ${id} is pending`);
        mustHold(
          (status === 'active') === (charge?.result === 'paid'),
          'a recorded effect has happened',
          () => `add-on ${id} is ${status}, the result of its charge is ${charge?.result ?? 'missing'}`,
        );
        mustHold(
          status !== 'active' || paymentId === `pi_${id}`,
          'a recorded effect has happened',
          () => `add-on ${id} names payment ${paymentId}`,
        );
      }
      for (const id of charges.keys())
        mustHold(
          rows.some((row) => row.id === id),
          'an effect that happened is recorded',
          () => `charge ${id} has no add-on`,
        );
      for (const id of answeredStatuses.keys())
        mustHold(
          rows.some((row) => row.id === id),
          'an acknowledged change remains',
          () => `add-on ${id} was answered and is gone`,
        );
    },
  };
}
