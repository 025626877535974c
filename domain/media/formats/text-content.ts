/** Detects whether a file is a text by its start and end, because reading a hundred megabytes would take too long. */

// oxlint-disable-next-line no-control-regex -- texts contain tabs, line breaks and form feeds, but not these characters
const notOfTexts = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/**
 * @param head the first bytes
 * @param tail the last bytes, if `head` is not the whole file. `head` may end, and `tail` may start, inside a character, but not inside a
 * 2-byte unit of UTF-16
 * @returns whether the bytes are UTF-8, or UTF-16 after a byte-order mark
 */
export function isText(head: Buffer, tail?: Buffer): boolean {
  const encoding = markedEncoding(head);
  return (
    isTextFrom(head, encoding, tail !== undefined) &&
    (tail === undefined || isTextFrom(fromCharacter(tail, encoding), encoding, false))
  );
}

/**
 * @param isCut whether the file has more bytes after these
 * @returns true for bytes that {@link isText} refuses: UTF-16 without a byte-order mark, or a damaged text after such a mark
 */
export function isTextInOtherUnits(head: Buffer, isCut: boolean): boolean {
  if (/^(?:fffe|feff|0000feff)/.test(head.toString('hex', 0, 4))) return true;
  return isTextFrom(head, 'utf-16le', isCut) || isTextFrom(head, 'utf-16be', isCut);
}

function markedEncoding(head: Buffer): Encoding {
  const mark = head.toString('hex', 0, 2);
  return mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
}

/** @param isCut whether more bytes follow, so that the last character may be cut */
function isTextFrom(bytes: Buffer, encoding: Encoding, isCut: boolean): boolean {
  try {
    return !notOfTexts.test(new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: isCut }));
  } catch {
    return false;
  }
}

/** Removes a cut character at the start, of at most three bytes. */
function fromCharacter(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding !== 'utf-8') {
    const first = encoding === 'utf-16le' ? bytes[1] : bytes[0];
    // If the text begins with the second half of a surrogate pair, this half is removed.
    return ((first ?? 0) & 0b1111_1100) === 0b1101_1100 ? bytes.subarray(2) : bytes;
  }
  const start = bytes.subarray(0, 4).findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return bytes.subarray(Math.max(0, start));
}
