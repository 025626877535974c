/** Chooses the regional form of the Han characters in a text (CERT-4). */
import type { HanForm } from './font-files.ts';

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const hangul = /\p{Script=Hangul}/u;

const regions: Record<string, HanForm> = { Jpan: 'jp', Kore: 'kr', Hant: 'tc' };

/**
 * A text with kana is Japanese, and a text with Hangul is Korean. For any other text the language decides. Simplified forms are the
 * default.
 * @param language BCP 47
 */
export function hanFormOf(text: string, language: string): HanForm {
  if (kana.test(text)) return 'jp';
  if (hangul.test(text)) return 'kr';
  return regions[new Intl.Locale(language).maximize().script ?? ''] ?? 'sc';
}
