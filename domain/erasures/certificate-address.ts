/** The public address of a certificate of erasure. An erased club or person has no session, so the address itself gives access (ERS-32). */
import { timingSafeEqual } from 'node:crypto';
import { noClub, type Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';

const idBytes = 16;
const macBytes = 16;

/**
 * The token has the id and a MAC of the id, so no token is stored. The MAC uses the lasting key, so the address survives a change of the
 * master key.
 * @param publicUrl the address of the API, without a slash at the end
 * @returns an address that cannot be guessed
 */
export function certificateAddress(vault: Vault, publicUrl: string, erasureId: Id): string {
  const token = Buffer.concat([Buffer.from(erasureId.replaceAll('-', ''), 'hex'), macOf(vault, erasureId)]);
  return `${publicUrl}/v1/erasures/${token.toString('base64url')}`;
}

/**
 * Does the same work for every text, so that the time of an answer does not show how much of a guess was right.
 * @returns the id of the erasure, and whether the token is one of ours. A text that is no token has an id that no row has
 */
export function readErasureToken(vault: Vault, token: string): { erasureId: Id; isOurs: boolean } {
  const bytes = Buffer.alloc(idBytes + macBytes);
  const decoded = Buffer.from(token, 'base64url');
  decoded.copy(bytes);
  const hex = bytes.toString('hex', 0, idBytes);
  const erasureId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  const isRight = timingSafeEqual(bytes.subarray(idBytes), macOf(vault, erasureId));
  const isWritten = decoded.length === bytes.length && decoded.toString('base64url') === token;
  return isRight && isWritten ? { erasureId, isOurs: true } : { erasureId: noClub, isOurs: false };
}

const macOf = (vault: Vault, erasureId: Id): Buffer =>
  vault.deriveLasting(`certificate of erasure:${erasureId}`).subarray(0, macBytes);
