/** The values that columns of sources may hold. */

export type SourceKind = 'media' | 'lesson';

/** A `pending` source waits to be indexed, a `ready` source can be found by agents, and a `failed` source has an error code. */
export const sourceStatuses = ['pending', 'indexing', 'ready', 'failed'] as const;
export type SourceStatus = (typeof sourceStatuses)[number];

/** The kinds of content that could not be read. Existing codes never change, but new codes may be added. */
export const sourceWarningCodes = [
  /** A page or slide that shows a picture but contains no letters, such as scanned paper. */
  'page_is_a_picture',
  /** A picture beside the text without alternative text. */
  'picture_without_text',
  /** A part of the file that was not read: an embedded document, a drawing, a chart without stored values, a broken part. */
  'part_skipped',
  /** A part of the file that needs a password. */
  'part_encrypted',
  /** Letters of a font that does not say which characters they are. */
  'letters_unmapped',
  /** Text that people do not see, such as hidden slides and words. It is left out. */
  'hidden_left_out',
  /** A scanned page whose words OCR has recognized. No content is missing, but the words may have mistakes. */
  'read_by_ocr',
  /** A scanned page that OCR did not read. The OCR program failed, is missing, or reached a bound. */
  'ocr_failed',
] as const;
export type SourceWarningCode = (typeof sourceWarningCodes)[number];

export interface SourceWarning {
  code: SourceWarningCode;
  count: number;
  /**
   * The numbers of the pages or slides, from 1, in order. Each number occurs once, and the list has at most 100 numbers. Empty if the
   * source has no pages.
   */
  pages: number[];
}
