/** Checks names of files as people write them, and writes them into headers. */
import { hasVisible } from '../../platform/core/text/text.policy.ts';

// oxlint-disable-next-line no-control-regex -- a name must not contain these characters
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/**
 * Matches characters that change the writing direction. Such a character can make a name that ends in `exe` look like the name of a PDF.
 */
const directionMarks = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** @returns the normalized name; undefined for a path, a name of only dots or spaces, and a name with invisible characters */
export function tidyFileName(input: string): string | undefined {
  const name = input.normalize('NFC').trim();
  if (!hasVisible(name) || controls.test(name) || directionMarks.test(name) || /[/\\]/.test(name) || /^\.*$/.test(name))
    return undefined;
  return name;
}

const extensions: Readonly<Record<string, string>> = { 'video/mp4': 'mp4', 'image/jpeg': 'jpg', 'image/png': 'png' };

/** @param mime the type of a rendition @returns the file's name with the extension of that type: `talk.mp4` for `talk.mov` */
export function nameAs(fileName: string, mime: string): string {
  const extension = extensions[mime];
  return extension === undefined ? fileName : `${fileName.replace(/(?<=.)\.[^.]{1,5}$/u, '')}.${extension}`;
}

/** @returns the header `Content-Disposition`: an ASCII form for old clients, then the full name as RFC 8187 requires */
export function dispositionOf(kind: 'attachment' | 'inline', fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  const full = encodeURIComponent(fileName).replace(
    /['()*]/g, // RFC 8187 requires that these characters are encoded, but encodeURIComponent does not encode them
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${full}`;
}
