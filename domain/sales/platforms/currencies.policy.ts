/** The currencies of ISO 4217: their codes, and how many decimals the amounts of each currency have (SALE-5). */
import * as iso4217 from 'dinero.js/currencies';

interface Listed {
  base: number;
  exponent: number;
}

const currencies = new Map<string, Listed>(Object.entries(iso4217));

/** @returns the number of decimals by ISO 4217; undefined for a code that is not listed */
export function decimalsOf(code: string): number | undefined {
  const listed = currencies.get(code);
  if (!listed) return undefined;
  // A coin of the ouguiya or the ariary is a fifth of the unit, but ISO 4217 gives both two decimals.
  return listed.base === 10 ? listed.exponent : 2;
}

/**
 * The currencies for which versions up to 0.2.0 did not use the standard's number of decimals, but the number from CLDR. If a platform
 * sends decimal amounts, the amounts that those versions stored have the number of decimals in this list.
 */
export const formerDecimals: Readonly<Record<string, number>> = Object.fromEntries(
  'AFN ALL COP HUF IDR IQD IRR KPW LAK LBP MGA MMK PKR SOS SYP YER'.split(' ').map((code) => [code, 0]),
);

/**
 * @param decimal the amount as digits, with or without a point, such as `149.5`
 * @returns the amount in smallest units, such as 14950n. If there are more digits, the amount is rounded half up
 */
export function smallestUnits(decimal: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  const units = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return fraction.charAt(decimals) >= '5' ? units + 1n : units;
}
