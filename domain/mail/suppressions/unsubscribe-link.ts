/** Tokens of the way out that each bulk mail has: they say whose it is and out of what, prove that we wrote it, and never expire (CAMP-5). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** What a student may leave; the place of each in the list stands in tokens. */
export const mailKinds = ['campaigns', 'automations', 'digests'] as const;
export type MailKind = (typeof mailKinds)[number];

export interface WayOut {
  kind: MailKind;
  studentId: Id;
}

const idBytes = 16;
const macBytes = 16;
const labelOf = ({ kind, studentId }: WayOut) => `unsubscribe:${kind}:${studentId}`;

export function wayOutToken(vault: Vault, way: WayOut): string {
  const id = Buffer.from(way.studentId.replaceAll('-', ''), 'hex');
  return Buffer.concat([Buffer.of(mailKinds.indexOf(way.kind)), id, vault.mac(labelOf(way), macBytes)]).toString(
    'base64url',
  );
}

/** @returns undefined for a token that is not ours */
export function readWayOut(vault: Vault, token: string): WayOut | undefined {
  const bytes = Buffer.from(token, 'base64url');
  const kind = mailKinds[bytes[0] ?? mailKinds.length];
  const isWhole = bytes.length === 1 + idBytes + macBytes && bytes.toString('base64url') === token;
  if (!isWhole || kind === undefined) return undefined;
  const studentId = bytes
    .toString('hex', 1, 1 + idBytes)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const way = { kind, studentId };
  return vault.matches(labelOf(way), bytes.subarray(1 + idBytes)) ? way : undefined;
}
