/**
 * Reads JSON from outside. Nothing else in the service parses foreign JSON, so every reader of the same bytes sees the same
 * value (REC-9).
 */
import { DomainError } from './errors.ts';

/** What a document may hold, counted before it is parsed. */
export interface JsonBounds {
  /** Objects and arrays within each other. */
  depth: number;
  /** Values in all objects and arrays together. */
  values: number;
}

/** Of requests, and of whatever has no narrower bound. */
export const jsonBounds: JsonBounds = { depth: 64, values: 20_000 };
/** Of notices, which anybody may post. The largest that we describe has 1,000 events of five fields. */
export const noticeBounds: JsonBounds = { depth: 64, values: 10_000 };

/** The input is no JSON that we read. The message never quotes the input. */
export class UnreadableJson extends DomainError {
  constructor(message: string) {
    super('malformed_request', message);
    this.name = 'UnreadableJson';
  }
}

// Fatal: bytes that are no UTF-8 are refused, not replaced. It also takes one byte-order mark away.
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * A byte-order mark of UTF-8 is ignored (RFC 8259, 8.1), and UTF-16 is refused like all that is no UTF-8. Of two properties of
 * one name the last one counts.
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

/** @returns the text without its byte-order mark @throws UnreadableJson for bytes that are no UTF-8 */
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
 * One pass, which ends at the first excess. It agrees with the parser on what is inside of a string up to the first mistake,
 * where the parser stops.
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

/** @param start of its opening quote @returns where its closing quote is, or the end of a text that breaks off */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    at += code === backslash ? 2 : 1;
  }
  return at;
}
