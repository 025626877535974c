/**
 * Issues and reads tokens of resumable uploads. A token contains the id of a file and the expiry time of the token. The token also proves
 * that this service issued it. Tokens are not stored (MED-26).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

interface UploadToken {
  mediaId: Id;
  /** In whole seconds. */
  expiresAt: Date;
}

const idBytes = 16;
const timeBytes = 6;
const macBytes = 16;

const labelOf = ({ mediaId, expiresAt }: UploadToken) => `upload:${mediaId}:${secondsOf(expiresAt)}`;

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1_000);

/** @returns a token that consists of letters, digits, `-` and `_` */
export function uploadToken(vault: Vault, token: UploadToken): string {
  const time = Buffer.alloc(timeBytes);
  time.writeUIntBE(secondsOf(token.expiresAt), 0, timeBytes);
  const id = Buffer.from(token.mediaId.replaceAll('-', ''), 'hex');
  return Buffer.concat([id, time, vault.mac(labelOf(token), macBytes)]).toString('base64url');
}

/** @returns the id of the token's file; undefined for an invalid or expired token */
export function readUploadToken(vault: Vault, text: string, now: Date): Id | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== idBytes + timeBytes + macBytes || bytes.toString('base64url') !== text) return undefined;
  const mediaId = bytes.toString('hex', 0, idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const expiresAt = new Date(bytes.readUIntBE(idBytes, timeBytes) * 1_000);
  const isOurs = vault.matches(labelOf({ mediaId, expiresAt }), bytes.subarray(idBytes + timeBytes));
  return isOurs && now < expiresAt ? mediaId : undefined;
}
