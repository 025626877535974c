/** Builds identity providers of clubs, and identities there. No request goes to the providers. */
import { openJoin } from '../../../domain/identity/providers/joins.ts';
import type { Provider } from '../../../domain/identity/providers/provider.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { usualScopes } from '../../../platform/infra/openid/settings.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { testDeps } from '../stack/database.ts';

/** Gives the club an identity provider for addresses of example.com. */
export async function buildIdentityProvider(clubId: Id): Promise<Provider> {
  const { db, vault } = await testDeps();
  const [id, now] = [newId(), new Date()];
  const emailDomains = ['example.com'];
  const provider = { id, name: 'Company', issuer: 'https://login.example.com', clientId: 'club' };
  await db.run(sql`INSERT INTO identity_providers
      (id, club_id, name, issuer, client_id, sealed_client_secret, email_domains, created_at, updated_at)
    VALUES (${id}, ${clubId}, ${provider.name}, ${provider.issuer}, ${provider.clientId}, ${vault.seal('secret', id)},
            ${emailDomains}, ${now}, ${now})`);
  return {
    ...provider,
    clientSecret: new Secret('secret'),
    scopes: usualScopes,
    club: { id: clubId, emailDomains },
  };
}

/** Opens a join: an identity of the provider that no account has yet. @returns the token of the join */
export async function buildIdentityJoin(provider: Provider): Promise<string> {
  const { db } = await testDeps();
  const claims = {
    issuer: provider.issuer,
    subject: newId(),
    email: 'grace@example.com',
    isEmailVerified: true,
    name: 'Grace',
  };
  return db.transaction((tx) => openJoin(tx, provider, claims, new Date()));
}
