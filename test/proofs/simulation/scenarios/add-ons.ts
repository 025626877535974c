/** Add-ons: a payment processor whose answers get lost, bought by requests that die, and settled by runs. */
import { buyAddOn } from '../../../../domain/billing/add-ons.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { ChargeOutcome, PaymentProcessor } from '../../../../platform/infra/payments.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';

/** What the processor does with the next charges: `silent` charges, and its answer is lost. */
type Mood = 'pays' | 'declines' | 'away' | 'silent';

export async function addOns(sim: Simulation, ground: Footing): Promise<Stage> {
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(
    `INSERT INTO club_plans (club_id, plan, status, customer_id) VALUES ($1, 'professional', 'active', 'cus_1')`,
    [clubId],
  );
  let mood: Mood = 'pays';
  const charges = new Map<Id, ChargeOutcome>();
  /** Purchases whose request was answered, with what it said. */
  const said = new Map<Id, string>();
  const now = () => new Date(sim.time.now);

  const processor: PaymentProcessor = {
    paymentMethodOf: () => sim.outside('payment method', () => 'pm_card'),
    async charge({ addOnId }) {
      const answer = await sim.outside(`charge ${addOnId}`, (): ChargeOutcome => {
        if (mood === 'away') return { result: 'unknown', code: 'away' };
        const first =
          charges.get(addOnId) ??
          (mood === 'declines' ? { result: 'declined' } : { result: 'paid', paymentId: `pi_${addOnId}` });
        charges.set(addOnId, first); // the key: a repeated call gets the first answer
        return mood === 'silent' ? { result: 'unknown', code: 'timeout' } : first;
      });
      return answer;
    },
    async findCharge(_customer, addOnId) {
      const found = await sim.outside(`find charge ${addOnId}`, () =>
        mood === 'away' ? 'away' : charges.get(addOnId),
      );
      if (found === 'away') throw new Error('The processor is away');
      return found?.result === 'paid' ? found : undefined;
    },
    paidSince: async function* () {},
  };

  const turn = (next: Mood): Command => ({
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
      if (which > 3) return turn((['pays', 'declines', 'away', 'silent'] as const)[which - 4] ?? 'pays');
      return {
        label: 'buy an add-on',
        async run() {
          const id = newId();
          const again = decisions.choose(4) === 3 ? 2 : 1;
          for (let time = 1; time <= again; time++) {
            const bought = await buyAddOn(
              { db: sim.db, processor },
              clubId,
              { id, kind: 'storage', quantity: 1 },
              now(),
            );
            said.set(id, bought.status);
          }
        },
      };
    },
    calm: () => [turn('pays')],
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; paymentId: string | null }>(
        `SELECT id, status, payment_id AS "paymentId" FROM add_ons`,
      );
      for (const { id, status, paymentId } of rows) {
        const charge = charges.get(id);
        mustHold(status !== 'pending', 'everything ends', () => `add-on ${id} is pending`);
        mustHold(
          (status === 'active') === (charge?.result === 'paid'),
          'what is recorded has happened',
          () => `add-on ${id} is ${status}, its charge ${charge?.result ?? 'was never made'}`,
        );
        mustHold(
          status !== 'active' || paymentId === `pi_${id}`,
          'what is recorded has happened',
          () => `add-on ${id} names payment ${paymentId}`,
        );
      }
      for (const id of charges.keys())
        mustHold(
          rows.some((row) => row.id === id),
          'what has happened is recorded',
          () => `charge ${id} has no add-on`,
        );
      for (const id of said.keys())
        mustHold(
          rows.some((row) => row.id === id),
          'what was answered is kept',
          () => `add-on ${id} was answered and is gone`,
        );
    },
  };
}
