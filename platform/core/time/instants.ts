/** Parses times in requests of callers. */
import { DomainError } from '../errors.ts';

/**
 * @param text a date and time that passed the contract's check; this check also limits the year
 * @throws DomainError invalid_request for a day that does not exist in its month
 */
export function instantOf(text: string, field: string): Date {
  const [day, instant] = [new Date(text.slice(0, 10)), new Date(text.toUpperCase())];
  if (Number.isNaN(instant.getTime()) || !day.toISOString().startsWith(text.slice(0, 10)))
    throw new DomainError('invalid_request', `\`${field}\` must be a time that exists.`);
  return instant;
}

export function optionalInstant(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : instantOf(text, field);
}

/** @returns undefined if the time does not change, null if an empty text removes it */
export function changedInstant(text: string | undefined, field: string): Date | null | undefined {
  return text === '' ? null : optionalInstant(text, field);
}
