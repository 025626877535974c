/** Builds callers whom an operation permits, in a club without records. */
import type { ContractOperation } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildApiKey } from './api-keys.ts';
import { buildClub, buildStudent } from './clubs.ts';

/**
 * Builds a club, and in it the owner, a student, or an API key if no role may call the operation.
 * @returns the club, and the caller's token. The token is absent if the operation needs no session
 */
export async function buildPermittedCaller({
  auth,
  roles,
}: Pick<ContractOperation, 'auth' | 'roles'>): Promise<{ clubId: Id; token?: string }> {
  const { id: clubId, owner } = await buildClub();
  if (roles?.length === 0) return { clubId, token: (await buildApiKey(clubId, ['sessions:write'])).token };
  if (auth.includes('admin')) return { clubId, token: owner.token };
  return auth.includes('student') ? { clubId, token: (await buildStudent(clubId)).token } : { clubId };
}
