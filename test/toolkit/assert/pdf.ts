/**
 * Reads the text of a PDF, and the squares that it draws, from its bytes. The fonts in the PDF contain tables that translate glyphs into
 * text.
 */
import { inflateSync } from 'node:zlib';

interface ReadPdf {
  /** Width and height of each page, in points. */
  pages: [number, number][];
  lines: string[];
  /** For each filled path, in order, its rectangles as x, y, width and height. */
  fills: [number, number, number, number][][];
  links: string[];
}

/** @throws Error if the bytes are not a PDF of our kind: one content stream per page, fonts with a Unicode table */
export function readPdf(bytes: Buffer): ReadPdf {
  const source = bytes.toString('latin1');
  if (!source.startsWith('%PDF-')) throw new Error('The bytes are not a PDF');
  const objects = new Map(
    [...source.matchAll(/^(\d+) 0 obj\n([^]*?)\nendobj$/gm)].map(([, id, body = '']) => [id, body]),
  );
  const followed = (pattern: RegExp, body: string) => objects.get(pattern.exec(body)?.[1] ?? '') ?? '';
  const ofType = (type: string) => [...objects.values()].filter((body) => body.includes(`/Type /${type}\n`));
  const content = ofType('Page')
    .map((page) => streamOf(followed(/\/Contents (\d+) 0 R/, page)))
    .join('\n');
  const fonts = new Map(
    [...source.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name = '', id = '']) => [
      name,
      readUnicodeTable(streamOf(followed(/\/ToUnicode (\d+) 0 R/, objects.get(id) ?? ''))),
    ]),
  );
  return {
    pages: ofType('Page').map((page) => {
      const [, width, height] = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(page) ?? [];
      return [Number(width), Number(height)];
    }),
    lines: readLines(content, fonts),
    fills: readFills(content),
    links: [...source.matchAll(/\/URI \(([^)]*)\)/g)].map(([, url = '']) => url),
  };
}

function streamOf(body: string): string {
  const [, data = ''] = /stream\n([^]*)\nendstream/.exec(body) ?? [];
  const raw = Buffer.from(data, 'latin1');
  return (body.includes('/FlateDecode') ? inflateSync(raw) : raw).toString('latin1');
}

function readUnicodeTable(table: string): Map<number, string> {
  const glyphs = new Map<number, string>();
  for (const [, first = '', list = ''] of table.matchAll(/<([0-9a-f]+)> <[0-9a-f]+> \[([^\]]*)\]/gi)) {
    const texts = [...list.matchAll(/<([0-9a-f ]*)>/gi)].map(([, hex = '']) => fromUtf16(hex.replaceAll(' ', '')));
    texts.forEach((text, index) => glyphs.set(Number.parseInt(first, 16) + index, text));
  }
  return glyphs;
}

function fromUtf16(hex: string): string {
  return Buffer.from(hex, 'hex').swap16().toString('utf16le');
}

function readLines(content: string, fonts: Map<string, Map<number, string>>): string[] {
  let font: Map<number, string> | undefined;
  const lines: string[] = [];
  for (const [, name, shown] of content.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
    if (name !== undefined) font = fonts.get(name);
    else {
      const glyphs = [...(shown ?? '').matchAll(/<([0-9a-f]+)>/gi)].flatMap(([, hex = '']) => hex.match(/.{4}/g) ?? []);
      lines.push(glyphs.map((glyph) => font?.get(Number.parseInt(glyph, 16)) ?? '\ufffd').join(''));
    }
  }
  return lines;
}

function readFills(content: string): [number, number, number, number][][] {
  return content
    .split(/^(?:S|n|W n)$/m)
    .flatMap((paths) => paths.split(/^f\*?$/m).slice(0, -1))
    .map((path) =>
      [...path.matchAll(/^(-?[\d.]+) (-?[\d.]+) (-?[\d.]+) (-?[\d.]+) re$/gm)].map(
        ([, x, y, width, height]): [number, number, number, number] => [
          Number(x),
          Number(y),
          Number(width),
          Number(height),
        ],
      ),
    );
}
