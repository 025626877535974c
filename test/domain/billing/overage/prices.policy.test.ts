import { expect } from 'chai';
import * as iso4217 from 'dinero.js/currencies';
import {
  chargeLeaseSeconds,
  chargesForMs,
  keyLastsMs,
  waitAfterOverageCharge,
  waitsForInvoiceMs,
} from '../../../../domain/billing/overage/charging.policy.ts';
import {
  packPrices,
  packsOf,
  planWithPrices,
  pricedCurrencies,
  priceOfPacks,
} from '../../../../domain/billing/overage/prices.policy.ts';
import { plans } from '../../../../domain/billing/plans.policy.ts';
import { billedResources, planNames } from '../../../../entities/billing/values.ts';

const hour = 3_600_000;

describe('the price of overage (BILL-9)', () => {
  it('counts each begun pack of 100 students or 100 GB as a whole pack', () => {
    const packs = [0, 1, 100, 101, 250].map((excess) => packsOf('students', excess));
    expect(packs).to.deep.equal([0, 1, 1, 2, 3]);
    const gigabyte = 1_000_000_000;
    const ofStorage = [1, 100 * gigabyte, 100 * gigabyte + 1].map((excess) => packsOf('storage_bytes', excess));
    expect(ofStorage).to.deep.equal([1, 1, 2]);
  });

  it('is the number of packs times the price of the currency, in its smallest unit', () => {
    const amounts = pricedCurrencies.map((currency) => [
      priceOfPacks('business', 'students', currency, 3),
      priceOfPacks('business', 'storage_bytes', currency, 3),
    ]);
    expect(Object.fromEntries(pricedCurrencies.map((currency, place) => [currency, amounts[place]]))).to.deep.equal({
      usd: [3_000, 1_500],
      eur: [3_000, 1_500],
      gbp: [2_700, 1_350],
      brl: [16_500, 8_250],
      jpy: [4_500, 2_250],
    });
  });

  it('is missing for a currency without a price', () => {
    const codes = ['sek', 'USD', '', 'toString'];
    expect(codes.map((code) => priceOfPacks('business', 'students', code, 1))).to.deep.equal(
      codes.map(() => undefined),
    );
  });

  it('exists for each plan and resource with billed overage, and for no other', () => {
    const billing = planNames.filter((plan) =>
      billedResources.some((resource) => plans[plan].allowances[resource].overage === 'billed'),
    );
    expect(Object.keys(packPrices)).to.deep.equal(billing);
  });

  it('uses only currencies of ISO 4217', () => {
    const codes = pricedCurrencies.map((currency) => currency.toUpperCase());
    expect(codes.filter((code) => !Object.hasOwn(iso4217, code))).to.deep.equal([]);
  });

  it('is the price of the business plan for an overage without a plan, or of a plan without prices', () => {
    expect([null, ...planNames].map((plan) => planWithPrices(plan))).to.deep.equal(Array(5).fill('business'));
  });
});

describe('a charge for overage', () => {
  it('is tried again after 5 and 30 s, 2, 10 and 30 min, then each hour', () => {
    const seconds = [0, 1, 2, 3, 4, 5, 6, 7].map(
      (attempts) => waitAfterOverageCharge(attempts, 'processor_unreachable') / 1_000,
    );
    expect(seconds).to.deep.equal([5, 5, 30, 120, 600, 1_800, 3_600, 3_600]);
  });

  it('is tried each day if only a person can help', () => {
    const waits = (
      ['not_configured', 'currency_without_price', 'amount_too_large', 'refused_by_processor'] as const
    ).map((reason) => waitAfterOverageCharge(1, reason));
    expect(new Set(waits)).to.deep.equal(new Set([24 * hour]));
  });

  it('uses a key for less than the 24 hours of the processor, and is tried for 60 days', () => {
    expect([keyLastsMs, chargesForMs, waitsForInvoiceMs]).to.deep.equal([23 * hour, 1_440 * hour, 840 * hour]);
    expect(chargeLeaseSeconds).to.equal(120);
  });
});
