/** Why a notice cannot be carried out: a code, and where in the body the fault is. Never a value of it. */
import type { NoticeErrorCode } from './platforms.policy.ts';

export class NoticeRefusal extends Error {
  constructor(
    readonly code: NoticeErrorCode,
    /** Names from the body's root, joined by dots; absent where the fault is in no one place. */
    readonly path?: string,
  ) {
    super(code);
    this.name = 'NoticeRefusal';
  }
}
