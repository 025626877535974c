/**
 * Issues and reads download tokens. A token contains the ids of a repository and a student, and the expiry time of the token. A MAC proves
 * that this service issued the token.
 * Tokens are not stored (REPO-5).
 */
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';

export interface DownloadToken {
  repositoryId: Id;
  studentId: Id;
  /** In whole seconds. */
  expiresAt: Date;
}

const idBytes = 16;
const timeBytes = 6;
const macBytes = 16;
const payloadBytes = 2 * idBytes + timeBytes;

const labelOf = ({ repositoryId, studentId, expiresAt }: DownloadToken) =>
  `download:${repositoryId}:${studentId}:${secondsOf(expiresAt)}`;

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1_000);

const bytesOf = (id: Id) => Buffer.from(id.replaceAll('-', ''), 'hex');
const idAt = (bytes: Buffer, at: number): Id =>
  bytes.toString('hex', at, at + idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** @returns a token that consists of letters, digits, `-` and `_` */
export function downloadToken(vault: Vault, token: DownloadToken): string {
  const time = Buffer.alloc(timeBytes);
  time.writeUIntBE(secondsOf(token.expiresAt), 0, timeBytes);
  const parts = [bytesOf(token.repositoryId), bytesOf(token.studentId), time, vault.mac(labelOf(token), macBytes)];
  return Buffer.concat(parts).toString('base64url');
}

/** @returns the content of the token; undefined if the token has expired or was not issued by this service */
export function readDownloadToken(vault: Vault, text: string, now: Date): DownloadToken | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== payloadBytes + macBytes || bytes.toString('base64url') !== text) return undefined;
  const expiresAt = new Date(bytes.readUIntBE(2 * idBytes, timeBytes) * 1_000);
  const token = { repositoryId: idAt(bytes, 0), studentId: idAt(bytes, idBytes), expiresAt };
  const isOurs = vault.matches(labelOf(token), bytes.subarray(payloadBytes));
  return isOurs && now < expiresAt ? token : undefined;
}
