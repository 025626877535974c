/** Finds identity providers: of the deployment by their settings, of clubs by their rows (OIDC-3). */
import { IdentityProvider } from '../../../entities/identity/identity-provider.ts';
import { Secret } from '../../../platform/core/secret.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { OpenIdProvider } from '../../../platform/infra/openid/client.ts';
import { usualScopes } from '../../../platform/infra/openid/settings.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { isOpenClub } from '../../open-clubs.ts';
import type { ProviderDeps } from './deps.ts';

/** A provider with its club, if it belongs to one. */
export interface Provider extends OpenIdProvider {
  name: string;
  /** Null for a provider of the deployment. */
  club: { id: Id; emailDomains: readonly string[] } | null;
}

/** Names one provider: by its id, or by the slug of its club. */
export type ProviderName = { providerId: Id } | { clubSlug: string };

/**
 * Runs the same statement whether or not there is such a provider, so that the time tells little.
 * @returns undefined if there is no such provider
 */
export async function findProvider(
  { db, vault, providers }: ProviderDeps,
  name: ProviderName,
): Promise<Provider | undefined> {
  const which =
    'providerId' in name
      ? sql`provider.id = ${name.providerId}`
      : sql`provider.club_id = (SELECT id FROM clubs WHERE slug = ${name.clubSlug.toLowerCase()})`;
  const ofClub = await selectProvider(db, vault, which);
  if (ofClub || !('providerId' in name)) return ofClub;
  const ofDeployment = providers.ofDeployment.find(({ id }) => id === name.providerId.toLowerCase());
  return ofDeployment && { ...ofDeployment, club: null };
}

const providerColumns = columns(
  IdentityProvider,
  ['id', 'clubId', 'name', 'issuer', 'clientId', 'sealedClientSecret', 'emailDomains'],
  'provider',
);

async function selectProvider(db: Queries, vault: Vault, which: Sql): Promise<Provider | undefined> {
  const row = await db.one<(typeof providerColumns)['row']>(
    sql`SELECT ${providerColumns} FROM identity_providers provider WHERE ${which} AND ${isOpenClub(sql`provider.club_id`)}`,
  );
  return row && providerOf(row, vault);
}

/** @returns the provider of a club's row */
function providerOf(
  row: Pick<IdentityProvider, 'id' | 'clubId' | 'name' | 'issuer' | 'clientId' | 'sealedClientSecret' | 'emailDomains'>,
  vault: Vault,
): Provider {
  const { id, clubId, name, issuer, clientId, sealedClientSecret, emailDomains } = row;
  return {
    id,
    name,
    issuer,
    clientId,
    clientSecret: new Secret(vault.open(sealedClientSecret, id)),
    scopes: usualScopes,
    club: { id: clubId, emailDomains },
  };
}

/**
 * Locks the provider of a club, so that it is not changed or removed while a person signs in.
 * @returns whether the provider has still the settings with which the person signed in
 */
export async function lockUnchanged(tx: Transaction, { id, clientId, club }: Provider): Promise<boolean> {
  if (club === null) return true;
  const row = await tx.one(sql`SELECT 1 FROM identity_providers
    WHERE id = ${id} AND client_id = ${clientId} AND email_domains = ${club.emailDomains}::text[]
      AND ${isOpenClub(club.id)} FOR SHARE`);
  return row !== undefined;
}
