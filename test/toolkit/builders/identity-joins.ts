/** Builds open joins: identities of a club's provider that no account has yet. */
import { openJoin } from '../../../domain/identity/providers/joins.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { usualScopes } from '../../../platform/infra/openid/settings.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { testDeps } from '../stack/database.ts';

/** Gives the club an identity provider to which no request goes, and opens a join there. @returns the token of the join */
export async function buildIdentityJoin(clubId: Id): Promise<string> {
  const { db, vault } = await testDeps();
  const [id, now] = [newId(), new Date()];
  const emailDomains = ['example.com'];
  const provider = { id, name: 'Company', issuer: 'https://login.example.com', clientId: 'club' };
  return db.transaction(async (tx) => {
    await tx.run(sql`INSERT INTO identity_providers
        (id, club_id, name, issuer, client_id, sealed_client_secret, email_domains, created_at, updated_at)
      VALUES (${id}, ${clubId}, ${provider.name}, ${provider.issuer}, ${provider.clientId}, ${vault.seal('secret', id)},
              ${emailDomains}, ${now}, ${now})`);
    const known = { ...provider, clientSecret: new Secret('secret'), scopes: usualScopes };
    const claims = {
      issuer: provider.issuer,
      subject: newId(),
      email: 'grace@example.com',
      isEmailVerified: true,
      name: 'Grace',
    };
    return openJoin(tx, { ...known, club: { id: clubId, emailDomains } }, claims, now);
  });
}
