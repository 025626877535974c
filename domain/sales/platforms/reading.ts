/** Reading a notice field by field: each is there and of its kind, or the refusal names its path. */
import { tidyName } from '../../../platform/core/text.policy.ts';
import { isStorableText } from '../../../platform/core/storable-text.ts';
import { readAddress } from '../notices/addresses.policy.ts';
import type { Buyer } from './events.ts';
import { NoticeRefusal } from '../notices/refusal.ts';

/** A place in the body. A field that is `null` or an empty text counts as absent. */
export interface Field {
  /** Whether there is anything. */
  exists: boolean;
  /** Names from the body's root, joined by dots. */
  path: string;
  at: (...names: string[]) => Field;
  /** @returns the text, or the number as text: platforms change their minds about ids */
  id: () => string;
  text: () => string;
  /** @returns the number; also from a text of digits */
  number: () => number;
  /** @param zone the offset of times that state none, such as `-03:00` @returns from ISO 8601, or milliseconds since 1970 */
  time: (zone?: string) => Date;
  /** @returns the address, folded: one that the contract would take too */
  email: () => string;
}

const longestId = 200;
const longestText = 1_000;
const longestName = 120;
const earliest = Date.UTC(2000, 0, 1);
const latest = Date.UTC(2200, 0, 1);

/** @param body the parsed notice */
export function readNotice(body: unknown): Field {
  return fieldOf(body, []);
}

function fieldOf(value: unknown, path: readonly string[]): Field {
  const refuse = (): never => {
    throw new NoticeRefusal('bad_shape', path.join('.'));
  };
  const text = (longest: number): string =>
    typeof value === 'string' && value.trim() !== '' && value.length <= longest && isStorableText(value)
      ? value.trim()
      : refuse();
  const number = (): number => {
    const read = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    return typeof read === 'number' && Number.isFinite(read) ? read : refuse();
  };
  const step = (name: string): Field => {
    if (value === undefined || value === null) return fieldOf(undefined, [...path, name]);
    if (typeof value !== 'object' || Array.isArray(value)) return refuse();
    const inner = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    return fieldOf(inner, [...path, name]);
  };
  return {
    exists: value !== undefined && value !== null && value !== '',
    path: path.join('.'),
    at: (...names) =>
      names.reduce(
        (field: Field | undefined, name) => (field === undefined ? step(name) : field.at(name)),
        undefined,
      ) ?? refuse(),
    id: () => (typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : text(longestId)),
    text: () => text(longestText),
    number,
    time(zone = 'Z') {
      const ms = typeof value === 'string' && !allDigits.test(value) ? momentOf(value.trim(), zone) : number();
      return ms >= earliest && ms < latest ? new Date(ms) : refuse();
    },
    email: () => readAddress(text(longestText)) ?? refuse(),
  };
}

const allDigits = /^\d+$/;
const timeShape = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?$/;

/** @returns milliseconds since 1970, NaN for what is no time */
function momentOf(text: string, zone: string): number {
  const shape = timeShape.exec(text);
  if (!shape) return Number.NaN;
  const [, , , , stated] = shape;
  return Date.parse(text.replace(' ', 'T').replace(/ (?=[+\-Z])/, '') + (stated === undefined ? zone : ''));
}

/** @returns the first of these ids that is there and readable */
export function idOf(body: unknown, ...paths: readonly (readonly string[])[]): string | undefined {
  for (const path of paths) {
    try {
      return readNotice(body)
        .at(...path)
        .id();
    } catch (error) {
      if (!(error instanceof NoticeRefusal)) throw error;
    }
  }
  return undefined;
}

/** @param name where the platform states one; else the part of the address before the @ stands for it */
export function buyerOf(email: Field, name: Field): Buyer {
  const address = email.email();
  const stated = name.exists ? tidyName(name.text()) : (address.split('@')[0] ?? address);
  return { email: address, name: stated.slice(0, longestName).trim() };
}

/** @returns the code by ISO 4217, as this runtime knows them @throws NoticeRefusal unknown_currency */
export function currencyOf(field: Field): string {
  const code = field.text().toUpperCase();
  if (!knownCurrencies.has(code)) throw new NoticeRefusal('unknown_currency', field.path);
  return code;
}

const knownCurrencies = new Set(Intl.supportedValuesOf('currency'));

/** @returns whole smallest units @throws NoticeRefusal bad_shape */
export function smallestUnitsOf(field: Field): number {
  const amount = field.number();
  if (!Number.isSafeInteger(amount) || amount < 0) throw new NoticeRefusal('bad_shape', field.path);
  return amount;
}

/** @param field an amount with decimals, such as 149.5 @returns smallest units of the currency, such as 14950 */
export function smallestUnitsFromDecimal(field: Field, currency: string): number {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  const amount = Math.round(field.number() * 10 ** digits);
  if (!Number.isSafeInteger(amount) || amount < 0) throw new NoticeRefusal('bad_shape', field.path);
  return amount;
}
