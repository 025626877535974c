/**
 * Converts the model's text to a form that Postgres can store: without NUL, and without halves of surrogate pairs. If a chunk ends with the
 * first half of a pair, that half waits for the next chunk.
 */

import { createMarkdownStripper } from '../../../platform/core/text/safe-markdown.policy.ts';

const replacement = '\uFFFD';

export interface TextCleaner {
  /** @returns the part of the text that can be written now. This part may be empty */
  push(chunk: string): string;
  /** Ends the stream. @returns the text that `push` has not returned yet */
  end(): string;
}

export function createTextCleaner(): TextCleaner {
  let half = '';
  return {
    push(chunk) {
      const text = half + chunk;
      half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : '';
      return clean(half === '' ? text : text.slice(0, -1));
    },
    end() {
      const rest = half === '' ? '' : replacement;
      half = '';
      return rest;
    },
  };
}

function clean(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', replacement);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** @returns the model's text as it is stored and streamed: valid for Postgres, without images and raw HTML */
export function createAnswerText(): TextCleaner {
  const cleaner = createTextCleaner();
  const stripper = createMarkdownStripper();
  return {
    push: (chunk) => stripper.push(cleaner.push(chunk)),
    end: () => stripper.push(cleaner.end()) + stripper.end(),
  };
}

/** @returns the number of code points, because positions in answers also count code points */
export function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
