/** The values that columns of sources may hold. */

export type SourceKind = 'media' | 'lesson';

/** `pending` waits for its indexing, `ready` is found by agents, `failed` says why in its error. */
export const sourceStatuses = ['pending', 'indexing', 'ready', 'failed'] as const;
export type SourceStatus = (typeof sourceStatuses)[number];

/** The parts of a source that could not be read. Codes stay; new codes may come. */
export const sourceWarningCodes = [
  /** A page, or a slide, that shows something and has no letters: scanned paper. */
  'page_is_a_picture',
  /** A picture beside the text that has no alternative text. */
  'picture_without_text',
  /** A part that is there and was not read: an embedded document, a drawing, a chart without stored values, a broken part. */
  'part_skipped',
  /** A part that opens by a password alone. */
  'part_encrypted',
  /** Letters of which the file does not say which ones they are. */
  'letters_unmapped',
  /** Text that people do not see: hidden slides, hidden words. It is left out. */
  'hidden_left_out',
  /** Not missing: a scanned page whose words OCR has recognized, with the faults of OCR. */
  'read_by_ocr',
  /** A scanned page that OCR did not read: the program failed, is not there, or reached a bound. */
  'ocr_failed',
] as const;
export type SourceWarningCode = (typeof sourceWarningCodes)[number];

export interface SourceWarning {
  code: SourceWarningCode;
  /** The number of such parts. */
  count: number;
  /** Pages or slides from 1, each once, in order, at most 100. Empty for a file without pages. */
  pages: number[];
}
