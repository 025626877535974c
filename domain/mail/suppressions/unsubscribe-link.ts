/**
 * Tokens of unsubscribe links. A token names a student and a kind of mail, proves that this service issued it, and never expires
 * (CAMP-5).
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

/** A token contains the index of its kind in this list, so the order must not change. */
export const mailKinds = ['campaigns', 'automations', 'digests'] as const;
export type MailKind = (typeof mailKinds)[number];

export interface Unsubscription {
  kind: MailKind;
  studentId: Id;
}

const idBytes = 16;
const macBytes = 16;
const labelOf = ({ kind, studentId }: Unsubscription) => `unsubscribe:${kind}:${studentId}`;

export function unsubscribeToken(vault: Vault, unsubscription: Unsubscription): string {
  const id = Buffer.from(unsubscription.studentId.replaceAll('-', ''), 'hex');
  return Buffer.concat([
    Buffer.of(mailKinds.indexOf(unsubscription.kind)),
    id,
    vault.mac(labelOf(unsubscription), macBytes),
  ]).toString('base64url');
}

/** @returns undefined for a token that this service did not issue */
export function readUnsubscribeToken(vault: Vault, token: string): Unsubscription | undefined {
  const bytes = Buffer.from(token, 'base64url');
  const kind = mailKinds[bytes[0] ?? mailKinds.length];
  const isWhole = bytes.length === 1 + idBytes + macBytes && bytes.toString('base64url') === token;
  if (!isWhole || kind === undefined) return undefined;
  const studentId = bytes
    .toString('hex', 1, 1 + idBytes)
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const unsubscription = { kind, studentId };
  return vault.matches(labelOf(unsubscription), bytes.subarray(1 + idBytes)) ? unsubscription : undefined;
}
