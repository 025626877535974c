/** Whether a text is a drawing in SVG, by what stands before its root. Each character is looked at a few times at most (MED-23). */

const byteOrderMark = '\xef\xbb\xbf';

/**
 * @param head the first bytes of a file as Latin-1
 * @returns whether they are a declaration, comments and a document type, each if any, and then the root `svg`
 */
export function beginsAsSvg(head: string): boolean {
  let at = head.startsWith(byteOrderMark) ? byteOrderMark.length : 0;
  /** Passes over what the pattern finds here. Each is tried once at a place. */
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
/** One with declarations of its own, in brackets, is none that may be uploaded. */
const documentType = /<!DOCTYPE[^>[]*>/y;
const root = /<svg[\s>]/y;
