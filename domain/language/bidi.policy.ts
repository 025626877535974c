/**
 * Isolates a value inside a sentence that has the other writing direction. So the value and the sentence do not change each other's order
 * (UAX #9).
 */

const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Samaritan}\p{Script=Mandaic}]/u;
const letterFromLeft =
  /(?![\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}\p{Script=Samaritan}\p{Script=Mandaic}])\p{L}/u;

export type Direction = 'ltr' | 'rtl';

/** FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE, which enclose an isolated value. */
const isolateStart = '\u2068';
const isolateEnd = '\u2069';

/**
 * @param value a text of a person or a club
 * @param direction the direction of the sentence around the text
 * @returns the value, isolated if it has letters of the other direction; otherwise unchanged
 */
export function isolated(value: string, direction: Direction): string {
  const isForeign = (direction === 'ltr' ? rightToLeft : letterFromLeft).test(value);
  return isForeign ? `${isolateStart}${value}${isolateEnd}` : value;
}

/** Matches a value that was inserted as an isolate. Such a value does not affect the direction of the text around it. */
const isolate = /\u2068[^\u2068\u2069]*\u2069/g;

/** @returns the direction of the first letter outside isolates; undefined for a text without letters */
export function directionOfText(text: string): Direction | undefined {
  const [letter] = /\p{L}/u.exec(text.replace(isolate, '')) ?? [];
  if (letter === undefined) return undefined;
  return rightToLeft.test(letter) ? 'rtl' : 'ltr';
}

/** @returns ` dir="…"` if the text has another direction than its document; otherwise an empty text */
export function dirAttribute(text: string, documentDirection: Direction): string {
  const own = directionOfText(text) ?? documentDirection;
  return own === documentDirection ? '' : ` dir="${own}"`;
}
