/** Tokens in the addresses of previews: they say whose copy of which campaign, until when, and prove that we wrote them (CAMP-46). */
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/vault.ts';

export interface PreviewToken {
  campaignId: Id;
  /** Absent for the copy of somebody of whom nothing is known. */
  studentId?: Id;
  expiresAt: Date;
}

const idBytes = 16;
const secondsBytes = 6;
const macBytes = 16;
const nobody = '00000000-0000-0000-0000-000000000000';

/** @param preview its end is rounded up to whole seconds @returns 72 characters */
export function previewToken(vault: Vault, { campaignId, studentId = nobody, expiresAt }: PreviewToken): string {
  const ids = Buffer.from((campaignId + studentId).replaceAll('-', ''), 'hex');
  const seconds = Buffer.alloc(secondsBytes);
  seconds.writeUIntBE(Math.ceil(expiresAt.getTime() / 1_000), 0, secondsBytes);
  const named = Buffer.concat([ids, seconds]);
  return Buffer.concat([named, vault.mac(labelOf(named), macBytes)]).toString('base64url');
}

/** @returns undefined for a token that is not ours, or whose time is over */
export function readPreviewToken(vault: Vault, token: string, now: Date): PreviewToken | undefined {
  const bytes = Buffer.from(token, 'base64url');
  const named = bytes.subarray(0, 2 * idBytes + secondsBytes);
  if (bytes.length !== named.length + macBytes || bytes.toString('base64url') !== token) return undefined;
  if (!vault.matches(labelOf(named), bytes.subarray(named.length))) return undefined;
  const expiresAt = new Date(named.readUIntBE(2 * idBytes, secondsBytes) * 1_000);
  if (now >= expiresAt) return undefined;
  const [campaignId, studentId] = [idAt(named, 0), idAt(named, idBytes)];
  return { campaignId, ...(studentId !== nobody && { studentId }), expiresAt };
}

const labelOf = (named: Buffer) => `campaign preview:${named.toString('hex')}`;

const idAt = (bytes: Buffer, at: number): Id =>
  bytes.toString('hex', at, at + idBytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
