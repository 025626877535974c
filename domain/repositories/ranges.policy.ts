/** Finds the part of an archive that a request wants: one range, or the whole archive (RFC 9110, sections 13 and 14; REPO-7). */

export type AskedPart =
  | { from: number; length: number; isWhole: boolean }
  /** The range is empty, or begins after the end of the archive. */
  | 'unsatisfiable';

/**
 * @param range the header `Range`, or an empty text. If the header has several ranges, a unit other than bytes or an invalid range, the
 * answer is the whole archive
 * @param ifRange the header `If-Range`, or an empty text. If the header has a different ETag, or a time, the answer is the whole archive
 * @param etag the strong ETag of the current archive
 * @param size the size of the archive in bytes
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
