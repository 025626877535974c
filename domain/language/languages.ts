/** The languages that the service speaks. A new one is a catalogue and a line here (docs/how-to/add-a-language.md). */
import { ar } from './catalogues/ar.ts';
import { de } from './catalogues/de.ts';
import { en } from './catalogues/en.ts';
import { es } from './catalogues/es.ts';
import { ptBR } from './catalogues/pt-br.ts';
import type { MessageKey } from './arguments.ts';
import type { Direction } from './bidi.policy.ts';

/** A text in ICU message syntax for each key. */
export type Catalogue = Readonly<Record<MessageKey, string>>;

/** By BCP 47 tag, in the order in which they are offered. `locale` formats dates and numbers; it is the tag if absent. */
export const catalogues = {
  en: { messages: en, locale: 'en-GB' },
  'pt-BR': { messages: ptBR },
  es: { messages: es },
  de: { messages: de },
  ar: { messages: ar },
} as const satisfies Record<string, { messages: Catalogue; locale?: string }>;

/** BCP 47 tag of a language that has a catalogue. */
export type OfferedLanguage = keyof typeof catalogues;

export const offeredLanguages = Object.keys(catalogues) as readonly OfferedLanguage[];

export const defaultLanguage: OfferedLanguage = 'en';

/** Whether the service speaks a language, by its exact tag. */
export function isOffered(tag: string): tag is OfferedLanguage {
  return Object.hasOwn(catalogues, tag);
}

/**
 * @param tag any text, such as a tag of BCP 47 in any case
 * @returns the offered language that a reader of it understands: the same one, or one with the same main language
 */
export function nearestLanguage(tag: string): OfferedLanguage | undefined {
  const wanted = tag.toLowerCase();
  const [main] = wanted.split('-');
  return (
    offeredLanguages.find((offered) => offered.toLowerCase() === wanted) ??
    offeredLanguages.find((offered) => offered.toLowerCase().split('-')[0] === main)
  );
}

/**
 * @param tags of a person and a club, the preferred one first; null for none
 * @returns the first that the service speaks, English if none
 */
export function languageOf(...tags: readonly (string | null | undefined)[]): OfferedLanguage {
  for (const tag of tags) {
    const nearest = tag ? nearestLanguage(tag) : undefined;
    if (nearest) return nearest;
  }
  return defaultLanguage;
}

/** @returns the direction in which a language is written */
export function directionOf(tag: string): Direction {
  // TypeScript's library does not declare it yet; Node 22 and later have it.
  const locale = new Intl.Locale(tag) as Intl.Locale & { getTextInfo: () => { direction: string } };
  return locale.getTextInfo().direction === 'rtl' ? 'rtl' : 'ltr';
}
