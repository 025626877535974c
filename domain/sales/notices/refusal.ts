/** Why a notice cannot be carried out, or not like this. */
import type { NoticeErrorCode } from '../../../entities/sales/values.ts';

/** A code, and where in the body the fault is. Never a value of it. */
export class NoticeRefusal extends Error {
  readonly code: NoticeErrorCode;
  /** Names from the body's root, joined by dots; absent where the fault is in no one place. */
  readonly path?: string | undefined;

  constructor(code: NoticeErrorCode, path?: string) {
    super(code);
    this.name = 'NoticeRefusal';
    this.code = code;
    this.path = path;
  }
}

/** Another notice of the sale has just named somebody else as its buyer: what was done here is undone, and done anew. */
export class SaleJustTaken extends Error {}
