/** Which part of an archive a request asks for (RFC 9110, sections 13 and 14): one range, or all of it (REPO-7). */

export type AskedPart =
  | { from: number; length: number; isWhole: boolean }
  /** Nothing of what is asked for is there. */
  | 'unsatisfiable';

/**
 * @param range of `Range`; empty where there is none. Several ranges, another unit and what cannot be read are answered with all
 * @param ifRange of `If-Range`: of another version, or of a time, all is answered
 * @param etag of the archive as it is now; a strong one
 * @param size in bytes
 */
export function askedPart(range: string, ifRange: string, etag: string, size: number): AskedPart {
  const whole = { from: 0, length: size, isWhole: true };
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range) ?? [];
  if (first === '' && last === '') return whole;
  if (ifRange !== '' && ifRange !== etag) return whole;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { from: size - length, length, isWhole: false };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return whole;
  if (from >= size) return 'unsatisfiable';
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  return { from, length: end - from, isWhole: false };
}
