/** Errors that end or restart the processing of a notice. */
import type { NoticeErrorCode } from '../../../entities/sales/values.ts';

/** A refused notice, with an error code and the path of the wrong field in the body, but without a value from the body. */
export class NoticeRefusal extends Error {
  readonly code: NoticeErrorCode;
  /** Field names from the root of the body to the fault, joined by dots. Absent without a single location. */
  readonly path?: string | undefined;

  constructor(code: NoticeErrorCode, path?: string) {
    super(code);
    this.name = 'NoticeRefusal';
    this.code = code;
    this.path = path;
  }
}

/**
 * The error if a concurrent notice of the same sale has named a different buyer. The changes are rolled back, and the notice is applied
 * again.
 */
export class SaleJustTaken extends Error {}
