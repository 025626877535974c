/**
 * Ids of requests for a code (DEC-61). If a request leads to no mail, its id looks like any other id. The id itself proves that this
 * service issued it for this club and address, so no row is stored.
 */
import { timingSafeEqual } from 'node:crypto';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** The case-folded e-mail address of an account, and the account's club. */
export interface AccountAddress {
  clubId: Id;
  email: string;
}

/** The number of bytes at the end of the id that prove that no mail was sent. If a code was mailed, these bytes of its id are random. */
const proofBytes = 5;

/**
 * @returns an id that contains the time of the request. If the id contained the time at which it was created, a caller could see how long
 * the service had worked before
 */
export function codeRequestId(now: Date): Id {
  const bytes = bytesOf(newId());
  bytes.writeUIntBE(now.getTime(), 0, 6);
  return idOf(bytes);
}

/** @returns an id that {@link isUnmailedRequest} recognizes */
export function unmailedRequestId(vault: Vault, account: AccountAddress, now: Date): Id {
  const prefix = bytesOf(codeRequestId(now)).subarray(0, -proofBytes);
  return idOf(Buffer.concat([prefix, proofOf(vault, account, prefix)]));
}

/** @returns whether this service issued the id for this club and address; the age of the request does not matter, because codes expire */
export function isUnmailedRequest(vault: Vault, account: AccountAddress, id: Id): boolean {
  const bytes = bytesOf(id);
  return timingSafeEqual(bytes.subarray(-proofBytes), proofOf(vault, account, bytes.subarray(0, -proofBytes)));
}

function proofOf(vault: Vault, { clubId, email }: AccountAddress, prefix: Buffer): Buffer {
  const label = `code request:${prefix.toString('hex')}:${clubId.toLowerCase()}:${email}`;
  return vault.deriveLasting(label).subarray(0, proofBytes);
}

const bytesOf = (id: Id): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
const idOf = (bytes: Buffer): Id =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
