/** Sets, reads and removes the identity provider of a club (OIDC-3, OIDC-8). */
import { IdentityProvider } from '../../entities/identity/identity-provider.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { Secret } from '../../platform/core/secret.ts';
import { plainName } from '../../platform/core/text/names.ts';
import type { Egress } from '../../platform/infra/egress/egress.ts';
import { ProviderBusy, ProviderFailed } from '../../platform/infra/openid/client.ts';
import { isIssuer, usualScopes } from '../../platform/infra/openid/settings.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { ProviderDeps } from '../identity/providers/deps.ts';
import { emailDomainOf } from '../identity/providers/email-domains.ts';
import { closeJoinsOf } from '../identity/providers/joins.ts';
import { endSessionsOfProvider } from '../identity/sessions/sessions.ts';
import { RefusalToPerson } from '../language/refusal.ts';
import { lockClub } from './membership-rules.ts';

type ClubProvider = RecordOf<'ClubProvider'>;
type Settings = RecordOf<'ClubProviderSettings'>;

const shownColumns = columns(IdentityProvider, [
  'id',
  'name',
  'issuer',
  'clientId',
  'emailDomains',
  'createdAt',
  'updatedAt',
]);

/** @throws DomainError not_found, if the club has no provider */
export async function getIdentityProvider(db: Queries, clubId: Id): Promise<ClubProvider> {
  const row = await db.one<(typeof shownColumns)['row']>(
    sql`SELECT ${shownColumns} FROM identity_providers WHERE club_id = ${clubId}`,
  );
  if (!row) throw notFound('identity provider');
  const { id, name, issuer, clientId, emailDomains, createdAt, updatedAt } = row;
  return {
    id,
    name,
    issuer,
    client_id: clientId,
    email_domains: emailDomains,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/**
 * Sets the provider of a club. The service reads its discovery document first, without a database connection.
 * @throws DomainError url_not_allowed; invalid_request; role_not_permitted, if the role was lost meanwhile; busy
 */
export async function setIdentityProvider(
  deps: ProviderDeps & { egress: Egress },
  clubId: Id,
  by: Id,
  input: Settings,
  now: Date,
): Promise<ClubProvider> {
  const emailDomains = domainsIn(input.email_domains);
  const name = plainName(input.name);
  await requireUsableIssuer(deps, clubId, input);
  const { db, vault } = deps;
  return db.transaction(async (tx) => {
    await requireOwner(tx, clubId, by);
    const former = await tx.manager.findOneBy(IdentityProvider, { clubId });
    const isSame = former?.issuer === input.issuer;
    const keepsSecret = isSame && former.clientId === input.client_id;
    if (input.client_secret === undefined && !keepsSecret)
      throw new DomainError('invalid_request', 'client_secret is required for a new provider, issuer or client.');
    if (former && !isSame) await removeProvider(tx, former.id);
    const id = isSame ? former.id : newId();
    const secret = input.client_secret ?? vault.open(former?.sealedClientSecret ?? Buffer.alloc(0), id);
    const row = {
      name,
      issuer: input.issuer,
      clientId: input.client_id,
      sealedClientSecret: vault.seal(secret, id),
      emailDomains,
      updatedAt: now,
    };
    if (isSame) await tx.manager.update(IdentityProvider, { id }, row);
    else await tx.manager.insert(IdentityProvider, { id, clubId, createdAt: now, ...row });
    if (isSame && !(keepsSecret && sameList(former.emailDomains, emailDomains))) {
      await closeJoinsOf(tx, id);
      await endSessionsOfProvider(tx, id);
    }
    return getIdentityProvider(tx, clubId);
  });
}

/** @throws DomainError not_found; role_not_permitted, if the role was lost meanwhile */
export async function removeIdentityProvider({ db }: DatabaseDeps, clubId: Id, by: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await requireOwner(tx, clubId, by);
    const former = await tx.manager.findOneBy(IdentityProvider, { clubId });
    if (!former) throw notFound('identity provider');
    await removeProvider(tx, former.id);
  });
}

/** The identities, the open joins and the requirement of the club end with the row. A running sign-in holds the row, so its session is ended, too. */
async function removeProvider(tx: Transaction, id: Id): Promise<void> {
  await tx.manager.delete(IdentityProvider, { id });
  await endSessionsOfProvider(tx, id);
}

async function requireOwner(tx: Transaction, clubId: Id, by: Id): Promise<void> {
  const role = await lockClub(tx, clubId, by);
  if (role !== 'owner') throw new DomainError('role_not_permitted', 'Only an owner may change the identity provider.');
}

function domainsIn(names: readonly string[]): string[] {
  const domains = names.map((domain, index) => {
    const ascii = emailDomainOf(domain);
    if (ascii === undefined)
      throw new DomainError(
        'invalid_request',
        `email_domains/${index} must be a domain such as example.com, and not a public suffix alone.`,
      );
    return ascii;
  });
  return [...new Set(domains)].toSorted();
}

const sameList = (one: readonly string[], other: readonly string[]) => one.join(' ') === other.join(' ');

/** @throws DomainError url_not_allowed, if the egress guard refuses the host; invalid_request, if the discovery document cannot be used */
async function requireUsableIssuer(
  { egress, providers }: ProviderDeps & { egress: Egress },
  clubId: Id,
  { issuer, client_id: clientId }: Settings,
): Promise<void> {
  if (!isIssuer(issuer))
    throw new DomainError('url_not_allowed', 'issuer must begin with https://, without a query and a fragment.');
  await egress.checkUrl(issuer);
  try {
    // The permits of a club's checks are its own, so a hanging issuer delays no sign-in.
    const id = `check of ${clubId}`;
    await providers.openId.check({ id, issuer, clientId, clientSecret: new Secret(''), scopes: usualScopes });
  } catch (error) {
    if (error instanceof ProviderBusy) throw new RefusalToPerson('busy', 'refusal.busy', { retryAfterSeconds: 5 });
    if (!(error instanceof ProviderFailed)) throw error;
    throw new DomainError(
      'invalid_request',
      'issuer: its discovery document could not be read, names another issuer, or is no OpenID Connect document.',
    );
  }
}
