/** Names of files as people give them, and as headers carry them. */
import { hasVisible } from '../../platform/core/text.policy.ts';

// oxlint-disable-next-line no-control-regex -- these are the characters that a name must not have
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** They let `exe.fdp` be read as a PDF. */
const directionMarks = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/**
 * @returns the name in one form; undefined for what is no name: a path, nothing but dots or spaces, characters that are
 *   not to be seen
 */
export function tidyFileName(given: string): string | undefined {
  const name = given.normalize('NFC').trim();
  if (!hasVisible(name) || controls.test(name) || directionMarks.test(name) || /[/\\]/.test(name) || /^\.*$/.test(name))
    return undefined;
  return name;
}

const extensions: Readonly<Record<string, string>> = { 'video/mp4': 'mp4', 'image/jpeg': 'jpg', 'image/png': 'png' };

/** @param mime of a rendition @returns the name of the file as that type: `talk.mov` as `talk.mp4` */
export function nameAs(fileName: string, mime: string): string {
  const extension = extensions[mime];
  return extension === undefined ? fileName : `${fileName.replace(/(?<=.)\.[^.]{1,5}$/u, '')}.${extension}`;
}

/**
 * @returns the header `Content-Disposition` for a file of this name: in full as RFC 8187 has it, and before that, for who
 *   does not read it, in ASCII
 */
export function dispositionOf(kind: 'attachment' | 'inline', fileName: string): string {
  const plain = fileName.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  const full = encodeURIComponent(fileName).replace(
    /['()*]/g, // RFC 8187 keeps these, encodeURIComponent does not
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${full}`;
}
