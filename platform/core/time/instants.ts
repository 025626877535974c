/** Parses times in requests of callers. */
import { DomainError } from '../errors.ts';

/**
 * @param text a date and time that passed the contract's check; this check also limits the year
 * @param field the name of the field in the request, for the message
 * @throws DomainError invalid_request for a day that does not exist in its month
 */
export function instantOf(text: string, field: string): Date {
  const [day, instant] = [new Date(text.slice(0, 10)), new Date(text.toUpperCase())];
  if (Number.isNaN(instant.getTime()) || !day.toISOString().startsWith(text.slice(0, 10)))
    throw new DomainError('invalid_request', `\`${field}\` must be a time that exists.`);
  return instant;
}

/** Reads a time that may be absent; see {@link instantOf}. */
export function optionalInstant(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : instantOf(text, field);
}

/**
 * Reads a change of a time that may be absent.
 * @returns the new time; undefined if the time does not change, null if an empty text removes the time
 */
export function changedInstant(text: string | undefined, field: string): Date | null | undefined {
  return text === '' ? null : optionalInstant(text, field);
}
