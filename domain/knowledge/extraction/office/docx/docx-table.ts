/** Reads tables of Word files: the position of each cell, and the rows and columns that the cell spans. */
import { childOf, childrenOf, type XmlElement } from '../../../../../platform/core/text/xml.ts';
import { isOn, isTrue, numberOf, valueOf, type Styles } from './docx-styles.ts';

interface Cell {
  /** Undefined for an empty area without a cell. */
  contents: XmlElement | undefined;
  colspan: number;
  rowspan: number;
}

interface Row {
  isHeader: boolean;
  cells: Cell[];
}

/** @param table `w:tbl` */
export function tableRowsOf(table: XmlElement, styles: Styles, onHidden: () => void): Row[] {
  const look = childOf(table, 'w:tblPr', 'w:tblLook')?.attributes ?? {};
  const showsFirst = look['w:firstRow'] === undefined ? Number.parseInt(look['w:val'] ?? '0', 16) & 0x20 : isTrue(look['w:firstRow']); // prettier-ignore
  const marksFirst = Boolean(showsFirst) && styles.hasHeaderRow(valueOf(childOf(table, 'w:tblPr'), 'w:tblStyle'));
  const rows: Row[] = [];
  /** The cells of the previous row that may also span the next row, by their first column. */
  let above = new Map<number, Cell>();
  for (const row of elementsIn(table, 'w:tr')) {
    const properties = childOf(row, 'w:trPr');
    const isHidden = isOn(childOf(properties, 'w:hidden'));
    if (isHidden) onHidden();
    if (isHidden || childOf(properties, 'w:del')) continue;
    const cells: Cell[] = [];
    const reaching = new Map<number, Cell>();
    let column = numberOf(properties, 'w:gridBefore') ?? 0;
    if (column > 0) cells.push({ contents: undefined, colspan: column, rowspan: 1 });
    for (const contents of elementsIn(row, 'w:tc')) {
      const cellProperties = childOf(contents, 'w:tcPr');
      if (childOf(cellProperties, 'w:cellDel')) continue;
      const colspan = Math.max(numberOf(cellProperties, 'w:gridSpan') ?? 1, 1);
      const merged = childOf(cellProperties, 'w:vMerge');
      const upper = merged && merged.attributes['w:val'] !== 'restart' ? above.get(column) : undefined;
      const before = cells.at(-1);
      if (upper) {
        upper.rowspan += 1;
        reaching.set(column, upper);
      } else if (before && isContinued(childOf(cellProperties, 'w:hMerge'))) before.colspan += colspan;
      else {
        const cell = { contents, colspan, rowspan: 1 };
        cells.push(cell);
        if (merged) reaching.set(column, cell);
      }
      column += colspan;
    }
    above = reaching;
    const isHeader = isOn(childOf(properties, 'w:tblHeader')) || (marksFirst && rows.length === 0);
    rows.push({ isHeader, cells });
  }
  return rows;
}

function isContinued(merge: XmlElement | undefined): boolean {
  return merge !== undefined && merge.attributes['w:val'] !== 'restart';
}

/** Includes elements inside grouping elements. */
function* elementsIn(element: XmlElement, name: 'w:tr' | 'w:tc'): Generator<XmlElement> {
  for (const child of childrenOf(element)) {
    if (child.name === name) yield child;
    else if (child.name !== 'w:del' && child.name !== 'w:moveFrom' && !child.name.endsWith('Pr'))
      yield* elementsIn(child, name);
  }
}
