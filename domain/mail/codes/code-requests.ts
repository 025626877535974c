/**
 * Ids of requests for a code (DEC-61). The id of a request that no mail answers looks like the others. It proves by itself that this
 * service gave it for this club and address, so such a request needs no row.
 */
import { timingSafeEqual } from 'node:crypto';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** The address of an account, folded, and its club. */
export interface AccountAddress {
  clubId: Id;
  email: string;
}

/** The last bytes of the id, which are random in the id of a mailed code. */
const proofBytes = 5;

/** @returns an id whose time is the request's, so that it does not tell how long the work took */
export function codeRequestId(now: Date): Id {
  const bytes = bytesOf(newId());
  bytes.writeUIntBE(now.getTime(), 0, 6);
  return idOf(bytes);
}

/** @returns an id that {@link isUnmailedRequest} knows */
export function unmailedRequestId(vault: Vault, account: AccountAddress, now: Date): Id {
  const shown = bytesOf(codeRequestId(now)).subarray(0, -proofBytes);
  return idOf(Buffer.concat([shown, proofOf(vault, account, shown)]));
}

/** @returns whether the id was given for this club and address; the age of a request does not matter, because codes expire */
export function isUnmailedRequest(vault: Vault, account: AccountAddress, id: Id): boolean {
  const bytes = bytesOf(id);
  return timingSafeEqual(bytes.subarray(-proofBytes), proofOf(vault, account, bytes.subarray(0, -proofBytes)));
}

function proofOf(vault: Vault, { clubId, email }: AccountAddress, shown: Buffer): Buffer {
  const label = `code request:${shown.toString('hex')}:${clubId.toLowerCase()}:${email}`;
  return vault.deriveLasting(label).subarray(0, proofBytes);
}

const bytesOf = (id: Id): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
const idOf = (bytes: Buffer): Id =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
