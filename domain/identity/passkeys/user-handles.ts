/** The user handle of an account: the bytes of its id. Authenticators store it with the passkey, so it contains nothing personal. */
import type { Id } from '../../../platform/core/ids.ts';

/** @returns 16 bytes */
export function idAsBytes(id: Id): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}
