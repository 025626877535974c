/** The way out that a mail carries, followed in one click. */
import { unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Vault } from '../../../../platform/infra/keys/vault.ts';
import type { Ground } from '../victims.ts';

/** @returns whether the API said that it had worked; where it was killed meanwhile it may have, too */
export function leaveByLink(
  { urls }: Ground,
  vault: Vault,
  clubId: Id,
  way: Parameters<typeof unsubscribeToken>[1],
): Promise<boolean> {
  const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  const url = `${urls.API}/v1/clubs/${clubId}/classroom/mail/unsubscribe/${unsubscribeToken(vault, way)}`;
  return fetch(url, { method: 'POST', body }).then(
    ({ ok }) => ok,
    () => false,
  );
}
