/** Whether bytes are a text, by their two ends: reading a hundred megabytes for it would not be worth it. */

// oxlint-disable-next-line no-control-regex -- tabs, line breaks and form feeds are of texts, these are not
const notOfTexts = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

/**
 * @param head the first bytes
 * @param tail the last ones, more than a few, where `head` is not all; both may be cut inside a character
 * @returns whether they are text in UTF-8
 */
export function isText(head: Buffer, tail?: Buffer): boolean {
  return isTextFrom(head, tail !== undefined) && (tail === undefined || isTextFrom(fromCharacter(tail), false));
}

/** @param isCut whether more follows, which the last character may need */
function isTextFrom(bytes: Buffer, isCut: boolean): boolean {
  try {
    return !notOfTexts.test(new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut }));
  } catch {
    return false;
  }
}

/** Without what is left at its beginning of a character that was cut: three bytes at most. */
function fromCharacter(bytes: Buffer): Buffer {
  const start = bytes.subarray(0, 4).findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return bytes.subarray(Math.max(0, start));
}
