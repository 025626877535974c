/** Tokens in the addresses of tracked mails. A token names a mail and a link, and proves that this service issued it (CAMP-13). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';

const idBytes = 16;
const macBytes = 16;

/** Identifies a link in one recipient's copy of an e-mail. */
export interface FollowedLink {
  linkId: Id;
  mailId: Id;
}

/** @returns 64 characters */
export const linkToken = (vault: Vault, { linkId, mailId }: FollowedLink): string =>
  tokenOf(vault, 'mail link', [linkId, mailId]);

/** @returns undefined for a token that this service did not issue */
export function readLinkToken(vault: Vault, token: string): FollowedLink | undefined {
  const [linkId, mailId] = idsIn(vault, 'mail link', 2, token) ?? [];
  return linkId === undefined || mailId === undefined ? undefined : { linkId, mailId };
}

/** @returns 43 characters */
export const openingToken = (vault: Vault, mailId: Id): string => tokenOf(vault, 'mail opening', [mailId]);

/** @returns the id of the mail; undefined for a token that this service did not issue */
export function readOpeningToken(vault: Vault, token: string): Id | undefined {
  return idsIn(vault, 'mail opening', 1, token)?.[0];
}

const labelOf = (use: string, ids: readonly Id[]) => [use, ...ids].join(':');

function tokenOf(vault: Vault, use: string, ids: readonly Id[]): string {
  const bytes = Buffer.from(ids.join('').replaceAll('-', ''), 'hex');
  return Buffer.concat([bytes, vault.mac(labelOf(use, ids), macBytes)]).toString('base64url');
}

function idsIn(vault: Vault, use: string, count: number, token: string): Id[] | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== count * idBytes + macBytes || bytes.toString('base64url') !== token) return undefined;
  const ids = Array.from({ length: count }, (_, index) =>
    bytes
      .toString('hex', index * idBytes, (index + 1) * idBytes)
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  );
  return vault.matches(labelOf(use, ids), bytes.subarray(count * idBytes)) ? ids : undefined;
}
