/** The words in which the tour is told, in each language of the product, filled in by its formatter. */
import { formatterOf } from '../../../domain/language/wording.ts';
import type { OfferedLanguage } from '../../../domain/language/languages.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { ptBR } from './pt-br.ts';

export type TourKey = keyof typeof en;

/** A sentence in ICU message syntax for each key. Its arguments are in braces; it has no `plural` and no `select`. */
export type TourCatalogue = Readonly<Record<TourKey, string>>;

export const tourCatalogues: Readonly<Record<OfferedLanguage, TourCatalogue>> = { en, 'pt-BR': ptBR, es, de, ar };

/** The names in braces of a sentence. */
type NamesIn<Sentence extends string> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The values that a sentence needs; none if it has no arguments. */
export type ValuesOf<Key extends TourKey> = Key extends TourKey
  ? [NamesIn<(typeof en)[Key]>] extends [never]
    ? []
    : [values: Readonly<Record<NamesIn<(typeof en)[Key]>, string | number>>]
  : never;

export type TourWords = <Key extends TourKey>(key: Key, ...values: ValuesOf<Key>) => string;

/** @returns the sentences of the tour in a language */
export function tourWordsIn(language: OfferedLanguage): TourWords {
  const format = formatterOf(tourCatalogues[language], language);
  return (key, ...[values = {}]) => format(key, values);
}
