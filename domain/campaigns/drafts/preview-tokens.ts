/**
 * Issues and checks the tokens in the URLs of previews. A token contains the campaign, the student and the expiry, and is protected by a
 * MAC of the service (CAMP-46).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

export interface PreviewToken {
  campaignId: Id;
  /** The student whose data fill the copy; absent if the copy is for an unknown student. */
  studentId?: Id;
  expiresAt: Date;
}

const idBytes = 16;
const secondsBytes = 6;
const macBytes = 16;
const unknownStudent = '00000000-0000-0000-0000-000000000000';

/** @param preview the data of the token. Its expiry is rounded up to whole seconds @returns 72 characters */
export function previewToken(
  vault: Vault,
  { campaignId, studentId = unknownStudent, expiresAt }: PreviewToken,
): string {
  const ids = Buffer.from((campaignId + studentId).replaceAll('-', ''), 'hex');
  const seconds = Buffer.alloc(secondsBytes);
  seconds.writeUIntBE(Math.ceil(expiresAt.getTime() / 1_000), 0, secondsBytes);
  const payload = Buffer.concat([ids, seconds]);
  return Buffer.concat([payload, vault.mac(labelOf(payload), macBytes)]).toString('base64url');
}

/** @returns undefined if the token was not issued by this service or has expired */
export function readPreviewToken(vault: Vault, token: string, now: Date): PreviewToken | undefined {
  const bytes = Buffer.from(token, 'base64url');
  const payload = bytes.subarray(0, 2 * idBytes + secondsBytes);
  if (bytes.length !== payload.length + macBytes || bytes.toString('base64url') !== token) return undefined;
  if (!vault.matches(labelOf(payload), bytes.subarray(payload.length))) return undefined;
  const expiresAt = new Date(payload.readUIntBE(2 * idBytes, secondsBytes) * 1_000);
  if (now >= expiresAt) return undefined;
  const [campaignId, studentId] = [idAt(payload, 0), idAt(payload, idBytes)];
  return { campaignId, ...(studentId !== unknownStudent && { studentId }), expiresAt };
}

const labelOf = (payload: Buffer) => `campaign preview:${payload.toString('hex')}`;

const idAt = (bytes: Buffer, at: number): Id =>
  bytes.toString('hex', at, at + idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
