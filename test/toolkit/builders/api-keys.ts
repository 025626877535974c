/** API keys of clubs, created by the domain's own functions. */
import type { Scope } from '../../../contract/rules/scopes.ts';
import { newKey } from '../../../domain/identity/api-keys/key-format.ts';
import { ApiKey } from '../../../entities/identity/api-key.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { testDatabase } from '../stack/database.ts';

interface TestKey {
  id: Id;
  token: string;
}

/** An active key of the club. Building it sends no mail. */
export async function buildApiKey(
  clubId: Id,
  scopes: readonly Scope[],
  {
    createdBy = null,
    networks = [],
    expiresAt = new Date(Date.now() + 86_400_000),
    createdAt = new Date(),
  }: { createdBy?: Id | null; networks?: readonly string[]; expiresAt?: Date; createdAt?: Date } = {},
): Promise<TestKey> {
  const id = newId();
  const token = newKey(id);
  const source = await testDatabase();
  await source.manager.insert(ApiKey, {
    id,
    clubId,
    name: 'CRM',
    scopes: [...scopes],
    allowedNetworks: [...networks],
    secretHash: sha256(token),
    createdBy,
    createdAt,
    updatedAt: createdAt,
    expiresAt,
  });
  return { id, token };
}
