/** Times as callers write them. */
import { DomainError } from './errors.ts';

/**
 * @param text a date-time that the contract has let pass: its year is bounded there
 * @param field where it stands in the request, for the message
 * @throws DomainError invalid_request for a day that the month lacks
 */
export function instantOf(text: string, field: string): Date {
  const [day, instant] = [new Date(text.slice(0, 10)), new Date(text.toUpperCase())];
  if (Number.isNaN(instant.getTime()) || !day.toISOString().startsWith(text.slice(0, 10)))
    throw new DomainError('invalid_request', `\`${field}\` must be a time that exists.`);
  return instant;
}

/** The same for one that may be absent. */
export function optionalInstant(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : instantOf(text, field);
}

/** A change of a time that may be absent. @returns undefined where the time stays, null where the empty text removes it */
export function changedInstant(text: string | undefined, field: string): Date | null | undefined {
  return text === '' ? null : optionalInstant(text, field);
}
