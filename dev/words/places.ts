/** Finds the occurrences of the habits in a file. */
import { habits, type Habit } from './habits.ts';
import { codeOf, proseOf, type Text } from './texts.ts';

export interface Place {
  /** From 1. */
  line: number;
  habit: Habit;
  /** The matched words with some text before and after them. */
  excerpt: string;
}

/** @param file its path from the project's directory */
export function placesIn(file: string, source: string): Place[] {
  const isCode = /\.(?:ts|mjs|js)$/.test(file);
  const prose = proseOf(file, source);
  const errors = prose.filter(({ isError }) => isError === true);
  return [
    ...found(prose, 'prose'),
    ...found(errors, 'error'),
    ...(isCode ? found(codeOf(source), 'code') : []),
  ].toSorted((a, b) => a.line - b.line);
}

function found(texts: readonly Text[], kind: Habit['in']): Place[] {
  const applied = habits.filter((habit) => habit.in === kind);
  return texts.flatMap(({ line, text }) =>
    applied.flatMap((habit) =>
      [...habit.find(text)].map((match) => ({
        line,
        habit,
        excerpt: text.slice(Math.max(0, match.index - 30), match.index + match.text.length + 40).trim(),
      })),
    ),
  );
}
