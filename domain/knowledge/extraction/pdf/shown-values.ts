/**
 * Reads the visible values of a page's annotations: form fields, and text that was added to the page. Comments are left out, because the
 * page does not show them.
 */
import type { Line, Segment } from './letters/pdf-lines.ts';
import { lineOf } from './letters/pdf-lines.ts';

export interface Annotation {
  id?: string;
  subtype?: string;
  rect?: readonly number[];
  fieldType?: string | null;
  fieldValue?: unknown;
  checkBox?: boolean;
  radioButton?: boolean;
  exportValue?: unknown;
  buttonValue?: unknown;
  options?: readonly { exportValue: unknown; displayValue: unknown }[];
  password?: boolean;
  hidden?: boolean;
  noView?: boolean;
  annotationFlags?: number;
  textContent?: readonly string[];
  contentsObj?: { str?: string };
  defaultAppearanceData?: { fontSize?: number };
  hasAppearance?: boolean;
  file?: unknown;
}

const flags = { invisible: 1, hidden: 2, noView: 32 } as const;

/**
 * @param place a function that maps the coordinates of the page to the coordinates of the text
 * @returns the visible lines of each annotation, by its id
 */
export function shownValues(
  annotations: readonly Annotation[],
  place: (x: number, y: number) => readonly [number, number],
): Map<string, Line[]> {
  const linesById = new Map<string, Line[]>();
  for (const [at, annotation] of annotations.entries()) {
    const texts = isHidden(annotation) ? [] : textsOf(annotation);
    const { rect = [], id = `${at}` } = annotation;
    const corners = [place(rect[0] ?? 0, rect[1] ?? 0), place(rect[2] ?? 0, rect[3] ?? 0)] as const;
    const [left, right] = [Math.min(corners[0][0], corners[1][0]), Math.max(corners[0][0], corners[1][0])];
    const [bottom, top] = [Math.min(corners[0][1], corners[1][1]), Math.max(corners[0][1], corners[1][1])];
    const room = (top - bottom) / Math.max(1, texts.length);
    const size = Math.min(annotation.defaultAppearanceData?.fontSize || 12, room * 0.9);
    const lines = texts.map((text, row): Line => {
      const y =
        texts.length === 1 && room < size * 2.2
          ? (top + bottom) / 2 - size * 0.35
          : top - size - row * Math.min(room, size * 1.2);
      const width = annotation.fieldType === 'Btn' ? right - left : Math.min(right - left, text.length * size * 0.5);
      const segment: Segment = { text, x: left, right: left + width, y, size, parts: [{ text, level: 'even' }] };
      return lineOf([segment]);
    });
    if (lines.length > 0) linesById.set(id, lines);
  }
  return linesById;
}

function isHidden({ hidden, noView, annotationFlags = 0 }: Annotation): boolean {
  return Boolean(hidden) || Boolean(noView) || (annotationFlags & (flags.hidden | flags.noView)) !== 0;
}

function textsOf(annotation: Annotation): string[] {
  const { subtype, fieldType, fieldValue, textContent = [] } = annotation;
  if (subtype === 'FreeText')
    return linesOfText(textContent.length > 0 ? textContent.join('\n') : (annotation.contentsObj?.str ?? ''));
  if (subtype !== 'Widget' || annotation.password) return [];
  if (fieldType === 'Btn') {
    if (annotation.checkBox) return [isChosen(fieldValue, annotation.exportValue) ? '☒' : '☐'];
    return annotation.radioButton ? [isChosen(fieldValue, annotation.buttonValue) ? '☒' : '☐'] : [];
  }
  if (fieldType === 'Ch') {
    const values = Array.isArray(fieldValue) ? fieldValue : [fieldValue];
    return values.flatMap((value: unknown) => {
      const option = annotation.options?.find(({ exportValue }) => exportValue === value);
      return linesOfText(option?.displayValue ?? value);
    });
  }
  return fieldType === 'Tx' ? linesOfText(fieldValue) : [];
}

function isChosen(value: unknown, own: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'Off' && value === own;
}

function linesOfText(value: unknown): string[] {
  return typeof value === 'string' ? value.split(/\r\n?|\n/).filter((line) => line.trim() !== '') : [];
}

/**
 * Adds the values of form fields to the text. A value is joined to the text line at the same height. If no line has this height, the value
 * is inserted between the lines above and below it.
 */
export function withValues(lines: readonly Line[], values: readonly Line[]): Line[] {
  const result = [...lines];
  for (const value of values) {
    const beside = nearest(result, value);
    const at = beside < 0 ? result.findIndex(({ y }) => y < value.y) : beside;
    const line = result[at];
    if (beside >= 0 && line) result[at] = lineOf([...line.segments, ...value.segments].toSorted((a, b) => a.x - b.x));
    else result.splice(at < 0 ? result.length : at, 0, value);
  }
  return result;
}

function nearest(lines: readonly Line[], value: Line): number {
  let [best, distance] = [-1, Infinity];
  for (const [at, line] of lines.entries()) {
    const up = Math.abs(line.y - value.y);
    if (up > Math.max(4, Math.min(line.size, value.size) * 0.6)) continue;
    const aside = Math.max(0, value.x - line.right, line.x - value.right);
    if (up + aside < distance) [best, distance] = [at, up + aside];
  }
  return best;
}
