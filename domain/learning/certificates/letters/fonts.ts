/** Fonts loaded for HarfBuzz. Each thread caches the most recently used fonts. */
import { readFile } from 'node:fs/promises';
import * as hb from 'harfbuzzjs';
import { LRUCache } from 'lru-cache';
import decompress from 'woff2-encoder/decompress';
import type { FontFile } from './font-files.ts';

export interface LoadedFont {
  readonly file: FontFile;
  /** The bytes of the TrueType file. */
  readonly bytes: Uint8Array;
  readonly face: hb.Face;
  readonly font: hb.Font;
  /** Units per em, in which glyphs and positions are measured. */
  readonly unitsPerEm: number;
}

/** A font file in memory, in one weight. */
interface LoadedFile {
  bytes: Uint8Array;
  face: hb.Face;
  fonts: Map<string, LoadedFont>;
}

/** The limit of unpacked font files, in bytes. All slices have 40 MB, but the names of a club need only a few. */
const keptBytes = 12 * 1_048_576;
const loadedFiles = new LRUCache<string, LoadedFile>({
  maxSize: keptBytes,
  maxEntrySize: keptBytes,
  sizeCalculation: ({ bytes }) => bytes.length,
});

/** @returns the font of a file of our own packages @throws Error if the file cannot be read */
export async function loadFont(file: FontFile): Promise<LoadedFont> {
  const loaded = loadedFiles.get(file.path) ?? (await readFontFile(file.path));
  loadedFiles.set(file.path, loaded);
  return fontIn(loaded, file);
}

/** @returns the font. This function does not cache it */
export async function readFont(file: FontFile): Promise<LoadedFont> {
  return fontIn(await readFontFile(file.path), file);
}

async function readFontFile(path: string): Promise<LoadedFile> {
  const fileBytes = await readFile(path);
  const bytes = path.endsWith('.woff2') ? await decompress(fileBytes) : new Uint8Array(fileBytes);
  return { bytes, face: new hb.Face(new hb.Blob(bytes)), fonts: new Map() };
}

function fontIn({ bytes, face, fonts }: LoadedFile, file: FontFile): LoadedFont {
  const cachedFont = fonts.get(file.key);
  if (cachedFont) return cachedFont;
  const font = new hb.Font(face);
  if (file.weight !== undefined) font.setVariations([new hb.Variation('wght', file.weight)]);
  const loaded = { file, bytes, face, font, unitsPerEm: face.upem };
  fonts.set(file.key, loaded);
  return loaded;
}

/** @returns whether the font's own cmap has a glyph for the code point */
export function hasLetter({ font }: LoadedFont, codePoint: number): boolean {
  const glyph = font.nominalGlyph(codePoint);
  return glyph !== undefined && glyph !== 0;
}
