/**
 * Parses JSON from outside. All untrusted JSON goes through this file, so all readers of the same bytes get the same value (REC-9).
 */
import { DomainError } from './errors.ts';

/** The limits of a document, which are checked before it is parsed. */
export interface JsonBounds {
  /** The maximum depth of nested objects and arrays. */
  depth: number;
  /** The maximum number of values in all objects and arrays together. */
  values: number;
}

/** The limits of JSON in requests. They are also the default limits of other JSON. */
export const jsonBounds: JsonBounds = { depth: 64, values: 20_000 };
/** The limits of notices, which any client may post. The largest notice that we describe has 1,000 events of five fields. */
export const noticeBounds: JsonBounds = { depth: 64, values: 10_000 };

/** The input is not JSON that this service accepts. The message never quotes the input. */
export class UnreadableJson extends DomainError {
  constructor(message: string) {
    super('malformed_request', message);
    this.name = 'UnreadableJson';
  }
}

// The option `fatal` makes the decoder refuse bytes that are not UTF-8, instead of replacing them. The decoder also removes one byte-order
// mark.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads JSON in UTF-8. A byte-order mark is ignored (RFC 8259, 8.1); UTF-16 is refused. If two properties have the same name, the last
 * property counts.
 * @param source bytes in UTF-8, or text
 * @returns the value; numbers beyond the range of a double are infinite
 * @throws UnreadableJson
 */
export function readJson(source: Uint8Array | string, bounds = jsonBounds): unknown {
  const text = readJsonText(source);
  requireWithinBounds(text, bounds);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UnreadableJson('The body is not valid JSON.');
  }
}

/** @returns the text without its byte-order mark @throws UnreadableJson if the bytes are not UTF-8 */
function readJsonText(source: Uint8Array | string): string {
  if (typeof source === 'string') return source.startsWith('\uFEFF') ? source.slice(1) : source;
  try {
    return utf8.decode(source);
  } catch {
    throw new UnreadableJson('The body is not valid UTF-8.');
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Reads the text once, and throws at the first excess over a bound. Up to the first syntax error, this function finds the same strings as
 * the JSON parser. After that error the result does not matter, because the parser stops there.
 */
function requireWithinBounds(text: string, bounds: JsonBounds): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
    } else if (code === openBracket || code === openBrace) {
      if (++depth > bounds.depth) throw new UnreadableJson(`The body is nested deeper than ${bounds.depth} levels.`);
      values++;
    } else if (code === comma) {
      values++;
    } else if (code === closeBracket || code === closeBrace) {
      depth--;
    }
    if (values > bounds.values) throw new UnreadableJson(`The body may hold at most ${bounds.values} values.`);
  }
}

/**
 * @param start the index of the opening quote
 * @returns the index of the closing quote; an index at or after the end of the text if there is no closing quote
 */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    at += code === backslash ? 2 : 1;
  }
  return at;
}
