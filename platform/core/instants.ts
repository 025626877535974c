/** Times as callers write them. */
import { DomainError } from './errors.ts';

/** Four digits must hold the year, also after a delivery has added its `access_days`: 100 years at most. */
const years = { first: 1, last: 9_899 };

/**
 * @param text a date-time that the contract has let pass
 * @param field where it stands in the request, for the message
 * @throws DomainError invalid_request for a day that the month lacks, for a leap second, and for a year outside 1 to 9899 (UTC)
 */
export function instantOf(text: string, field: string): Date {
  const [day, instant] = [new Date(text.slice(0, 10)), new Date(text)];
  if (Number.isNaN(instant.getTime()) || !day.toISOString().startsWith(text.slice(0, 10)))
    throw new DomainError('invalid_request', `\`${field}\` must be a time that exists.`);
  const year = instant.getUTCFullYear();
  if (year < years.first || year > years.last)
    throw new DomainError('invalid_request', `\`${field}\` must be in a year from ${years.first} to ${years.last}.`);
  return instant;
}

/** The same for one that may be absent. */
export function optionalInstant(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : instantOf(text, field);
}

/** What a change says of a time that may be absent. @returns undefined where it stays, null where the empty text takes it away */
export function changedInstant(text: string | undefined, field: string): Date | null | undefined {
  return text === '' ? null : optionalInstant(text, field);
}
