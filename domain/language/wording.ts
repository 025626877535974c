/**
 * Words for people: messages with values, dates and numbers in a language. The functions are pure, so that workers and pages share them.
 */
import { isPluralElement, isSelectElement, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { IntlMessageFormat } from 'intl-messageformat';
import { zoneHere } from '../../platform/core/time/time-zones.ts';
import { isolated, type Direction } from './bidi.policy.ts';
import { catalogues, directionOf, type OfferedLanguage } from './languages.ts';
import type { MessageArguments, MessageKey } from './arguments.ts';

/** A message without arguments takes no values. */
type ArgumentsOf<Key extends MessageKey> = Key extends MessageKey
  ? keyof MessageArguments[Key] extends never
    ? []
    : [values: MessageArguments[Key]]
  : never;

export interface Wording {
  readonly language: OfferedLanguage;
  readonly direction: Direction;
  /** @returns the message as plain text. Values in the other writing direction do not change the order of its words */
  say<Key extends MessageKey>(key: Key, ...values: ArgumentsOf<Key>): string;
  /** @returns a day such as `2 March 2026`, in the time zone (an IANA name) */
  day(at: Date, timeZone: string): string;
  /**
   * @returns a time such as `Monday 2 March 2026 at 09:00 (Central European Time)`. If the hour occurs twice because of a clock change, the
   * offset from UTC distinguishes the two.
   */
  moment(at: Date, timeZone: string): string;
  /** @returns a time such as `2 March at 09:00`, for lists that name the zone once; the offset is added if the hour occurs twice */
  shortMoment(at: Date, timeZone: string): string;
  /** @returns a name such as `Central European Time`, or the IANA name if the language has no name for the zone */
  zone(at: Date, timeZone: string): string;
}

/** Tags in messages are plain text, and not elements. */
const asText = { ignoreTag: true } as const;

const wordings = new Map<OfferedLanguage, Wording>();

export function wordingIn(language: OfferedLanguage): Wording {
  let wording = wordings.get(language);
  if (!wording) wordings.set(language, (wording = createWording(language)));
  return wording;
}

/** Fills in one message of a catalogue. */
type Formatter<Key extends string> = (key: Key, values: Readonly<Record<string, string | number>>) => string;

/**
 * @param messages the messages in ICU syntax
 * @returns a function that fills in the messages by the rules of the language. Values in the other writing direction do not change the
 * order of the words
 */
export function formatterOf<Key extends string>(
  messages: Readonly<Record<Key, string>>,
  language: OfferedLanguage,
): Formatter<Key> {
  const direction = directionOf(language);
  const formats = new Map<Key, Format>();
  const formatOf = (key: Key) => {
    let format = formats.get(key);
    if (!format) formats.set(key, (format = formatFor(messages[key], localeOf(language))));
    return format;
  };
  return (key, values) => {
    const { format, selectors } = formatOf(key);
    const filled = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' && !selectors.has(name) ? isolated(value, direction) : value,
    ]);
    return String(format.format(Object.fromEntries(filled)));
  };
}

/** @returns the locale in which dates and numbers are written */
function localeOf(language: OfferedLanguage): string {
  const catalogue: { messages: unknown; locale?: string } = catalogues[language];
  return catalogue.locale ?? language;
}

function createWording(language: OfferedLanguage): Wording {
  const locale = localeOf(language);
  const format = formatterOf<MessageKey>(catalogues[language].messages, language);
  const wording: Wording = {
    language,
    direction: directionOf(language),
    say: (key, ...[values = {}]) => format(key, values),
    day: (at, timeZone) => dates(locale, timeZone, { dateStyle: 'long' }).format(at),
    zone: (at, timeZone) => zoneName(locale, timeZone, at),
    moment(at, timeZone) {
      const day = dates(locale, timeZone, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
      const time = dates(locale, timeZone, { hour: '2-digit', minute: '2-digit' });
      const name = zoneName(locale, timeZone, at);
      const offset = offsetIfTwice(locale, timeZone, at);
      const zone = offset === undefined ? name : wording.say('time.zone_with_offset', { zone: name, offset });
      return wording.say('time.moment', { day: day.format(at), time: time.format(at), zone });
    },
    shortMoment(at, timeZone) {
      const date = dates(locale, timeZone, { day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit' });
      const offset = offsetIfTwice(locale, timeZone, at);
      return offset === undefined ? date.format(at) : `${date.format(at)} (${offset})`;
    },
  };
  return wording;
}

interface Format {
  format: IntlMessageFormat;
  /** Arguments that only choose a variant of the message, and are never shown. */
  selectors: ReadonlySet<string>;
}

function formatFor(message: string, locale: string): Format {
  const format = new IntlMessageFormat(message, locale, undefined, asText);
  return { format, selectors: new Set(selectorsIn(format.getAst())) };
}

function selectorsIn(elements: readonly MessageFormatElement[]): string[] {
  return elements.flatMap((element) => {
    if (!isSelectElement(element) && !isPluralElement(element)) return [];
    const inside = Object.values(element.options).flatMap(({ value }) => selectorsIn(value));
    return isSelectElement(element) ? [element.value, ...inside] : inside;
  });
}

/** Creating a format is slow. All clubs together use only a few dozen of the about 400 time zones. */
const dateFormats = new Map<string, Intl.DateTimeFormat>();

function dates(locale: string, timeZone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${timeZone} ${Object.entries(options).join(' ')}`;
  let format = dateFormats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat(locale, { ...options, timeZone: zoneHere(timeZone) });
    dateFormats.set(key, format);
  }
  return format;
}

/** @returns a name such as `Central European Time`; the IANA name if the language has no name for the zone */
function zoneName(locale: string, timeZone: string, at: Date): string {
  const zone = zoneHere(timeZone);
  // Near a clock change, the name of the zone would also contain the country.
  const january = new Date(Date.UTC(at.getUTCFullYear(), 0, 15));
  const generic = partOf(dates(locale, zone, { timeZoneName: 'longGeneric' }), january);
  return /\d/.test(generic) ? zone : generic;
}

/** @returns an offset such as `GMT+2`, if the clocks show this time twice */
function offsetIfTwice(locale: string, timeZone: string, at: Date): string | undefined {
  const zone = zoneHere(timeZone);
  return occursTwice(at, zone) ? partOf(dates(locale, zone, { timeZoneName: 'shortOffset' }), at) : undefined;
}

const partOf = (format: Intl.DateTimeFormat, at: Date) =>
  format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';

/** The clocks of a zone are set back by at most three hours: by two hours in Antarctica/Troll, and usually by half an hour or one hour. */
const setBackMinutes = [30, 60, 120, 180] as const;

/** True for times that occur twice, because the clocks are set back. */
function occursTwice(at: Date, zone: string): boolean {
  const clock = dates('en-GB', zone, { dateStyle: 'short', timeStyle: 'short' });
  const clockTime = clock.format(at);
  return setBackMinutes.some((minutes) =>
    [-minutes, minutes].some((shift) => clock.format(new Date(at.getTime() + shift * 60_000)) === clockTime),
  );
}
