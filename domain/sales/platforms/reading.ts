/** Reads a notice field by field. If a field is missing or has the wrong type, the notice is refused with the field's path. */
import { isoMoment } from '../../../platform/core/time/iso-time.policy.ts';
import { hasVisible, holdsWebAddress, tidyName } from '../../../platform/core/text/text.policy.ts';
import { isStorableText } from '../../../platform/core/text/storable-text.ts';
import { readAddress } from '../notices/addresses.policy.ts';
import { decimalsOf, smallestUnits } from './currencies.policy.ts';
import type { Buyer } from './events.ts';
import { NoticeRefusal } from '../notices/refusal.ts';

/** A field of the body. `null` and an empty text count as absent. */
export interface Field {
  exists: boolean;
  /** All names from the root of the body to the field, joined by dots. */
  path: string;
  at: (...names: string[]) => Field;
  /** @returns a text; a number becomes a text, because platforms change the type of their ids */
  id: () => string;
  text: () => string;
  /** @returns the text unchanged; undefined if the field is not a text */
  stated: () => string | undefined;
  /** @returns the number. A text is refused, because its unit is unknown */
  number: () => number;
  /** @returns the amount as digits with or without a point, such as `149.5`. The field may be a number or a text */
  decimal: () => string;
  /**
   * @param zone the offset of times that state no offset, such as `-03:00`
   * @returns the time, from ISO 8601 or from milliseconds since 1970
   */
  time: (zone?: string) => Date;
  /** @returns the case-folded address, if the contract accepts it */
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
  const number = (): number => (typeof value === 'number' && Number.isFinite(value) ? value : refuse());
  const decimal = (): string => {
    // Exponent notation is refused: very small and very large numbers are not amounts.
    const digits = typeof value === 'number' && value < 1e15 && value >= 0 ? plainDecimal(value) : value;
    return typeof digits === 'string' && digits.length <= longestId && /^\d+(\.\d+)?$/.test(digits) ? digits : refuse();
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
    stated: () => (typeof value === 'string' ? value : undefined),
    number,
    decimal,
    time(zone = 'Z') {
      const ms =
        typeof value === 'string' ? (allDigits.test(value) ? Number(value) : isoMoment(value.trim(), zone)) : number();
      return ms >= earliest && ms < latest ? new Date(ms) : refuse();
    },
    email: () => readAddress(text(longestText)) ?? refuse(),
  };
}

const allDigits = /^\d+$/;

/** @returns whether the field exists and is a text */
export function isText(body: unknown, path: readonly string[]): boolean {
  try {
    return (
      readNotice(body)
        .at(...path)
        .stated() !== undefined
    );
  } catch (error) {
    if (error instanceof NoticeRefusal) return false;
    throw error;
  }
}

/** @returns the first readable id */
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

/** @param name may be absent. An unreadable name is repaired, or replaced by the part of the address before the @ */
export function buyerOf(email: Field, name: Field): Buyer {
  const address = email.email();
  return { email: address, name: readName(name.stated() ?? '') ?? nameOfAddress(address) };
}

/**
 * @returns the visible text without characters that cannot be stored or shown; undefined if no text is left, or if the text is a web
 * address
 */
function readName(text: string): string | undefined {
  // Shortens the text first, so that a text of a megabyte takes no more time than a normal name.
  const storable = text
    .slice(0, longestText)
    .replace(/[\p{Cs}\p{Bidi_Control}]/gu, '')
    .replace(/\p{Cc}/gu, ' ');
  const name = tidyName(storable).slice(0, longestName).trim();
  const repaired = isStorableText(name) ? name : name.slice(0, -1);
  return hasVisible(repaired) && !holdsWebAddress(repaired) ? repaired : undefined;
}

function nameOfAddress(address: string): string {
  const name = (address.split('@')[0] ?? address).slice(0, longestName);
  return holdsWebAddress(name) ? name.replaceAll('.', ' ').trim() : name;
}

/** @returns the currency's code in ISO 4217 @throws NoticeRefusal unknown_currency */
export function currencyOf(field: Field): string {
  const code = field.text().toUpperCase();
  if (decimalsOf(code) === undefined) throw new NoticeRefusal('unknown_currency', field.path);
  return code;
}

/** @returns whole smallest units @throws NoticeRefusal bad_shape (also for a text) */
export function smallestUnitsOf(field: Field): number {
  const amount = field.number();
  if (!Number.isSafeInteger(amount) || amount < 0) throw new NoticeRefusal('bad_shape', field.path);
  return amount;
}

/** @param field the amount with decimals, such as 149.5 @returns the amount in smallest units of the currency, such as 14950 */
export function smallestUnitsFromDecimal(field: Field, currency: string): number {
  const amount = Number(smallestUnits(field.decimal(), decimalsOf(currency) ?? 2));
  if (!Number.isSafeInteger(amount)) throw new NoticeRefusal('bad_shape', field.path);
  return amount;
}

function plainDecimal(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20) : text;
}
