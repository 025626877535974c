/** Reads fields of JSON whose shape is not known. The functions are pure. */
import { isoMoment } from '../../../../platform/core/time/iso-time.policy.ts';

export type Json = Readonly<Record<string, unknown>>;

/** @returns an empty object for anything that is no object */
export const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** @returns an empty list for anything that is no list */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** @returns an empty text for anything that is no text */
export const wordOf = (value: unknown): string => textOf(value) ?? '';

/** @returns the time of a text in ISO 8601; undefined if the value is no such text */
export function timeOfText(value: unknown): Date | undefined {
  return validTime(new Date(isoMoment(wordOf(value))));
}

/** @returns an id of a provider: at most 200 printable characters of ASCII; undefined for anything else */
export function idIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
}

/** @param value Unix seconds, with or without a fraction, as a number or in digits @returns undefined if the value is no such number */
export function timeOfSeconds(value: unknown): Date | undefined {
  const seconds = typeof value === 'string' && /^\d{1,12}(?:\.\d{1,9})?$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && seconds > 0 ? validTime(new Date(Math.round(seconds * 1_000))) : undefined;
}

const validTime = (time: Date): Date | undefined => (Number.isNaN(time.getTime()) ? undefined : time);

/** @param name in lower case @returns the value of this header in a list of names and values */
export function headerIn(headers: unknown, name: string): string | undefined {
  return textOf(
    listOf(headers)
      .map(objectOf)
      .find((header) => wordOf(header['name']).toLowerCase() === name)?.['value'],
  );
}
