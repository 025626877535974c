/** Currencies by ISO 4217: which codes exist, and how many decimals the smallest unit has (SALE-5). */
import * as iso4217 from 'dinero.js/currencies';

interface Listed {
  base: number;
  exponent: number;
}

const currencies = new Map<string, Listed>(Object.entries(iso4217));

/** @returns decimals by ISO 4217, undefined for a code that it does not list */
export function decimalsOf(code: string): number | undefined {
  const listed = currencies.get(code);
  if (!listed) return undefined;
  // The ouguiya and the ariary have a fifth as their coin; ISO 4217 gives both two decimals.
  return listed.base === 10 ? listed.exponent : 2;
}

/**
 * Decimals that versions up to 0.2.0 used, where they differ: those that CLDR shows. Amounts of platforms that send decimals
 * were stored with these.
 */
export const formerDecimals: Readonly<Record<string, number>> = Object.fromEntries(
  'AFN ALL COP HUF IDR IQD IRR KPW LAK LBP MGA MMK PKR SOS SYP YER'.split(' ').map((code) => [code, 0]),
);

/**
 * @param decimal digits, with or without a point, such as `149.5`
 * @returns smallest units, such as 14950n; digits beyond the smallest unit are rounded, a half upwards
 */
export function smallestUnits(decimal: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  const units = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  return fraction.charAt(decimals) >= '5' ? units + 1n : units;
}
