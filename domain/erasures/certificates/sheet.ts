/** Sets headings, paragraphs and tables on A4 pages, one below the other. A full page is followed by the next one. Measures are in points. */
import type { Direction } from '../../language/bidi.policy.ts';
import type { Box, Typesetter } from '../../learning/certificates/typesetting.ts';

/** Portrait A4. */
export const page = { width: 595.28, height: 841.89, margin: 56 } as const;
const paint = { ink: '#1b2a41', soft: '#59647a' } as const;

const width = page.width - 2 * page.margin;
const rowHeight = 14;
/** Space between two columns. */
const gap = 8;
/** The last line of a page ends here. The number of the page is below. */
const bottom = page.height - page.margin - 20;

type Row = (cells: readonly string[], style?: 'plain' | 'bold') => Promise<void>;

export interface Sheet {
  title(title: string, summary: string): Promise<void>;
  heading(text: string): Promise<void>;
  paragraph(text: string): Promise<void>;
  /**
   * Long texts of a cell are set smaller, in two lines if needed.
   * @param shares the relative widths of the columns
   * @param fill calls `row` for each row
   * @param options.numbers whether the last column has numbers, which stand at its end
   */
  table(shares: readonly number[], fill: (row: Row) => Promise<void>, options?: { numbers?: boolean }): Promise<void>;
}

interface SheetOptions {
  pdf: PDFKit.PDFDocument;
  type: Typesetter;
  /** Columns begin on the right if the language runs from there. */
  direction: Direction;
  /** Stands on each page beside its number. */
  name: string;
}

/** The document has its first page. */
export function createSheet({ pdf, type, direction, name }: SheetOptions): Sheet {
  let y: number = page.margin;
  let pages = 0;

  const text = (written: string, box: Pick<Box, 'height' | 'style' | 'largest'> & Partial<Box>) =>
    type.draw(written, { x: page.margin, y, width, align: 'start', color: paint.ink, ...box });

  const numberPage = async () => {
    pages += 1;
    await text(`${name} · ${pages}`, {
      y: page.height - page.margin - 14,
      height: 12,
      style: 'plain',
      largest: 8,
      color: paint.soft,
    });
  };

  /** Begins the next page if the space does not fit on this one. */
  const need = async (height: number) => {
    if (pages === 0) await numberPage();
    if (y + height <= bottom) return;
    pdf.addPage();
    y = page.margin;
    await numberPage();
  };

  return {
    async title(title, summary) {
      await need(0);
      await text(title, { height: 34, style: 'bold', largest: 22, role: 'H1' });
      y += 42;
      await text(summary, { height: 34, style: 'regular', largest: 11, keepsSize: true });
      y += 46;
    },
    async heading(written) {
      await need(3 * rowHeight + 22);
      y += 10;
      await text(written, { height: 20, style: 'bold', largest: 13, role: 'H2' });
      y += 24;
    },
    async paragraph(written) {
      await need(44);
      await text(written, { height: 38, style: 'regular', largest: 10, keepsSize: true });
      y += 44;
    },
    async table(shares, fill, { numbers = false } = {}) {
      const whole = shares.reduce((sum, share) => sum + share, 0);
      const columns = shares.map((share, index) => {
        const before = shares.slice(0, index).reduce((sum, other) => sum + other, 0);
        const box = { x: (width * before) / whole, width: (width * share) / whole - gap };
        return { ...box, x: page.margin + (direction === 'rtl' ? width - box.x - box.width : box.x) };
      });
      await need(rowHeight);
      const table = pdf.struct('Table');
      pdf.addStructure(table);
      await fill(async (cells, style = 'plain') => {
        await need(rowHeight);
        const row = pdf.struct('TR');
        table.add(row);
        for (const [index, column] of columns.entries())
          await text(cells[index] ?? '', {
            ...column,
            height: rowHeight,
            style: style === 'bold' ? 'bold' : 'plain',
            largest: 9,
            role: style === 'bold' ? 'TH' : 'TD',
            parent: row,
            align: numbers && index === columns.length - 1 ? 'end' : 'start',
          });
        row.end();
        y += rowHeight;
      });
      table.end();
      y += 6;
    },
  };
}
