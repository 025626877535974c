/** A payment processor without a network, for tests of the code that calls it. */
import type { ChargeOutcome, PaymentProcessor } from '../../../platform/infra/payments.ts';

/** @param outcomes the outcomes of the first charges, in order. All later charges are paid */
export function fakePaymentProcessor(outcomes: readonly ChargeOutcome[]): PaymentProcessor {
  const remainingOutcomes = [...outcomes];
  return {
    paymentMethodOf: () => Promise.resolve('pm_card'),
    findCharge: () => Promise.resolve(undefined),
    paidSince: async function* () {},
    charge: ({ addOnId }) =>
      Promise.resolve(remainingOutcomes.shift() ?? { result: 'paid', paymentId: `pi_${addOnId}` }),
  };
}
