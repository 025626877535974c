/** Follows the unsubscribe link of a mail by the one-click request. */
import { unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Vault } from '../../../../platform/infra/keys/vault.ts';
import type { Ground } from '../victims.ts';

/** @returns whether the API confirmed the request; a killed API may have applied the request without an answer */
export function leaveByLink(
  { urls }: Ground,
  vault: Vault,
  clubId: Id,
  link: Parameters<typeof unsubscribeToken>[1],
): Promise<boolean> {
  const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  const url = `${urls.API}/v1/clubs/${clubId}/classroom/mail/unsubscribe/${unsubscribeToken(vault, link)}`;
  return fetch(url, { method: 'POST', body }).then(
    ({ ok }) => ok,
    () => false,
  );
}
