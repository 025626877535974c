/** Builds PDFs from single objects, with structures that PDF libraries do not write. */

export interface HandPage {
  content: string;
  /** Further entries of the page's dictionary, besides the usual entries. */
  entries?: string;
  /** Further resources of the page, besides the font F1, which is Helvetica. */
  resources?: string;
}

/** @param options.objects further objects, numbered from 100 in order */
export function handPdf(
  pages: readonly HandPage[],
  { objects = [], catalog = '' }: { objects?: readonly string[]; catalog?: string } = {},
): Uint8Array<ArrayBuffer> {
  const kids = pages.map((_, at) => `${10 + 2 * at} 0 R`).join(' ');
  const numbered: [number, string][] = [
    [1, `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`],
    [2, `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`],
    [3, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>'],
    ...pages.flatMap(({ content, entries = '', resources = '' }, at): [number, string][] => [
      [
        10 + 2 * at,
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${11 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R >> ${resources} >> ${entries} >>`,
      ],
      [11 + 2 * at, streamOf(content)],
    ]),
    ...objects.map((object, at): [number, string] => [100 + at, object]),
  ];
  const text = numbered.map(([number, object]) => `${number} 0 obj\n${object}\nendobj\n`).join('');
  return new Uint8Array(Buffer.from(`%PDF-1.7\n${text}trailer\n<< /Root 1 0 R /Size 999 >>\n`, 'latin1'));
}

/** @param dictionary the entries of the stream's dictionary besides the length */
export function streamOf(content: string, dictionary = ''): string {
  return `<< /Length ${content.length} ${dictionary} >>\nstream\n${content}\nendstream`;
}

/** @param words the text, x, y, and the font size unless it is 12 */
export function written(...words: readonly (readonly [text: string, x: number, y: number, size?: number])[]): string {
  return words
    .map(
      ([text, x, y, size = 12]) =>
        `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${text.replace(/[()\\]/g, String.raw`\$&`)}) Tj ET`,
    )
    .join('\n');
}
