/** Parses all JSON from outside, so that all readers of the same bytes get the same value (REC-9). */
import { DomainError } from './errors.ts';

export interface JsonBounds {
  depth: number;
  /** The values of all objects and arrays together. */
  values: number;
}

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

// `fatal` refuses bytes that are not UTF-8. The decoder also removes one byte-order mark.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads JSON in UTF-8. If two properties have the same name, the last one counts.
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

/** Stops at the first excess over a bound. After a syntax error the result does not matter, because the parser stops there. */
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

/** @returns the index of the closing quote; at or after the end of the text if there is none */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    at += code === backslash ? 2 : 1;
  }
  return at;
}
