/** Chooses the regional form of the Han characters in a text (CERT-4). */
import type { HanForm } from './font-files.ts';

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const hangul = /\p{Script=Hangul}/u;

const regions: Record<string, HanForm> = { Jpan: 'jp', Kore: 'kr', Hant: 'tc' };

/**
 * Kana mean Japanese, and Hangul means Korean. Otherwise the language decides, with simplified forms as default.
 * @param language BCP 47
 */
export function hanFormOf(text: string, language: string): HanForm {
  if (kana.test(text)) return 'jp';
  if (hangul.test(text)) return 'kr';
  return regions[new Intl.Locale(language).maximize().script ?? ''] ?? 'sc';
}
