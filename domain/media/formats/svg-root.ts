/**
 * Detects whether a text is an SVG drawing. Reads the text only up to the root element, and each character at most a few times (MED-23).
 */

const byteOrderMark = '\xef\xbb\xbf';

/**
 * @param head the first bytes of a file as Latin-1
 * @returns whether the root element is `svg`. A declaration, comments and a document type may come before the root element
 */
export function beginsAsSvg(head: string): boolean {
  let at = head.startsWith(byteOrderMark) ? byteOrderMark.length : 0;
  /** Skips the text that matches at this position. Each pattern is tried once at each position. */
  const pass = (pattern: RegExp): void => {
    pattern.lastIndex = at;
    if (pattern.test(head)) at = pattern.lastIndex;
  };
  const passComments = (): void => {
    pass(whiteSpace);
    while (head.startsWith('<!--', at)) {
      const end = head.indexOf('-->', at + '<!--'.length);
      if (end < 0) return;
      at = end + '-->'.length;
      pass(whiteSpace);
    }
  };
  pass(whiteSpace);
  pass(declaration);
  passComments();
  pass(documentType);
  passComments();
  root.lastIndex = at;
  return root.test(head);
}

const whiteSpace = /\s*/y;
const declaration = /<\?xml[^>]*>/y;
/** A document type that contains its own declarations in brackets is refused. */
const documentType = /<!DOCTYPE[^>[]*>/y;
const root = /<svg[\s>]/y;
