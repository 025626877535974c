/** Files of text: which letters their bytes are, and whether they are HTML, Markdown or neither. */
import MarkdownIt from 'markdown-it';
import { readHtml } from './html-text.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import { hasSignOfMarkdown } from './markdown-signs.ts';
import type { SectionBuilder } from './sections.ts';
import { readingTheFile, Unreadable } from './unreadable.ts';

/** By its byte order mark; else UTF-8, if it is that; else Latin-1, as browsers understand it. @throws Unreadable unsupported_type, too_large */
export function decodeText(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  if (bytes.length > indexingRules.maxText * 4) throw new Unreadable('too_large'); // in no encoding has a character more bytes
  const text = new TextDecoder(encoding).decode(bytes);
  // Files that nobody has a name for have bytes that stand for no letter; texts have hardly any.
  if (encoding !== 'utf-16le' && encoding !== 'utf-16be' && countControls(bytes) * 100 > bytes.length)
    throw new Unreadable('unsupported_type');
  return text;
}

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

function countControls(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) count += 1;
  return count;
}

export type TextKind = 'html' | 'markdown' | 'plain' | 'other';

/**
 * What the text is by what stands in it: HTML by its first element, Markdown by a heading, a fence or a link.
 * @param says what the file is said to be, which decides where a text could be either
 */
export function kindOfText(text: string, says: string | null): TextKind {
  const start = text.slice(0, 100_000).replace(/^(?:\s|<!--[\s\S]*?-->|<\?xml[^>]*>)+/, '');
  if (/^<(?:!doctype html|html|head|body)\b/i.test(start)) return 'html';
  if (/^<(?:!doctype|\?xml|svg|rss|feed)\b/i.test(start) || /^\s*<\?xml/.test(text)) return 'other';
  if (says === 'text/html' && /^<[a-z][\w-]*[\s>]/i.test(start)) return 'html';
  if (says === 'text/markdown') return 'markdown';
  return hasSignOfMarkdown(text) ? 'markdown' : 'plain';
}

/** As deep as anybody nests: the parser leaves out what is deeper. */
const maxNesting = 10_000;
const markdown = new MarkdownIt('default', { html: true, maxNesting });

/** @throws Unreadable too_large, file_corrupt */
export async function readMarkdown(text: string, into: SectionBuilder): Promise<void> {
  const html = await readingTheFile(() => markdown.render(text));
  readHtml(html, into);
}

/** Paragraphs are what empty lines are between. @throws Unreadable too_large */
export function readPlain(text: string, into: SectionBuilder): void {
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(/\n[ \t]*(?:\n[ \t]*)+/)) {
    into.paragraph({ text: paragraph, kind: 'prose' });
  }
}
