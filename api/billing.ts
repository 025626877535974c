/** Creates the billing dependencies of the API from its configuration. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { EventOutcome } from '../entities/billing/values.ts';
import { planOfPriceBy, priceOfPlanBy } from '../domain/billing/events.policy.ts';
import { createCheckouts } from '../platform/infra/checkouts.ts';
import { createPaymentProcessor } from '../platform/infra/payments.ts';
import type { Deps } from './operation.ts';

/** An operator should investigate these: the club may have a different plan than it pays for. */
const notFollowed: ReadonlySet<string> = new Set<EventOutcome>([
  'unknown_club',
  'unknown_price',
  'customer_of_another_club',
]);

export function billingOf(
  { stripe, dashboardUrl }: Pick<Config, 'stripe' | 'dashboardUrl'>,
  log: Logger,
): Deps['billing'] {
  return {
    webhookSecret: stripe.webhookSecret,
    planOfPrice: planOfPriceBy(stripe.pricePlans),
    processor: createPaymentProcessor(stripe),
    checkouts: createCheckouts(stripe),
    priceOfPlan: priceOfPlanBy(stripe.pricePlans),
    dashboardUrl,
    onEvent({ id, type, outcome }) {
      const line = { event: id, type, outcome };
      if (notFollowed.has(outcome)) log.warn(line, 'a billing event was not followed');
      else log.info(line, 'a billing event was received');
    },
  };
}
