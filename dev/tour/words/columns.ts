/** Two columns for a terminal, in any script. */

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** @returns the width of a text in characters; marks above and below a letter have no width */
const widthOf = (text: string) => [...graphemes.segment(text)].length;

/** @param rows pairs of a label and a value @returns a line for each, with the values below each other */
export function inColumns(rows: readonly (readonly [label: string, value: string])[]): string[] {
  const width = Math.max(0, ...rows.map(([label]) => widthOf(label)));
  return rows.map(([label, value]) => `${label}${' '.repeat(width - widthOf(label))}   ${value}`);
}
