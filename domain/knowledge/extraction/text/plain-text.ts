/** Reads text files: detects the encoding, and whether the text is HTML, Markdown or plain text. */
import { indexingRules } from '../../indexing/indexing.policy.ts';
import { joinUnspaced } from '../line-breaks.policy.ts';
import { hasSignOfMarkdown } from './markdown-signs.ts';
import type { SectionBuilder } from '../sections.ts';
import { Unreadable } from '../unreadable.ts';

/**
 * Decodes a text by its byte order mark, the zero bytes of UTF-16, valid UTF-8 or the page's declaration. Otherwise assumes Latin-1, as
 * browsers do.
 * @throws Unreadable unsupported_type, too_large
 */
export function decodeText(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  if (bytes.length > indexingRules.maxText * 4) throw new Unreadable('too_large'); // a character has at most four bytes
  const text = new TextDecoder(encoding).decode(bytes);
  // Files of unknown formats contain many bytes that texts hardly ever contain.
  if (encoding !== 'utf-16le' && encoding !== 'utf-16be' && countControls(bytes) * 100 > bytes.length)
    throw new Unreadable('unsupported_type');
  return text;
}

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const unmarked = unmarkedUtf16(bytes);
  if (unmarked !== undefined) return unmarked;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return saidEncoding(bytes) ?? 'windows-1252';
  }
}

/** Detects UTF-16 by its zero bytes: in UTF-16, one of the two bytes of each Latin letter is 0, always at the same position. */
function unmarkedUtf16(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const zeros = [0, 0];
  const head = bytes.subarray(0, 4_096);
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (bytes.length % 2 === 1 || (even + odd) * 10 < head.length || Math.min(even, odd) > 0) return undefined;
  return odd > 0 ? 'utf-16le' : 'utf-16be';
}

/** @returns the encoding that a page declares in its first bytes. Browsers search the same bytes */
function saidEncoding(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1_024)).toString('latin1');
  const pattern = head.startsWith('<?xml') ? /\bencoding\s*=\s*["']([\w:-]+)/i : /\bcharset\s*=\s*["']?([\w:-]+)/i;
  const [, label = 'utf-8'] = /<(?:meta|\?xml)\s/i.test(head) ? (pattern.exec(head) ?? []) : [];
  try {
    const { encoding } = new TextDecoder(label);
    return encoding.startsWith('utf-') ? undefined : encoding;
  } catch {
    return undefined;
  }
}

function countControls(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) count += 1;
  return count;
}

/** Windows programs announce a CSV file with the last of these types. */
const saidOfCsv = new Set(['text/csv', 'application/csv', 'text/tab-separated-values', 'application/vnd.ms-excel']);

export type TextKind = 'html' | 'markdown' | 'csv' | 'plain' | 'other';

/**
 * Returns the kind of the text. If no type is announced, HTML is recognized by its first element, and Markdown by a heading, a fence or a
 * link.
 * @param says the announced media type. If the type is plain text or CSV, the function does not check the content
 */
export function kindOfText(text: string, says: string | null): TextKind {
  if (says === 'text/plain') return 'plain';
  if (says !== null && saidOfCsv.has(says)) return 'csv';
  const start = text.slice(0, 100_000).replace(/^(?:\s|<!--[\s\S]*?-->|<\?xml[^>]*>)+/, '');
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start)) return 'html';
  if (says === 'text/markdown' && !/^\s*<(?:\?xml|!doctype)/i.test(text)) return 'markdown';
  if (/^<(?:!doctype|\?xml|svg|rss|feed)\b/i.test(start) || /^\s*<\?xml/.test(text)) return 'other';
  if (says === 'text/html') return 'html';
  return hasSignOfMarkdown(text) ? 'markdown' : 'plain';
}

/** Programs break a line when it is full. A shorter line belongs to a list, a poem or an address. */
const shortestFullLine = 50;
/** A longer line is a whole paragraph. */
const longestLine = 200;

/**
 * Reads plain text. An empty line ends a paragraph. If lines were broken only because of their length, they are joined. Other lines stay
 * separate.
 * @throws Unreadable too_large
 */
export function readPlain(text: string, into: SectionBuilder): void {
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(/\n[ \t]*(?:\n[ \t]*)+/)) {
    const lines = paragraph.split('\n');
    if (areOneParagraph(lines)) into.paragraph({ text: joinUnspaced(paragraph), kind: 'prose' });
    else readLines(lines, into);
  }
}

function readLines(lines: readonly string[], into: SectionBuilder): void {
  let short: string[] = [];
  const end = () => {
    if (short.length > 0) into.paragraph({ text: short.join('\n'), kind: 'lines' });
    short = [];
  };
  for (const line of lines) {
    if (line.length <= longestLine) short.push(line);
    else {
      end();
      into.paragraph({ text: line, kind: 'prose' });
    }
  }
  end();
}

/** Whether every line was broken only because the next word did not fit into it. */
function areOneParagraph(lines: readonly string[]): boolean {
  const widths = lines.map((line) => widthOf(line.trimEnd()));
  const room = widths.reduce((most, width) => Math.max(most, width), 0);
  if (lines.length === 1) return true;
  if (room < shortestFullLine || room > longestLine) return false;
  return lines.every(
    (line, at) => at === 0 || (!beginsItem.test(line) && (widths[at - 1] ?? 0) + widthOfFirstWord(line) > room),
  );
}

const beginsItem = /^(?:[ \t]{4}|[ \t]*(?:[-*•–+>|]|\(?\w{1,3}[.)])[ \t])/;
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/g;

/** Returns the width of a text in columns of the screen. An East Asian letter needs two columns. */
function widthOf(text: string): number {
  return text.length + (text.match(wide)?.length ?? 0);
}

/**
 * Returns the width of the first word and of the space before it. A line may break before any East Asian letter, so such a letter counts as
 * a word.
 */
function widthOfFirstWord(line: string): number {
  const [word = ''] = /\S+/.exec(line) ?? [];
  const at = word.search(wide);
  return at === 0 ? 2 : 1 + widthOf(at < 0 ? word : word.slice(0, at));
}
