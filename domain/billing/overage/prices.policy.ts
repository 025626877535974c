/** The prices of overage: packs of a resource, with a price per plan and currency (BILL-9). */
import { dinero, multiply, toSnapshot } from 'dinero.js';
import { BRL, EUR, GBP, JPY, USD } from 'dinero.js/currencies';
import type { BilledResource, PlanName } from '../../../entities/billing/values.ts';
import { addOns } from '../plans.policy.ts';

/** The size of a pack, in the unit of the resource: 100 students, or 100 GB. The packs of add-ons have the same sizes. */
export const packSizes = {
  students: addOns.students.adds,
  storage_bytes: addOns.storage.adds,
} as const satisfies Record<BilledResource, number>;

/** The codes of ISO 4217, in lower case as the payment processor writes them. */
export const pricedCurrencies = ['usd', 'eur', 'gbp', 'brl', 'jpy'] as const;
export type PricedCurrency = (typeof pricedCurrencies)[number];

/** The currencies with the decimals that ISO 4217 defines. */
const currencies = { usd: USD, eur: EUR, gbp: GBP, brl: BRL, jpy: JPY } as const satisfies Record<
  PricedCurrency,
  object
>;

/** In the smallest unit of the currency, which is the unit itself for the yen. */
type PackPrices = Readonly<Record<BilledResource, Readonly<Record<PricedCurrency, number>>>>;

/** The price of a begun pack in one month. A plan without billed overage has no prices. */
export const packPrices = {
  business: {
    students: { usd: 1_000, eur: 1_000, gbp: 900, brl: 5_500, jpy: 1_500 },
    storage_bytes: { usd: 500, eur: 500, gbp: 450, brl: 2_750, jpy: 750 },
  },
} as const satisfies Partial<Record<PlanName, PackPrices>>;

export type PlanWithOverage = keyof typeof packPrices;

/**
 * @param plan the plan of an overage. It is null for an overage of an earlier version, and may have no prices if the plan changed while the
 * excess was recorded
 * @returns the plan whose prices apply: the smallest plan with billed overage if the plan itself has no prices
 */
export function planWithPrices(plan: PlanName | null): PlanWithOverage {
  const plansWithPrices = Object.keys(packPrices) as PlanWithOverage[];
  return plansWithPrices.find((one) => one === plan) ?? 'business';
}

/** The currency of a customer who has never paid. It is also the currency of add-ons. */
export const defaultCurrency = 'usd' satisfies PricedCurrency;

/** The payment processor accepts amounts of at most eight digits. */
export const maxAmount = 99_999_999;

/** @param excess in the unit of the resource @returns the number of begun packs: each begun pack counts as a whole pack */
export function packsOf(resource: BilledResource, excess: number): number {
  return Math.ceil(excess / packSizes[resource]);
}

/**
 * @param currency the code of ISO 4217 in lower case
 * @returns the price in the smallest unit of the currency; undefined if the currency has no price
 */
export function priceOfPacks(
  plan: PlanWithOverage,
  resource: BilledResource,
  currency: string,
  packs: number,
): number | undefined {
  const priced = pricedCurrencies.find((one) => one === currency);
  if (priced === undefined) return undefined;
  const price = dinero({ amount: packPrices[plan][resource][priced], currency: currencies[priced] });
  return toSnapshot(multiply(price, packs)).amount;
}
