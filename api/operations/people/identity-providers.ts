/** Sign-in with identity providers, the identities of an account, and the provider of a club. */
import type { RecordOf } from '../../../contract/contract.ts';
import * as clubs from '../../../domain/clubs/identity-provider.ts';
import * as identities from '../../../domain/identity/providers/identities.ts';
import * as joining from '../../../domain/identity/providers/joining.ts';
import type { ProviderName } from '../../../domain/identity/providers/provider.ts';
import * as providerSignIn from '../../../domain/identity/providers/sign-in.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Operation } from '../../operation.ts';
import { accepted, data, noContent } from '../answers.ts';
import { signIn, signInByProvider } from './sign-ins.ts';

export const getIdentityProviders: Operation<'getIdentityProviders'> = async ({ deps }) =>
  data({ providers: deps.providers.ofDeployment.map(({ id, name }) => ({ id, name })) });

export const startProviderSignIn: Operation<'startProviderSignIn'> = async ({ body, deps, now }) =>
  data(await providerSignIn.startSignIn(deps, nameIn(body), body.redirect_uri, now));

export const exchangeProviderCode: Operation<'exchangeProviderCode'> = async (request) => {
  const { body, deps, client, now } = request;
  return data(await signInByProvider(request, await providerSignIn.exchangeCode(deps, body, client, now)));
};

export const joinIdentity: Operation<'joinIdentity'> = async (request) => {
  const { body, deps, client, now } = request;
  const { join_token: joinToken, device_token: deviceToken } = body;
  const proof = joining.proofIn(body);
  if ('code' in proof)
    return data(await signInByProvider(request, await joining.joinByCode(deps, { joinToken, ...proof }, client, now)));
  const named = { email: proof.email, ...(deviceToken !== undefined && { device_token: deviceToken }) };
  // The password proves the account, so the device becomes known, whatever the provider is.
  return data(
    await signIn(request, named, async (known) => {
      const { session } = await joining.joinByPassword(deps, { joinToken, ...proof }, known, now);
      return session;
    }),
  );
};

export const requestIdentityCode: Operation<'requestIdentityCode'> = async ({ body, deps, now }) =>
  accepted(await joining.requestJoinCode(deps, body.join_token, now));

export const getIdentities: Operation<'getIdentities'> = async ({ administrator, deps, db }) =>
  data({ identities: await identities.listIdentities({ db, providers: deps.providers }, administrator.id) });

export const addIdentity: Operation<'addIdentity'> = async ({ administrator, body, deps, now }) =>
  data(await identities.addIdentity(deps, administrator.id, body.join_token, now));

export const removeIdentity: Operation<'removeIdentity'> = async ({ administrator, params, deps, now }) =>
  noContent(await identities.removeIdentity(deps, administrator.id, params.identityId, now));

export const removePassword: Operation<'removePassword'> = async ({ administrator, caller, deps, now }) =>
  noContent(await identities.removePassword(deps, administrator.id, caller.token, now));

export const getIdentityProvider: Operation<'getIdentityProvider'> = async ({ params, db }) =>
  data(await clubs.getIdentityProvider(db, params.clubId));

export const setIdentityProvider: Operation<'setIdentityProvider'> = async ({
  params,
  administrator,
  body,
  deps,
  now,
}) => data(await clubs.setIdentityProvider(deps, params.clubId, administrator.id, body, now));

export const removeIdentityProvider: Operation<'removeIdentityProvider'> = async ({ params, administrator, deps }) =>
  noContent(await clubs.removeIdentityProvider(deps, params.clubId, administrator.id));

/** @throws DomainError invalid_request, unless the body names exactly one provider */
function nameIn({ provider_id: providerId, club }: RecordOf<'ProviderSignInStart'>): ProviderName {
  if (providerId !== undefined && club === undefined) return { providerId };
  if (providerId === undefined && club !== undefined) return { clubSlug: club };
  throw new DomainError('invalid_request', 'Send either provider_id or club.');
}
