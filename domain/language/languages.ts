/** The languages of the service. A new language needs a catalogue and a line here (docs/how-to/add-a-language.md). */
import { ar } from './catalogues/ar.ts';
import { de } from './catalogues/de.ts';
import { en } from './catalogues/en.ts';
import { es } from './catalogues/es.ts';
import { ptBR } from './catalogues/pt-br.ts';
import type { MessageKey } from './arguments.ts';
import type { Direction } from './bidi.policy.ts';

export type Catalogue = Readonly<Record<MessageKey, string>>;

/**
 * The languages, by BCP 47 tag, in the order in which the service offers them. `locale` is used to format dates and numbers. If `locale` is
 * absent, the tag is used.
 */
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

/** Whether the service offers the language with exactly this tag. */
export function isOffered(tag: string): tag is OfferedLanguage {
  return Object.hasOwn(catalogues, tag);
}

/**
 * @param tag any text, in any case
 * @returns the offered language that a reader of this language understands, if any. This is the language of the tag, or another variant of
 * that language, such as `pt-BR` for `pt`
 */
export function nearestLanguage(tag: string): OfferedLanguage | undefined {
  const lowerCaseTag = tag.toLowerCase();
  const [main] = lowerCaseTag.split('-');
  return (
    offeredLanguages.find((offered) => offered.toLowerCase() === lowerCaseTag) ??
    offeredLanguages.find((offered) => offered.toLowerCase().split('-')[0] === main)
  );
}

/**
 * @param tags the tags of a person and a club, with the preferred tag first; null for no tag
 * @returns the first offered language; English if none is offered
 */
export function languageOf(...tags: readonly (string | null | undefined)[]): OfferedLanguage {
  for (const tag of tags) {
    const nearest = tag ? nearestLanguage(tag) : undefined;
    if (nearest) return nearest;
  }
  return defaultLanguage;
}

export function directionOf(tag: string): Direction {
  // TypeScript's library does not declare `getTextInfo` yet; Node 22 and later have it.
  const locale = new Intl.Locale(tag) as Intl.Locale & { getTextInfo: () => { direction: string } };
  return locale.getTextInfo().direction === 'rtl' ? 'rtl' : 'ltr';
}
