/** Embeds fonts into a PDF as composite fonts: each code stands for a glyph, and for the characters that it shows. */
import type { LoadedFont } from './fonts.ts';
import { subsetFont } from './subset.ts';

export interface EmbeddedFont {
  readonly id: string;
  /**
   * A glyph that shows different characters in different positions has several codes, so that PDF readers extract exactly the written text.
   * @param width the width of the glyph, in ems
   * @returns the code of the glyph, counted from 1
   */
  codeOf(glyph: number, text: string, width: number): number;
}

interface Code {
  glyph: number;
  text: string;
  /** The width in thousandths of an em. */
  width: number;
}

export interface EmbeddedFonts {
  of(font: LoadedFont): EmbeddedFont;
  /** Writes all fonts. Call this function once, before the PDF ends. */
  write(): void;
}

/** @param pdf the document whose pages use the fonts */
export function embedFontsIn(pdf: PDFKit.PDFDocument): EmbeddedFonts {
  const embeddedFonts = new Map<string, EmbeddedFont & { dictionary: PDFKit.PDFKitReference; write(): void }>();
  return {
    of(font) {
      const embedded = embeddedFonts.get(font.file.key) ?? embedFont(pdf, font, `F${embeddedFonts.size + 1}`);
      embeddedFonts.set(font.file.key, embedded);
      (pdf.page.fonts as Record<string, PDFKit.PDFKitReference>)[embedded.id] = embedded.dictionary; // each page lists its fonts
      return embedded;
    },
    write: () => embeddedFonts.forEach((font) => font.write()),
  };
}

function embedFont(
  pdf: PDFKit.PDFDocument,
  font: LoadedFont,
  id: string,
): EmbeddedFont & { dictionary: PDFKit.PDFKitReference; write(): void } {
  const dictionary = pdf.ref({});
  const numbers = new Map<string, number>();
  const codes: Code[] = [];
  return {
    id,
    dictionary,
    codeOf(glyph, text, width) {
      const key = `${glyph} ${text}`;
      const number = numbers.get(key);
      if (number !== undefined) return number;
      codes.push({ glyph, text, width: Math.round(width * 1_000) });
      numbers.set(key, codes.length);
      return codes.length;
    },
    write() {
      const name = nameOf(font, id);
      const descendant = endedRef(pdf, {
        Type: 'Font',
        Subtype: 'CIDFontType2',
        BaseFont: name,
        // PDFKit writes String objects as strings, but primitive strings as names.
        CIDSystemInfo: { Registry: new String('Adobe'), Ordering: new String('Identity'), Supplement: 0 },
        FontDescriptor: endedRef(pdf, descriptorOf(pdf, font, name, codes)),
        DW: 0,
        W: [1, codes.map(({ width }) => width)],
        CIDToGIDMap: endedRef(pdf, {}, glyphMap(codes)),
      });
      Object.assign(dictionary.data, {
        Type: 'Font',
        Subtype: 'Type0',
        BaseFont: name,
        Encoding: 'Identity-H',
        DescendantFonts: [descendant],
        ToUnicode: endedRef(pdf, {}, Buffer.from(unicodeMap(codes), 'latin1')),
      });
      dictionary.end(undefined);
    },
  };
}

function endedRef(pdf: PDFKit.PDFDocument, data: object, stream?: Uint8Array): PDFKit.PDFKitReference {
  const ref = pdf.ref(data);
  ref.end(stream);
  return ref;
}

/** The name of the font: six letters that mark a subset, and the font's own name. */
function nameOf({ face, file }: LoadedFont, id: string): string {
  const letters = Array.from(id.slice(1).padStart(5, '0'), (digit) => String.fromCharCode(65 + Number(digit)));
  const name = face.getName(6, 'en') || file.key;
  return `F${letters.join('')}+${name.replaceAll(/[^A-Za-z0-9-]/g, '_')}`;
}

function descriptorOf(pdf: PDFKit.PDFDocument, font: LoadedFont, name: string, codes: readonly Code[]): object {
  const thousandths = (units: number) => Math.round((units * 1_000) / font.unitsPerEm);
  const { ascender, descender } = font.font.hExtents();
  const head = tableOf(font, 'head');
  const angle = tableOf(font, 'post').getInt32(4) / 65_536;
  const isFixed = tableOf(font, 'post').getUint32(12) !== 0;
  const file = Buffer.from(subsetFont(font, new Set([0, ...codes.map(({ glyph }) => glyph)])));
  return {
    Type: 'FontDescriptor',
    FontName: name,
    // The flags of a font: symbolic, because the codes follow no standard; fixed pitch; italic.
    Flags: 4 + (isFixed ? 1 : 0) + (angle === 0 ? 0 : 64),
    FontBBox: [36, 38, 40, 42].map((offset) => thousandths(head.getInt16(offset))),
    ItalicAngle: angle,
    Ascent: thousandths(ascender),
    Descent: thousandths(descender),
    CapHeight: thousandths(ascender),
    StemV: 80,
    FontFile2: endedRef(pdf, { Length1: file.length }, file),
  };
}

function tableOf({ face, file }: LoadedFont, tag: string): DataView {
  const table = face.referenceTable(tag);
  if (!table) throw new Error(`The font ${file.path} has no table ${tag}`);
  // A copy, because the memory of HarfBuzz moves when it grows.
  return new DataView(table.slice().buffer);
}

/** Builds the map from codes to glyphs. Each code has two bytes, and the first code is 0. */
function glyphMap(codes: readonly Code[]): Uint8Array {
  const map = Buffer.alloc(2 * (codes.length + 1));
  codes.forEach(({ glyph }, index) => map.writeUInt16BE(glyph, 2 * (index + 1)));
  return map;
}

/** The maximum number of entries of one range. All codes of a range must also have the same first byte. */
const rangeLength = 100;

function unicodeMap(codes: readonly Code[]): string {
  const ranges: string[] = [];
  for (let first = 1; first <= codes.length;) {
    const part = codes.slice(first - 1, first - 1 + Math.min(rangeLength, 256 - (first % 256)));
    const texts = part.map(({ text }) => `<${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`);
    ranges.push(`<${hex(first)}> <${hex(first + part.length - 1)}> [${texts.join(' ')}]`);
    first += part.length;
  }
  return `/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
${ranges.length} beginbfrange
${ranges.join('\n')}
endbfrange
endcmap
CMapName currentdict /CMap defineresource pop
end
end`;
}

/** @returns the code in the form that content streams use */
export function hex(code: number): string {
  return code.toString(16).padStart(4, '0');
}
