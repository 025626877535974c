/**
 * Deprecated parts of the contract (VER-5): operations, parameters and fields with `x-deprecation`. The rule checks the dates, and adds
 * `deprecated: true` and a sentence for readers.
 */
import {
  isObject,
  methods,
  type ContractDocument,
  type Deprecation,
  type JsonObject,
  type OperationObject,
} from '../openapi.ts';

/** The time from the announcement to the sunset, in months of the calendar. */
const noticeMonths = 6;

/** Keys whose values are data of callers, and not parts of the contract. */
const data: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'const', 'enum']);

/**
 * Completes each deprecated part of the document in place.
 * @throws Error if a date is no day of the calendar, the sunset is less than six months after the announcement, the part has neither
 *   successor nor reason, the successor of an operation does not exist or is deprecated itself, or `deprecated` has no `x-deprecation`
 */
export function completeDeprecations(document: ContractDocument): void {
  const operations = new Map(
    Object.values(document.paths).flatMap((item) =>
      methods.flatMap((method) => (item[method] ? [[item[method].operationId as string, item[method]] as const] : [])),
    ),
  );
  const visit = (part: JsonObject, place: string): void => {
    const deprecation = part['x-deprecation'];
    if (deprecation === undefined && part['deprecated'] === true)
      throw new Error(`${place} is deprecated. Write x-deprecation with since, sunset and successor or reason.`);
    if (deprecation !== undefined) {
      const isOperation = typeof part['operationId'] === 'string';
      requireNotice(deprecation, place);
      if (isOperation) requireSuccessor(deprecation, operations, place);
      part['deprecated'] = true;
      part['description'] = [part['description'], sentenceOf(deprecation)].filter(Boolean).join('\n\n');
    }
    for (const [key, inner] of Object.entries(part))
      if (isObject(inner) && !data.has(key) && key !== 'x-deprecation') visit(inner, `${place}/${key}`);
  };
  visit({ paths: document.paths, webhooks: document.webhooks, components: document.components }, '#');
}

/** Adds months of the calendar to a day. The last day of a shorter month replaces a day that the month lacks. @returns such as 2027-02-28 */
export function addMonths(day: string, months: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const lastDay = new Date(Date.UTC(year, month + months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(date, lastDay))).toISOString().slice(0, 10);
}

/** @returns the first day on which a part that is announced on this day may go */
export const earliestSunset = (since: string): string => addMonths(since, noticeMonths);

function requireNotice(value: unknown, place: string): asserts value is Deprecation {
  if (!isObject(value)) throw new Error(`x-deprecation of ${place} must be an object with since and sunset.`);
  const { since, sunset, successor, reason, link } = value;
  for (const [name, day] of Object.entries({ since, sunset }))
    if (!isDay(day)) throw new Error(`x-deprecation of ${place}: ${name} must be a day such as 2027-01-31.`);
  if (String(sunset) < earliestSunset(String(since)))
    throw new Error(`x-deprecation of ${place}: the sunset must be ${earliestSunset(String(since))} or later.`);
  if (![successor, reason].some((text) => typeof text === 'string' && text !== ''))
    throw new Error(`x-deprecation of ${place} needs a successor, or the reason why there is none.`);
  if (link !== undefined && !(typeof link === 'string' && /^https:\/\/[!-;=?-~]+$/.test(link)))
    throw new Error(`x-deprecation of ${place}: link must be an https address.`);
}

function requireSuccessor(
  { successor }: Deprecation,
  operations: ReadonlyMap<string, OperationObject>,
  place: string,
): void {
  if (successor === undefined) return;
  const operation = operations.get(successor);
  if (!operation) throw new Error(`x-deprecation of ${place}: the contract has no operation ${successor}.`);
  if (operation['x-deprecation']) throw new Error(`x-deprecation of ${place}: ${successor} is deprecated itself.`);
}

/** Whether a value is a day that exists, in the form 2027-01-31. */
function isDay(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && addMonths(value, 0) === value;
}

/** @returns what readers learn about a deprecated part */
export function sentenceOf({ since, sunset, successor, reason }: Deprecation): string {
  return [
    `Deprecated since ${since}, and may be removed from ${sunset} on.`,
    successor === undefined ? '' : `Use \`${successor}\` instead.`,
    reason ?? '',
  ]
    .filter(Boolean)
    .join(' ');
}
