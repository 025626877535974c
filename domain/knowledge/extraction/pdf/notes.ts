/** Finds the notes at the foot of a page, and the marks in the text that refer to them. */
import { isNoteMark, lineOf, textOf, type Line } from './letters/pdf-lines.ts';

export interface Notes {
  marks: ReadonlySet<string>;
  /** The first line of each note, with its mark. */
  starts: ReadonlyMap<Line, string>;
}

/** The first word of the note may follow the mark without a space. */
const start = /^\s*\[?(\d{1,3}|[*†‡§¶]{1,3})[\].)]?\s*(?=[\p{L}"“„«(])/u;
/**
 * The beginning of a note whose letters are as large as the text. The number has no full stop, because a number with a full stop would
 * begin a list item.
 */
const startWithoutStop = /^\s*(?:\d{1,3}|[*†‡§¶]{1,3})\s*\p{L}/u;
const startInWord = /^\s*(?:\d{1,3}|[*†‡§¶]{1,3})\p{Lu}/u;
/**
 * The letters of a note are smaller than `smaller` times the size of the text. A note with larger letters must have a gap of more than
 * `wideGap` letter sizes above it.
 */
const smaller = 0.96;
const wideGap = 1.8;

/** @param lines the lines of a page, from the top down @param size the size of most letters of the document */
export function notesOf(lines: readonly Line[], size: number): Notes {
  const raised = new Set(lines.flatMap(raisedIn));
  const starts = new Map<Line, string>();
  const heights = lines.map(({ y }) => y).toSorted((a, b) => a - b);
  const middle = ((heights[0] ?? 0) + (heights.at(-1) ?? 0)) / 2;
  if (raised.size > 0)
    for (const [at, line] of lines.entries()) {
      const mark = markOf(line, size, lines[at - 1], line.y <= middle, starts);
      if (mark !== undefined && raised.has(mark)) starts.set(line, mark);
    }
  return { marks: new Set(starts.values()), starts };
}

function raisedIn({ segments }: Line): string[] {
  return segments.flatMap(({ parts }) =>
    parts.flatMap(({ text, level }, at) => (level === 'raised' && at > 0 ? [text.trim()] : [])),
  );
}

function markOf(
  line: Line,
  size: number,
  before: Line | undefined,
  isLow: boolean,
  starts: Notes['starts'],
): string | undefined {
  const [part] = line.segments[0]?.parts ?? [];
  const text = line.segments.map((segment) => segment.text).join(' ');
  const isSmall = line.size < size * smaller;
  const word = part?.text.trim() ?? '';
  if (part?.level === 'raised' && isNoteMark(word) && text.trim() !== word) return isSmall || isLow ? word : undefined;
  const isApart = before !== undefined && (starts.has(before) || before.y - line.y > line.size * wideGap);
  if (isSmall || (isLow && ((isApart && startWithoutStop.test(text)) || startInWord.test(text))))
    return start.exec(text)?.[1];
  return undefined;
}

/** @returns the line, with brackets around the marks of notes: `45 [1]` and `[1] The note` */
export function withNotes(line: Line, { marks, starts }: Notes): Line {
  const marked = lineOf(line.segments.map((segment) => ({ ...segment, text: textOf(segment.parts, marks) })));
  const mark = starts.get(line);
  return mark === undefined ? marked : { ...marked, text: marked.text.replace(start, `[${mark}] `) };
}
