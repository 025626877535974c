/**
 * Makes the text of a post for a mail: the words of its Markdown without formatting, addresses and pictures, cut to a maximum length
 * (COMM-18).
 */
import { LRUCache } from 'lru-cache';
import MarkdownIt, { type Token } from 'markdown-it';
import { withoutAddresses } from './typed-addresses.ts';

/** The maximum depth of nested Markdown. The check of a post's links uses the same depth. */
const maxNesting = 40;
// Raw HTML is shown as the typed text, as in the classroom.
const markdown = new MarkdownIt({ html: false, linkify: false, maxNesting });
markdown.validateLink = () => true;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Invisible characters, and characters that change the direction of the following text. */
const unseen = /[\p{Cc}\u200b\u2028-\u202e\u2066-\u2069\ufeff]+/gu;

/** A post appears in the mails of many students, and parsing its Markdown is the slowest part of making a mail. */
const cache = new LRUCache<string, string>({ max: 500 });

/** @param most graphemes @returns the text in one line. If the text is cut, it ends with an ellipsis, after a whole word if possible. */
export function wordsOf(text: string, most: number): string {
  const key = `${most} ${text}`;
  const words = cache.get(key) ?? cut(plain(markdown.parse(text, {}).map(wordsOfToken).join(' ')), most);
  cache.set(key, words);
  return words;
}

/** Shortens a line of plain text, which is not Markdown. */
export const plainLine = (text: string, most: number): string => cut(plain(text), most);

const plain = (text: string): string => withoutAddresses(text).replaceAll(unseen, ' ').replaceAll(/\s+/g, ' ').trim();

function wordsOfToken({ type, content, children }: Token): string {
  if (children !== null) return children.map(wordsOfToken).join('');
  if (type === 'softbreak' || type === 'hardbreak') return ' ';
  return type === 'text' || type === 'code_inline' || type === 'code_block' || type === 'fence' ? content : '';
}

function cut(line: string, most: number): string {
  if (line.length <= most) return line; // a line never has more graphemes than UTF-16 units
  const parts = Array.from(graphemes.segment(line), ({ segment }) => segment);
  if (parts.length <= most) return line;
  const head = parts.slice(0, most - 1).join('');
  const space = head.lastIndexOf(' ');
  return `${head.slice(0, space > head.length / 2 ? space : undefined).trimEnd()}…`;
}
