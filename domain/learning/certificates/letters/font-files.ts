/** The font files of certificates, all from npm packages. Most fonts are divided into slices with some of the code points. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** A font file and one weight of this file. HarfBuzz loads a font in this form. */
export interface FontFile {
  /** Identifies the file and its weight. Caches use it as their key. */
  readonly key: string;
  readonly path: string;
  /** Value of the `wght` axis; absent for a file without axes. */
  readonly weight?: number;
}

/** A font family in one weight. It is a single file, or several slices that contain different code points. */
export interface Family {
  readonly name: string;
  /**
   * Returns the files that may contain a letter for a code point, with the best file first. Only the cmap of a file shows whether the file
   * really contains it.
   * @param codePoint a Unicode scalar value
   */
  filesFor(codePoint: number): readonly FontFile[];
  /** The files of the family, with their code points. A single file has no ranges, and is searched for every code point. */
  readonly slices: readonly { file: FontFile; ranges?: readonly Range[] }[];
}

export type Range = readonly [first: number, last: number];

function wholeFont(packageName: string, file: string): Family {
  const path = join(directoryOf(packageName), file);
  const whole: FontFile = { key: path, path };
  return { name: file, filesFor: () => [whole], slices: [{ file: whole }] };
}

/** A variable font of Fontsource: `unicode.json` lists the code points of each slice. */
function slicedFont(name: string, weight: number): Family {
  const directory = directoryOf(`@fontsource-variable/${name}`);
  const declared = JSON.parse(readFileSync(join(directory, 'unicode.json'), 'utf8')) as Record<string, string>;
  const slices = Object.entries(declared).map(([slice, ranges]) => {
    const path = join(directory, 'files', `${name}-${slice.replaceAll(/[[\]]/g, '')}-wght-normal.woff2`);
    return { file: { key: `${path} ${weight}`, path, weight }, ranges: rangesOf(ranges) };
  });
  const filesFor = (codePoint: number) =>
    slices.filter(({ ranges }) => isInRanges(ranges, codePoint)).map(({ file }) => file);
  return { name: `${name} ${weight}`, filesFor, slices };
}

const directoryOf = (packageName: string): string => dirname(require.resolve(`${packageName}/package.json`));

/** @param written the ranges as text, such as `U+20-7e,U+a0` */
function rangesOf(written: string): Range[] {
  return written.split(',').map((range) => {
    const [first = '', last = first] = range.trim().slice(2).split('-');
    return [Number.parseInt(first, 16), Number.parseInt(last, 16)];
  });
}

export function isInRanges(ranges: readonly Range[], codePoint: number): boolean {
  return ranges.some(([first, last]) => first <= codePoint && codePoint <= last);
}

const dejavu = (name: string) => wholeFont('dejavu-fonts-ttf', `ttf/${name}.ttf`);
const emoji = wholeFont('@expo-google-fonts/noto-emoji', '400Regular/NotoEmoji_400Regular.ttf');
/** The fonts with the most letters. Every style has these fonts at the end of its list, so that all styles print the same letters. */
const widest = [dejavu('DejaVuSans'), dejavu('DejaVuSerif')];

/** The regional forms of Han characters, in the order in which they are tried after the preferred form. */
const hanForms = ['sc', 'tc', 'jp', 'kr'] as const;
export type HanForm = (typeof hanForms)[number];

const scriptFonts = [
  'noto-naskh-arabic',
  'noto-serif-hebrew',
  'noto-serif-devanagari',
  'noto-serif-bengali',
  'noto-serif-tamil',
  'noto-serif-thai',
  'noto-serif-gujarati',
  'noto-serif-gurmukhi',
  'noto-serif-kannada',
  'noto-serif-malayalam',
  'noto-serif-telugu',
  'noto-serif-sinhala',
  'noto-serif-khmer',
  'noto-serif-ethiopic',
];

/** Fonts for scripts that DejaVu lacks or draws badly. */
function scriptsIn(weight: number) {
  const han = hanForms.map((form) => [form, slicedFont(`noto-serif-${form}`, weight)] as const);
  return { scripts: scriptFonts.map((font) => slicedFont(font, weight)), han: new Map<HanForm, Family>(han) };
}

const inRegular = scriptsIn(400);
const inBold = scriptsIn(700);

/** The families of each style: the usual family, families of other scripts, and a family for all remaining letters. */
const styles = {
  regular: { usual: dejavu('DejaVuSerif'), wide: dejavu('DejaVuSans'), ...inRegular },
  italic: { usual: dejavu('DejaVuSerif-Italic'), wide: dejavu('DejaVuSans'), ...inRegular },
  bold: { usual: dejavu('DejaVuSerif-Bold'), wide: dejavu('DejaVuSans-Bold'), ...inBold },
  plain: { usual: dejavu('DejaVuSans'), wide: dejavu('DejaVuSans'), ...inRegular },
  code: { usual: dejavu('DejaVuSansMono-Bold'), wide: dejavu('DejaVuSans-Bold'), ...inBold },
};

export type Style = keyof typeof styles;
export const styleNames = Object.keys(styles) as Style[];

/** @returns the families in which a letter is searched, with the best family first */
export function familiesIn(style: Style, han: HanForm, isEmoji: boolean): readonly Family[] {
  const { usual, scripts, han: forms, wide } = styles[style];
  const inOrder = [han, ...hanForms.filter((form) => form !== han)].flatMap((form) => forms.get(form) ?? []);
  const letters = [usual, ...scripts, ...inOrder, wide, ...widest];
  return isEmoji ? [emoji, ...letters] : [...letters, emoji];
}

/** @returns whether the file is the emoji font. The space of this font is as wide as a picture, so it must not be used for normal spaces */
export function isOfPictures({ path }: FontFile): boolean {
  return emoji.slices.some(({ file }) => file.path === path);
}

/** The families that every style has in one of the weights. Together they have all letters that certificates print. */
export const commonFamilies: readonly Family[] = [...inRegular.scripts, ...inRegular.han.values(), ...widest, emoji];
