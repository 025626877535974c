/** The words of a post in a mail: its Markdown without marks, addresses and pictures, cut to a length (COMM-18). */
import { LRUCache } from 'lru-cache';
import MarkdownIt, { type Token } from 'markdown-it';
import { withoutAddresses } from './typed-addresses.ts';

/** As deep as posts are read when their links are judged. */
const maxNesting = 40;
// Raw HTML is shown as it was typed, as readers of posts show it.
const markdown = new MarkdownIt({ html: false, linkify: false, maxNesting });
markdown.validateLink = () => true;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Characters that say nothing, or turn the direction of what follows them. */
const unseen = /[\p{Cc}\u200b\u2028-\u202e\u2066-\u2069\ufeff]+/gu;

/** The same posts stand in the mails of many students: to read their Markdown costs more than the rest of a mail. */
const known = new LRUCache<string, string>({ max: 500 });

/** @param most graphemes @returns one line; what was cut off ends in an ellipsis behind a whole word, where there is one */
export function wordsOf(text: string, most: number): string {
  const key = `${most} ${text}`;
  const words = known.get(key) ?? cut(plain(markdown.parse(text, {}).map(wordsOfToken).join(' ')), most);
  known.set(key, words);
  return words;
}

/** The same for a line that is no Markdown. */
export const plainLine = (text: string, most: number): string => cut(plain(text), most);

const plain = (text: string): string => withoutAddresses(text).replaceAll(unseen, ' ').replaceAll(/\s+/g, ' ').trim();

function wordsOfToken({ type, content, children }: Token): string {
  if (children !== null) return children.map(wordsOfToken).join('');
  if (type === 'softbreak' || type === 'hardbreak') return ' ';
  return type === 'text' || type === 'code_inline' || type === 'code_block' || type === 'fence' ? content : '';
}

function cut(line: string, most: number): string {
  if (line.length <= most) return line; // a grapheme has one unit or more
  const parts = Array.from(graphemes.segment(line), ({ segment }) => segment);
  if (parts.length <= most) return line;
  const kept = parts.slice(0, most - 1).join('');
  const space = kept.lastIndexOf(' ');
  return `${kept.slice(0, space > kept.length / 2 ? space : undefined).trimEnd()}…`;
}
