/** A payment processor without a network, for tests that are about what surrounds it. */
import type { ChargeOutcome, PaymentProcessor } from '../../../platform/infra/payments.ts';

/** @param outcomes of its charges, one after another; then all are paid */
export function fakePaymentProcessor(outcomes: readonly ChargeOutcome[]): PaymentProcessor {
  const left = [...outcomes];
  return {
    paymentMethodOf: () => Promise.resolve('pm_card'),
    findCharge: () => Promise.resolve(undefined),
    paidSince: async function* () {},
    charge: ({ addOnId }) => Promise.resolve(left.shift() ?? { result: 'paid', paymentId: `pi_${addOnId}` }),
  };
}
